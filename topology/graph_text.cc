#include "topology/graph_text.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <numeric>
#include <optional>

#include "topology/graph.h"

namespace hobnob {

namespace {

bool is_blank(char letter) {
  return letter == ' ' || letter == '\t' || letter == '\r';
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && is_blank(text.back())) {
    text.remove_suffix(1);
  }
  return text;
}

// Cuts the first word off `text`; empty when there is none.
std::string_view take_word(std::string_view& text) {
  text = trimmed(text);
  const auto end = std::ranges::find_if(text, is_blank);
  const std::string_view word = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(word.size());
  return word;
}

// Fit for one line of a message, whatever it holds.
std::string quoted(std::string_view token) {
  constexpr std::size_t kMaxShown = 24;
  std::string shown = "\"";
  for (const char letter : token.substr(0, kMaxShown)) {
    shown += letter > ' ' && letter <= '~' ? letter : '?';
  }
  return shown + (token.size() > kMaxShown ? "...\"" : "\"");
}

bool is_digits(std::string_view token) {
  return !token.empty() &&
         std::ranges::all_of(token, [](char letter) { return letter >= '0' && letter <= '9'; });
}

// Of digits; what does not fit becomes the largest there is.
std::uint64_t number_of(std::string_view digits) {
  std::uint64_t number = 0;
  const auto end = digits.data() + digits.size();
  const bool fits = std::from_chars(digits.data(), end, number).ec == std::errc{};
  return fits ? number : std::numeric_limits<std::uint64_t>::max();
}

class Reader {
 public:
  explicit Reader(const std::string& name) : name_(name) {}

  Result<void> read_line(std::string_view line);

  GraphText finish() { return std::move(text_); }

 private:
  Result<void> read_edge(std::string_view line);
  Result<void> read_row(std::string_view line, std::size_t colon);
  Result<std::uint32_t> read_node(std::string_view token);
  Result<void> add(std::uint32_t from, std::uint32_t to, std::string_view weight);
  Error refusal(const std::string& problem) const;

  const std::string& name_;
  GraphText text_;
  std::uint32_t line_ = 0;
  bool has_content_ = false;                          // a line that is neither blank nor "directed"
  std::map<std::uint32_t, std::uint32_t> row_lines_;  // of adjacency rows
};

Error Reader::refusal(const std::string& problem) const {
  return make_error(ErrorCode::kInvalidArgument, "%s:%u: %s", name_.c_str(), line_,
                    problem.c_str());
}

Result<void> Reader::read_line(std::string_view line) {
  ++line_;
  line = trimmed(line.substr(0, line.find('#')));
  if (line.empty()) {
    return {};
  }
  if (line == "directed") {
    if (has_content_ || text_.is_directed) {
      return refusal("\"directed\" must be the first line, once");
    }
    text_.is_directed = true;
    return {};
  }
  const std::size_t colon = line.find(':');
  const bool is_row = colon != std::string_view::npos;
  if (has_content_ && is_row != text_.is_adjacency) {
    return refusal(is_row ? "an adjacency row after lines of an edge list; use one form"
                          : "no \"node:\" before the neighbours; use one form in all lines");
  }
  has_content_ = true;
  text_.is_adjacency = is_row;
  return is_row ? read_row(line, colon) : read_edge(line);
}

Result<void> Reader::read_edge(std::string_view line) {
  std::uint32_t ends[2] = {};
  for (std::uint32_t& end : ends) {
    const std::string_view token = take_word(line);
    if (token.empty()) {
      return refusal("one node only; an edge is \"i j\" or \"i j weight\"");
    }
    const Result<std::uint32_t> node = read_node(token);
    if (!node.ok()) {
      return node.error();
    }
    end = node.value();
  }
  const std::string_view weight = take_word(line);
  if (const std::string_view rest = take_word(line); !rest.empty()) {
    return refusal(quoted(rest) + " after the weight; an edge is \"i j\" or \"i j weight\"");
  }
  return add(ends[0], ends[1], weight);
}

Result<void> Reader::read_row(std::string_view line, std::size_t colon) {
  const Result<std::uint32_t> node = read_node(trimmed(line.substr(0, colon)));
  if (!node.ok()) {
    return node.error();
  }
  const auto [row, is_new] = row_lines_.insert({node.value(), line_});
  if (!is_new) {
    return refusal(format("node %u has a row already, in line %u; put its neighbours in one row",
                          row->first, row->second));
  }
  line.remove_prefix(colon + 1);
  for (std::string_view token = take_word(line); !token.empty(); token = take_word(line)) {
    const std::size_t equals = token.find('=');
    const Result<std::uint32_t> neighbour = read_node(token.substr(0, equals));
    if (!neighbour.ok()) {
      return neighbour.error();
    }
    const bool has_weight = equals != std::string_view::npos;
    if (has_weight && equals + 1 == token.size()) {
      return refusal(quoted(token) + " has no weight after \"=\"");
    }
    const Result<void> added = add(node.value(), neighbour.value(),
                                   has_weight ? token.substr(equals + 1) : std::string_view{});
    if (!added.ok()) {
      return added;
    }
  }
  return {};
}

Result<std::uint32_t> Reader::read_node(std::string_view token) {
  if (!is_digits(token)) {
    return refusal(quoted(token) + " is not a node number (0, 1, 2, ...)");
  }
  const std::uint64_t node = number_of(token);
  if (node >= kMaxGraphNodes) {
    return refusal(format("node %s is beyond %zu, the largest node number; number the nodes from 0",
                          quoted(token).c_str(), kMaxGraphNodes - 1));
  }
  text_.size = std::max(text_.size, static_cast<std::uint32_t>(node) + 1);
  return static_cast<std::uint32_t>(node);
}

Result<void> Reader::add(std::uint32_t from, std::uint32_t to, std::string_view weight) {
  if (text_.entries.size() == kMaxGraphEdges) {
    return refusal(format("more than %zu edges; take a sparser graph", kMaxGraphEdges));
  }
  const bool has_weight = !weight.empty();
  if (text_.entries.empty()) {
    text_.has_weights = has_weight;
  }
  if (has_weight != text_.has_weights) {
    return refusal(format("edge %u %u has %s and line %u has %s; give all edges a weight or none",
                          from, to, has_weight ? "a weight" : "no weight",
                          text_.entries.front().line, has_weight ? "none" : "one"));
  }
  if (from == to && !(text_.is_directed && has_weight)) {
    return refusal(
        format("node %u is joined to itself; leave that out, what a node keeps is implied", from));
  }
  GraphText::Entry entry{.from = from, .to = to, .line = line_};
  if (has_weight) {
    entry.weight = parse_weight(weight);
    if (entry.weight.numerator == 0) {
      return refusal(quoted(weight) +
                     " is not a weight; write a fraction such as 1/3 or a decimal of up to 9 "
                     "places such as 0.25, above 0 and at most 1");
    }
  }
  text_.entries.push_back(entry);
  return {};
}

// Digits before and after the point, at least one of them after it, or digits alone.
std::optional<Weight> decimal(std::string_view token) {
  constexpr std::size_t kMaxPlaces = 9;
  const std::size_t point = token.find('.');
  const std::string_view whole = token.substr(0, point);
  if (point == std::string_view::npos) {
    return is_digits(whole) && number_of(whole) == 1 ? std::optional(Weight{1, 1}) : std::nullopt;
  }
  const std::string_view places = token.substr(point + 1);
  if ((!whole.empty() && !is_digits(whole)) || !is_digits(places) || places.size() > kMaxPlaces) {
    return std::nullopt;
  }
  std::uint32_t denominator = 1;
  for (std::size_t place = 0; place < places.size(); ++place) {
    denominator *= 10;
  }
  const std::uint64_t ones = whole.empty() ? 0 : number_of(whole);
  if (ones > 1) {
    return std::nullopt;
  }
  const std::uint64_t numerator = ones * denominator + number_of(places);
  if (numerator > denominator) {
    return std::nullopt;
  }
  return Weight{static_cast<std::uint32_t>(numerator), denominator};
}

std::optional<Weight> fraction(std::string_view token, std::size_t slash) {
  const std::string_view top = token.substr(0, slash);
  const std::string_view bottom = token.substr(slash + 1);
  if (!is_digits(top) || !is_digits(bottom)) {
    return std::nullopt;
  }
  const std::uint64_t numerator = number_of(top);
  const std::uint64_t denominator = number_of(bottom);
  if (numerator > denominator || denominator > std::numeric_limits<std::uint32_t>::max()) {
    return std::nullopt;
  }
  return Weight{static_cast<std::uint32_t>(numerator), static_cast<std::uint32_t>(denominator)};
}

}  // namespace

Weight parse_weight(std::string_view token) {
  const std::size_t slash = token.find('/');
  std::optional<Weight> weight =
      slash == std::string_view::npos ? decimal(token) : fraction(token, slash);
  if (!weight || weight->numerator == 0) {
    return {};
  }
  const std::uint32_t shared = std::gcd(weight->numerator, weight->denominator);
  return {weight->numerator / shared, weight->denominator / shared};
}

Result<GraphText> read_graph_text(std::string_view text, const std::string& name) {
  Reader reader(name);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (const Result<void> line = reader.read_line(text.substr(0, end)); !line.ok()) {
      return line.error();
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return reader.finish();
}

}  // namespace hobnob
