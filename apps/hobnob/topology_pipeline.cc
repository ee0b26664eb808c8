// hobnob topology pipeline: what a pipeline over these peers can reach, and how to get there.

#include <algorithm>
#include <cstdio>

#include "apps/hobnob/commands.h"
#include "apps/hobnob/read_file.h"
#include "apps/hobnob/text_table.h"
#include "apps/hobnob/topology_commands.h"
#include "runtime/base/json.h"
#include "topology/best_placement.h"
#include "topology/pipeline_scenario.h"
#include "topology/placement.h"
#include "topology/rebalance.h"

namespace hobnob {

namespace {

constexpr std::size_t kMaxScenarioBytes = 4U << 20U;
constexpr std::size_t kMaxEpochs = 1000;

Result<PipelineScenario> read_scenario(const std::string& name) {
  const std::vector<std::string>& examples = pipeline_example_names();
  if (std::ranges::find(examples, name) != examples.end()) {
    return pipeline_example(name);
  }
  const Result<std::string> text = read_file(name, "scenario", kMaxScenarioBytes);
  if (!text.ok()) {
    std::string known;
    for (const std::string& each : examples) {
      known += (known.empty() ? "" : ", ") + each;
    }
    return make_error(ErrorCode::kInvalidArgument, "%s; examples that need no file: %s",
                      text.error().message.c_str(), known.c_str());
  }
  return parse_pipeline_scenario(text.value(), name);
}

bool serves_all(const PipelineRates& rates, const Assignment& assignment) {
  return throughput(rates, assignment).units > 0;
}

struct Epoch {
  std::vector<StageMove> moves;
  double throughput = 0.0;  // after them
};

// From the current stages to where nothing is worth a move any more.
std::vector<Epoch> rebalance(const PipelineRates& rates,
                             Assignment& assignment,
                             const RebalancePolicy& policy) {
  std::vector<Epoch> epochs;
  while (epochs.size() < kMaxEpochs) {
    std::vector<StageMove> moves = plan_moves(rates, assignment, policy);
    if (moves.empty()) {
      break;
    }
    for (const StageMove& move : moves) {
      assignment[move.peer] = move.to;
    }
    epochs.push_back({std::move(moves), throughput(rates, assignment).per_second()});
  }
  return epochs;
}

struct Findings {
  double bound = 0.0;
  double placed = 0.0;
  Assignment placement;
  double best = 0.0;
  bool is_optimal = false;
  std::optional<double> now;  // where the scenario says who serves what
  std::vector<Epoch> epochs;
  Assignment balanced;
};

Findings find(const PipelineScenario& scenario, const PipelineRates& rates) {
  Findings found;
  found.bound = dual_bound(rates).per_second;
  found.placement = place(rates);
  found.placed = throughput(rates, found.placement).per_second();
  const BestPlacement best = best_placement(rates);
  found.best = throughput(rates, best.assignment).per_second();
  found.is_optimal = best.is_optimal;
  if (serves_all(rates, scenario.current)) {
    found.now = throughput(rates, scenario.current).per_second();
    found.balanced = scenario.current;
    found.epochs = rebalance(rates, found.balanced, scenario.policy);
  }
  return found;
}

Json to_json(const PipelineScenario& scenario, const PipelineRates& rates, const Findings& found) {
  Json placement;
  Json stages(Json::Array{});
  for (std::size_t peer = 0; peer < scenario.peers.size(); ++peer) {
    const std::uint32_t stage = found.placement[peer];
    placement.set(scenario.names[peer], stage == kIdle ? Json() : Json(std::int64_t{stage}));
  }
  for (const Rate rate : stage_rates(rates, found.placement)) {
    stages.push(rate.per_second());
  }
  Json epochs(Json::Array{});
  for (const Epoch& epoch : found.epochs) {
    Json moves(Json::Array{});
    for (const StageMove& move : epoch.moves) {
      moves.push(Json()
                     .set("peer", scenario.names[move.peer])
                     .set("from", std::int64_t{move.from})
                     .set("to", std::int64_t{move.to}));
    }
    epochs.push(Json().set("moves", std::move(moves)).set("throughput", epoch.throughput));
  }
  return Json()
      .set("schema", "hobnob.topology-pipeline/1")
      .set("upper_bound", found.bound)
      .set("best_known", found.best)
      .set("best_is_optimal", found.is_optimal)
      .set("placement", std::move(placement))
      .set("placement_throughput", found.placed)
      .set("stage_rates", std::move(stages))
      .set("current_throughput", found.now ? Json(*found.now) : Json())
      .set("rebalancing", std::move(epochs));
}

void print_stages(const PipelineScenario& scenario,
                  const PipelineRates& rates,
                  const Assignment& assignment) {
  TextTable table({"stage", "microbatches/s", "served by"});
  const std::vector<Rate> sums = stage_rates(rates, assignment);
  constexpr std::size_t kMostNames = 12;
  for (std::uint32_t stage = 0; stage < sums.size(); ++stage) {
    std::string servers;
    std::size_t count = 0;
    for (std::size_t peer = 0; peer < assignment.size(); ++peer) {
      if (assignment[peer] == stage && ++count <= kMostNames) {
        servers += (servers.empty() ? "" : " ") + scenario.names[peer];
      }
    }
    servers += count > kMostNames ? format(" and %zu more", count - kMostNames) : "";
    table.add({std::to_string(stage), short_number(sums[stage].per_second()), servers});
  }
  std::fputs(table.text().c_str(), stdout);
}

void print_text(const PipelineScenario& scenario,
                const PipelineRates& rates,
                const Findings& found) {
  std::printf("%zu stages, %zu peers; microbatches per second:\n", rates.stage_count(),
              rates.peer_count());
  const auto line = [&](const char* name, double value) {
    std::printf("  %-34s %9.4f  %5.1f %%\n", name, value,
                found.bound > 0.0 ? 100.0 * value / found.bound : 0.0);
  };
  line("upper bound (dual)", found.bound);
  line(found.is_optimal ? "optimum" : "best known (search gave up)", found.best);
  line("placement from scratch", found.placed);
  if (found.now) {
    line("as it is now", *found.now);
    line("after rebalancing", throughput(rates, found.balanced).per_second());
  }
  std::printf("\nPlacement from scratch\n");
  print_stages(scenario, rates, found.placement);
  for (std::size_t epoch = 0; epoch < found.epochs.size(); ++epoch) {
    std::printf("%sepoch %zu:", epoch == 0 ? "\nRebalancing\n" : "", epoch + 1);
    for (const StageMove& move : found.epochs[epoch].moves) {
      std::printf(" %s %u->%u", scenario.names[move.peer].c_str(), move.from, move.to);
    }
    std::printf("  gives %.4f\n", found.epochs[epoch].throughput);
  }
}

}  // namespace

int run_topology_pipeline(const TopologyPipelineOptions& options) {
  const Result<PipelineScenario> scenario = read_scenario(options.scenario);
  if (!scenario.ok()) {
    return report(scenario.error());
  }
  const PipelineRates rates(scenario.value().peers, scenario.value().pipeline);
  const Findings found = find(scenario.value(), rates);
  if (options.json) {
    std::printf("%s\n", to_json(scenario.value(), rates, found).dump(2).c_str());
  } else {
    print_text(scenario.value(), rates, found);
  }
  if (found.best <= 0.0) {
    std::fprintf(stderr,
                 "hobnob: %s: no assignment serves every stage: some stage fits no peer's "
                 "memory, or there are fewer peers than stages\n",
                 options.scenario.c_str());
    return kExitFailed;
  }
  return kExitDone;
}

}  // namespace hobnob
