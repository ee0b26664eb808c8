#include "topology/config.h"

#include <algorithm>

#include "runtime/base/nearest_word.h"
#include "topology/graph_file.h"
#include "topology/kinds.h"

namespace hobnob {

namespace {

constexpr std::uint32_t kMaxGroup = 64;
constexpr std::size_t kMaxDims = 16;

struct Range {
  const char* key;
  std::uint32_t value;
  std::uint32_t low;
  std::uint32_t high;
};

Result<void> check(const Range& range) {
  if (range.value < range.low || range.value > range.high) {
    return make_error(ErrorCode::kInvalidArgument, "gossip.topology.%s: must be %u..%u, got %u",
                      range.key, range.low, range.high, range.value);
  }
  return {};
}

const Kind* find_kind(const std::string& name) {
  const auto found =
      std::ranges::find_if(kinds(), [&](const Kind& kind) { return name == kind.name; });
  return found == kinds().end() ? nullptr : &*found;
}

}  // namespace

const std::vector<std::string>& topology_kinds() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Kind& kind : kinds()) {
      all.emplace_back(kind.name);
    }
    return all;
  }();
  return names;
}

std::vector<std::string> topology_keys(const std::string& kind) {
  const Kind* const found = find_kind(kind);
  return found == nullptr ? std::vector<std::string>{} : found->keys;
}

Result<void> validate(const TopologyConfig& config) {
  if (find_kind(config.kind) == nullptr) {
    return make_error(ErrorCode::kInvalidArgument, "gossip.topology.kind: %s",
                      unknown_word(config.kind, topology_kinds()).c_str());
  }
  std::vector<Range> ranges{
      {"g", config.g, 2, kMaxGroup},
      {"k", config.k, 1, kMaxGroup - 1},
      {"degree", config.degree, 2, kMaxGroup},
      {"active_percent", config.active_percent, 1, 100},
      {"eta_percent", config.eta_percent, 1, 100},
      {"cross_every", config.cross_every, 1, 1000},
      {"crossing", config.crossing, 0, 1000},
  };
  for (const std::uint32_t peers : config.dims) {
    ranges.push_back({"dims", peers, 2, kMaxGroup});
  }
  for (const Range& range : ranges) {
    const Result<void> result = check(range);
    if (!result.ok()) {
      return result;
    }
  }
  if (config.dims.size() > kMaxDims) {
    return make_error(ErrorCode::kInvalidArgument,
                      "gossip.topology.dims: must be at most %zu dimensions, got %zu", kMaxDims,
                      config.dims.size());
  }
  if (config.kind == "file") {
    const Result<GraphFile> file = parse_graph(config.graph, "gossip.topology.graph");
    if (!file.ok()) {
      return file.error();
    }
    if (file.value().graph.is_directed()) {
      return Error{
          ErrorCode::kInvalidArgument,
          "gossip.topology.graph: directed; peers exchange both ways, so leave out the line "
          "\"directed\""};
    }
  }
  if (config.degree % 2 != 0) {
    return make_error(ErrorCode::kInvalidArgument,
                      "gossip.topology.degree: must be even (two neighbours per cycle), got %u",
                      config.degree);
  }
  return {};
}

}  // namespace hobnob
