// hobnob topology weights | view-diff | verify

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <iterator>
#include <numeric>
#include <optional>

#include "apps/hobnob/commands.h"
#include "apps/hobnob/read_file.h"
#include "apps/hobnob/text_table.h"
#include "apps/hobnob/topology_commands.h"
#include "apps/hobnob/topology_spec.h"
#include "runtime/base/object_reader.h"
#include "runtime/base/text.h"
#include "runtime/wire/messages.h"
#include "topology/fdla.h"
#include "topology/graph_file.h"
#include "topology/symmetric_eigen.h"
#include "topology/verify.h"
#include "topology/weights.h"

namespace hobnob {

namespace {

struct Weighted {
  std::string rule;
  std::vector<double> weights;  // per edge; target: W[a][b] and W[b][a] of each
  double rho = 0.0;
  std::optional<double> bound;  // no symmetric weights on the graph have a smaller rho
};

Result<Weighted> exact(const Graph& graph, const std::string& rule, std::vector<Weight> weights) {
  Weighted result{rule, to_doubles(weights), 0.0, {}};
  result.rho = dense_rho(graph, result.weights);
  return result;
}

Result<Weighted> floating(const Graph& graph,
                          const std::string& rule,
                          Result<std::vector<double>> weights) {
  if (!weights.ok()) {
    return weights.error();
  }
  Weighted result{rule, std::move(weights).value(), 0.0, {}};
  result.rho = dense_rho(graph, result.weights);
  return result;
}

// rho of W - 1 p', W reversible for the stationary p: with D = diag(p) it is that of the symmetric
// D^1/2 W D^-1/2 - sqrt(p) sqrt(p)'.
double reversible_rho(const Graph& graph,
                      const std::vector<TwoWayWeight>& weights,
                      const std::vector<double>& target) {
  const std::size_t n = graph.size();
  const double total = std::accumulate(target.begin(), target.end(), 0.0);
  std::vector<double> matrix(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    matrix[i * n + i] = 1.0;
  }
  const std::vector<Graph::Edge> edges = graph.edges();
  for (std::size_t e = 0; e < edges.size(); ++e) {
    const auto [a, b] = edges[e];
    matrix[a * n + b] = matrix[b * n + a] = std::sqrt(weights[e].ab * weights[e].ba);
    matrix[a * n + a] -= weights[e].ab;
    matrix[b * n + b] -= weights[e].ba;
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      matrix[i * n + j] -= std::sqrt(target[i] * target[j]) / total;
    }
  }
  double rho = 0.0;
  for (const double value : symmetric_eigenvalues(std::move(matrix), n)) {
    rho = std::max(rho, std::abs(value));
  }
  return rho;
}

// What the command was given.
struct WeighInput {
  const GraphFile& file;
  std::vector<double> target;  // (n,), or empty
};

Result<Weighted> to_target(const WeighInput& input) {
  const auto weights = target_metropolis_hastings(input.file.graph, input.target);
  if (!weights.ok()) {
    return make_error(ErrorCode::kInvalidArgument, "--target: %s", weights.error().message.c_str());
  }
  Weighted result{.rule = "target", .weights = {}, .rho = 0.0, .bound = {}};
  for (const TwoWayWeight& each : weights.value()) {
    result.weights.insert(result.weights.end(), {each.ab, each.ba});
  }
  result.rho = reversible_rho(input.file.graph, weights.value(), input.target);
  return result;
}

struct Rule {
  const char* name;
  std::function<Result<Weighted>(const WeighInput&)> weigh;
  const char* needs = "";
  bool (*has_input)(const WeighInput&) = [](const WeighInput&) { return true; };
};

const std::vector<Rule>& rules() {
  using In = const WeighInput&;
  static const std::vector<Rule> all{
      {.name = "mh",
       .weigh =
           [](In in) { return exact(in.file.graph, "mh", metropolis_hastings(in.file.graph)); }},
      {.name = "max-degree",
       .weigh =
           [](In in) { return exact(in.file.graph, "max-degree", max_degree(in.file.graph)); }},
      {.name = "lazy",
       .weigh =
           [](In in) {
             return exact(in.file.graph, "lazy", lazy(metropolis_hastings(in.file.graph)));
           }},
      {.name = "best",
       .weigh =
           [](In in) { return floating(in.file.graph, "best", best_constant(in.file.graph)); }},
      {.name = "sinkhorn",
       .weigh =
           [](In in) {
             return floating(in.file.graph, "sinkhorn",
                             sinkhorn(in.file.graph, to_doubles(in.file.weights)));
           }},
      {.name = "fdla",
       .weigh = [](In in) -> Result<Weighted> {
         const Result<FdlaResult> found = fdla(in.file.graph);
         if (!found.ok()) {
           return found.error();
         }
         return Weighted{"fdla", found.value().weights, found.value().rho, found.value().bound};
       }},
      {.name = "file",
       .weigh = [](In in) { return exact(in.file.graph, "file", in.file.weights); },
       .needs = "the file gives its edges no weights; write \"i j 1/3\"",
       .has_input = [](In in) { return !in.file.weights.empty(); }},
      {.name = "target",
       .weigh = to_target,
       .needs = "say what each node shall weigh with --target, such as 600,150,75",
       .has_input = [](In in) { return !in.target.empty(); }}};
  return all;
}

// "600,150,75"; nothing for "".
Result<std::vector<double>> parse_target(const std::string& text) {
  std::vector<double> target;
  for (const std::string& part : text.empty() ? std::vector<std::string>{} : split(text, ',')) {
    const std::optional<double> value = parse_number<double>(part);
    if (!value) {
      return make_error(ErrorCode::kInvalidArgument,
                        "--target: \"%s\" is no number; write one for each node: 600,150,75",
                        part.c_str());
    }
    target.push_back(*value);
  }
  return target;
}

// ln(1e-6) / ln(rho), rounded up.
double rounds_to_a_millionth(double rho) {
  return rho <= 0.0 ? 1.0 : std::ceil(std::log(1e-6) / std::log(rho));
}

Json to_json(const Weighted& each) {
  Json weights(Json::Array{});
  for (const double weight : each.weights) {
    weights.push(weight);
  }
  return Json()
      .set("rule", each.rule)
      .set("rho", each.rho)
      .set("bound", each.bound ? Json(*each.bound) : Json())
      .set("rounds_1e-6", rounds_to_a_millionth(each.rho))
      .set("weights", std::move(weights));
}

int print_weights(const GraphFile& file,
                  const std::vector<Weighted>& all,
                  const TopologyWeightsOptions& options) {
  if (options.json) {
    Json edges(Json::Array{});
    for (const Graph::Edge& edge : file.graph.edges()) {
      edges.push(Json(Json::Array{Json(std::int64_t{edge.a}), Json(std::int64_t{edge.b})}));
    }
    Json list(Json::Array{});
    for (const Weighted& each : all) {
      list.push(to_json(each));
    }
    std::printf("%s\n", Json()
                            .set("schema", "hobnob.topology-weights/1")
                            .set("nodes", static_cast<std::int64_t>(file.graph.size()))
                            .set("edges", std::move(edges))
                            .set("rules", std::move(list))
                            .dump(2)
                            .c_str());
    return kExitDone;
  }
  std::printf("%s: %zu nodes, %zu edges, largest degree %zu\n\n", options.file.c_str(),
              file.graph.size(), file.graph.edge_count(), file.graph.max_degree());
  TextTable table({"rule", "rho", "gap", "rounds to 1e-6", "lower bound of rho"});
  for (const Weighted& each : all) {
    table.add({each.rule, format("%.4f", each.rho), short_number(1.0 - each.rho),
               short_number(rounds_to_a_millionth(each.rho)),
               each.bound ? format("%.4f", *each.bound) : ""});
  }
  std::fputs(table.text().c_str(), stdout);
  return kExitDone;
}

// What a peer's /topology page says.
struct Page {
  MembershipView view;
  std::optional<TopologyConfig> schedule;
  std::uint64_t round = 0;
};

// The page has {"view": ["32 hex digits", ...]}, and from a live peer "sites" and "can_be_dialed"
// beside it, "schedule", "seed" and "round".
Result<Page> read_page(const std::string& path) {
  const Result<std::string> text = read_file(path, "view", Json::kMaxTextBytes);
  if (!text.ok()) {
    return text.error();
  }
  const Result<Json> json = parse_json(text.value(), path);
  if (!json.ok()) {
    return json.error();
  }
  const auto list_of = [&](const char* key) -> const Json* {
    const Json* list = json.value().is_object() ? json.value().find(key) : nullptr;
    return list != nullptr && list->is_array() ? list : nullptr;
  };
  const Json* ids = list_of("view");
  if (ids == nullptr || ids->array().size() > kMaxMembers) {
    return make_error(ErrorCode::kInvalidArgument,
                      "%s: no list \"view\" of at most %zu peers in it; save a peer's page: curl "
                      "http://PEER/topology",
                      path.c_str(), kMaxMembers);
  }
  const Json* sites = list_of("sites");
  const Json* dialed = list_of("can_be_dialed");
  std::vector<ViewMember> members;
  for (std::size_t k = 0; k < ids->array().size(); ++k) {
    const Json& each = ids->array()[k];
    const std::optional<PeerId> peer =
        each.is_text() ? PeerId::parse(each.text()) : std::optional<PeerId>();
    if (!peer) {
      return make_error(ErrorCode::kInvalidArgument,
                        "%s: view[%zu] is not a peer id of 32 hex digits", path.c_str(), k);
    }
    ViewMember member{.id = *peer};
    if (sites != nullptr && k < sites->array().size() && sites->array()[k].is_integer()) {
      member.site = static_cast<std::uint32_t>(sites->array()[k].integer());
    }
    if (dialed != nullptr && k < dialed->array().size() && dialed->array()[k].is_bool()) {
      member.can_listen = dialed->array()[k].boolean();
    }
    members.push_back(member);
  }
  Page page{.view = MembershipView(std::move(members))};
  ObjectReader reader(json.value(), "");
  const Json schedule = reader.any("schedule");
  if (!schedule.is_null()) {
    page.schedule.emplace();
    Result<void> good = read_topology(schedule, *page.schedule);
    good = good.ok() ? validate(*page.schedule) : good;
    if (!good.ok()) {
      return make_error(ErrorCode::kInvalidArgument, "%s: %s", path.c_str(),
                        good.error().message.c_str());
    }
    page.schedule->seed = static_cast<std::uint64_t>(reader.integer("seed", 1, 0, INT64_MAX));
  }
  page.round = static_cast<std::uint64_t>(reader.integer("round", 0, 0, INT64_MAX / 2));
  return page;
}

// Partners by id, so that plans of different views can be compared.
std::vector<std::pair<PeerId, PeerId>> links_of(const Schedule& schedule,
                                                const MembershipView& view,
                                                std::uint64_t round) {
  std::vector<std::pair<PeerId, PeerId>> links;
  const std::vector<RoundPlan> plans = schedule.plans(view, epoch_of(round), round);
  for (std::uint32_t self = 0; self < plans.size(); ++self) {
    for (const Exchange& each : plans[self].partners) {
      if (self < each.peer) {
        links.emplace_back(view.at(self), view.at(each.peer));
      }
    }
  }
  std::ranges::sort(links);
  return links;
}

std::vector<PeerId> missing_in(const MembershipView& other, const MembershipView& view) {
  std::vector<PeerId> missing;
  for (const PeerId& peer : view.peers()) {
    if (!other.rank(peer)) {
      missing.push_back(peer);
    }
  }
  return missing;
}

Json to_json(const std::vector<PeerId>& peers) {
  Json list(Json::Array{});
  for (const PeerId& peer : peers) {
    list.push(peer.hex());
  }
  return list;
}

std::string digest_text(const MembershipView& view) {
  return format("%016llx", static_cast<unsigned long long>(view.digest()));
}

}  // namespace

int run_topology_weights(const TopologyWeightsOptions& options) {
  const Result<std::string> text = read_file(options.file, "graph", kMaxGraphTextBytes);
  if (!text.ok()) {
    return report(text.error());
  }
  const Result<GraphFile> file = parse_graph(text.value(), options.file);
  if (!file.ok()) {
    return report(file.error());
  }
  if (file.value().graph.is_directed() || file.value().graph.size() > kMaxDenseNodes) {
    return report(make_error(ErrorCode::kInvalidArgument,
                             "%s: weights are for undirected graphs of at most %zu nodes",
                             options.file.c_str(), kMaxDenseNodes));
  }
  const Result<std::vector<double>> target = parse_target(options.target);
  if (!target.ok()) {
    return report(target.error());
  }
  const WeighInput input{file.value(), target.value()};
  std::vector<Weighted> all;
  std::string known = "all";
  for (const Rule& rule : rules()) {
    known += std::string(", ") + rule.name;
    const bool is_asked = options.rule == rule.name;
    if (!is_asked && (options.rule != "all" || !rule.has_input(input))) {
      continue;
    }
    if (!rule.has_input(input)) {
      return report(
          make_error(ErrorCode::kInvalidArgument, "--rule %s: %s", rule.name, rule.needs));
    }
    const bool is_too_large =
        std::string(rule.name) == "fdla" && file.value().graph.size() > kMaxFdlaNodes;
    if (options.rule == "all" && is_too_large) {
      std::fprintf(stderr, "fdla left out: more than %zu nodes\n", kMaxFdlaNodes);
      continue;
    }
    Result<Weighted> weighted = rule.weigh(input);
    if (!weighted.ok()) {
      return report(weighted.error());
    }
    all.push_back(std::move(weighted).value());
  }
  if (all.empty()) {
    return report(make_error(ErrorCode::kInvalidArgument, "--rule %s: unknown (known: %s)",
                             options.rule.c_str(), known.c_str()));
  }
  return print_weights(file.value(), all, options);
}

int run_topology_view_diff(const TopologyDiffOptions& options) {
  const Result<Page> first = read_page(options.one);
  const Result<Page> second = read_page(options.other);
  for (const Result<Page>* each : {&first, &second}) {
    if (!each->ok()) {
      return report(each->error());
    }
  }
  TopologyConfig config = first.value().schedule.value_or(TopologyConfig());
  if (!options.schedule.empty()) {
    const Result<TopologyConfig> asked = parse_topology_spec(options.schedule, "--schedule");
    if (!asked.ok()) {
      return report(asked.error());
    }
    const std::uint64_t seed = config.seed;
    config = asked.value();
    config.seed = seed;
  }
  config.seed = options.seed.value_or(config.seed);
  const MembershipView& one = first.value().view;
  const MembershipView& other = second.value().view;
  const auto schedule = make_schedule(config);
  std::size_t planned = 0;
  std::size_t agreed = 0;
  for (std::uint64_t k = 0; k < options.rounds; ++k) {
    const std::uint64_t round = first.value().round + k;
    const auto a = links_of(*schedule, one, round);
    const auto b = links_of(*schedule, other, round);
    std::vector<std::pair<PeerId, PeerId>> both;
    std::ranges::set_intersection(a, b, std::back_inserter(both));
    planned += a.size() + b.size() - both.size();
    agreed += both.size();
  }
  const double share =
      planned == 0 ? 1.0 : static_cast<double>(agreed) / static_cast<double>(planned);
  const std::vector<PeerId> only_one = missing_in(other, one);
  const std::vector<PeerId> only_other = missing_in(one, other);
  if (options.json) {
    std::printf(
        "%s\n",
        Json()
            .set("schema", "hobnob.topology-view-diff/1")
            .set("digests", Json(Json::Array{Json(digest_text(one)), Json(digest_text(other))}))
            .set("only_in_first", to_json(only_one))
            .set("only_in_second", to_json(only_other))
            .set("schedule", write_topology(config))
            .set("agreed_edges", share)
            .dump(2)
            .c_str());
    return kExitDone;
  }
  std::printf("%s: %zu peers, digest %s\n%s: %zu peers, digest %s\n", options.one.c_str(),
              one.size(), digest_text(one).c_str(), options.other.c_str(), other.size(),
              digest_text(other).c_str());
  for (const PeerId& peer : only_one) {
    std::printf("  only in %s: %s\n", options.one.c_str(), peer.hex().c_str());
  }
  for (const PeerId& peer : only_other) {
    std::printf("  only in %s: %s\n", options.other.c_str(), peer.hex().c_str());
  }
  std::printf("%s: %.2f %% of the edges of %llu rounds are in both plans\n", config.kind.c_str(),
              100.0 * share, static_cast<unsigned long long>(options.rounds));
  return kExitDone;
}

int run_topology_verify(bool json) {
  const std::vector<Check> checks = verify_topology();
  std::size_t failed = 0;
  Json list(Json::Array{});
  for (const Check& check : checks) {
    failed += check.passed ? 0 : 1;
    list.push(
        Json().set("name", check.name).set("passed", check.passed).set("detail", check.detail));
    if (!json) {
      std::printf("%s  %s: %s\n", check.passed ? "ok  " : "FAIL", check.name.c_str(),
                  check.detail.c_str());
    }
  }
  if (json) {
    std::printf("%s\n", Json()
                            .set("schema", "hobnob.topology-verify/1")
                            .set("passed", failed == 0)
                            .set("checks", std::move(list))
                            .dump(2)
                            .c_str());
  } else {
    std::printf("%zu of %zu checks passed\n", checks.size() - failed, checks.size());
  }
  return failed == 0 ? kExitDone : kExitFailed;
}

}  // namespace hobnob
