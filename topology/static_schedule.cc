// The same graph of ranks in every round, with Metropolis-Hastings weights, or the weights of the
// user's file.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/base/check.h"
#include "topology/graph_file.h"
#include "topology/graph_kinds.h"
#include "topology/kinds.h"
#include "topology/plan_parts.h"

namespace hobnob {

namespace {

// Each end proposes 1 / (1 + its degree).
RoundPlan metropolis_plan(std::span<const std::uint32_t> neighbours) {
  const Weight proposal{1, 1 + static_cast<std::uint32_t>(neighbours.size())};
  RoundPlan plan;
  plan.partners.reserve(neighbours.size());
  for (const std::uint32_t peer : neighbours) {
    plan.partners.push_back({.peer = peer, .in = proposal, .out = proposal});
  }
  return plan;
}

class StaticGraph final : public Schedule {
 public:
  explicit StaticGraph(GraphConfig config) : config_(std::move(config)) {}

  ScheduleTraits traits() const override {
    return {.is_symmetric = !is_directed(), .has_groups = is_complete(), .is_static = true};
  }

  std::optional<std::uint32_t> exact_period(std::uint32_t size) const override {
    return size <= 1 ? std::optional(0U) : is_complete() ? std::optional(1U) : std::nullopt;
  }

 private:
  bool is_directed() const { return config_.kind == "directed-exponential"; }

  bool is_complete() const { return config_.kind == "complete"; }

  RoundPlan full_plan(const MembershipView& view,
                      std::uint32_t self,
                      std::uint64_t /*epoch*/,
                      std::uint64_t /*round*/) const override {
    const std::vector<std::uint32_t> targets = neighbours_of(config_, view, self);
    return is_directed() ? directed_plan(targets, sources_of(config_, view, self))
                         : plan_among(targets, self);
  }

  std::vector<RoundPlan> full_plans(const MembershipView& view,
                                    std::uint64_t epoch,
                                    std::uint64_t round) const override {
    const bool is_whole = !is_directed() && validate(config_, view.size()).ok();
    const Graph graph = is_whole ? make_graph(config_, view) : Graph();
    std::vector<RoundPlan> plans;
    plans.reserve(view.size());
    for (std::uint32_t self = 0; self < view.size(); ++self) {
      plans.push_back(is_whole ? plan_among(graph.neighbours(self), self)
                               : full_plan(view, self, epoch, round));
    }
    return plans;
  }

  RoundPlan plan_among(std::span<const std::uint32_t> neighbours, std::uint32_t self) const {
    if (!is_complete()) {
      return metropolis_plan(neighbours);
    }
    std::vector<std::uint32_t> all(neighbours.begin(), neighbours.end());
    all.push_back(self);
    return clique_of(std::move(all), self);
  }

  // All have the same degree both ways, and send and keep equal shares.
  static RoundPlan directed_plan(const std::vector<std::uint32_t>& targets,
                                 const std::vector<std::uint32_t>& sources) {
    const Weight share{1, 1 + static_cast<std::uint32_t>(targets.size())};
    std::vector<std::uint32_t> peers;
    std::ranges::set_union(targets, sources, std::back_inserter(peers));
    RoundPlan plan;
    for (const std::uint32_t peer : peers) {
      const bool sends = std::ranges::binary_search(targets, peer);
      const bool receives = std::ranges::binary_search(sources, peer);
      plan.partners.push_back(
          {.peer = peer, .in = receives ? share : Weight{}, .out = sends ? share : Weight{}});
    }
    return plan;
  }

  const GraphConfig config_;
};

class FileGraph final : public Schedule {
 public:
  explicit FileGraph(GraphFile file) : file_(std::move(file)), edges_(file_.graph.edges()) {}

  ScheduleTraits traits() const override { return {.is_static = true}; }

 private:
  RoundPlan full_plan(const MembershipView& view,
                      std::uint32_t self,
                      std::uint64_t /*epoch*/,
                      std::uint64_t /*round*/) const override {
    const auto size = static_cast<std::uint32_t>(view.size());
    if (size == file_.graph.size()) {
      return file_.weights.empty() ? metropolis_plan(file_.graph.neighbours(self))
                                   : weighted_plan(self);
    }
    std::vector<std::uint32_t> neighbours;
    if (self < file_.graph.size()) {
      for (const std::uint32_t peer : file_.graph.neighbours(self)) {
        if (peer < size) {
          neighbours.push_back(peer);
        }
      }
    }
    if (size > 1) {
      neighbours.push_back((self + 1) % size);
      neighbours.push_back((self + size - 1) % size);
    }
    std::ranges::sort(neighbours);
    neighbours.erase(std::unique(neighbours.begin(), neighbours.end()), neighbours.end());
    return metropolis_plan(neighbours);
  }

  RoundPlan weighted_plan(std::uint32_t self) const {
    RoundPlan plan;
    for (const std::uint32_t peer : file_.graph.neighbours(self)) {
      const auto [a, b] = std::minmax(self, peer);
      const auto place = std::ranges::lower_bound(edges_, Graph::Edge{a, b});
      const Weight& weight = file_.weights[static_cast<std::size_t>(place - edges_.begin())];
      plan.partners.push_back({.peer = peer, .in = weight, .out = weight});
    }
    return plan;
  }

  const GraphFile file_;
  const std::vector<Graph::Edge> edges_;  // ascending, beside file_.weights
};

}  // namespace

std::unique_ptr<Schedule> make_static(const TopologyConfig& config) {
  return std::make_unique<StaticGraph>(
      GraphConfig{.kind = config.kind, .degree = config.degree, .seed = config.seed});
}

std::unique_ptr<Schedule> make_file_graph(const TopologyConfig& config) {
  Result<GraphFile> file = parse_graph(config.graph, "gossip.topology.graph");
  HOBNOB_CHECK(file.ok(), "topology config was not validated");
  return std::make_unique<FileGraph>(std::move(file).value());
}

}  // namespace hobnob
