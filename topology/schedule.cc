#include "topology/schedule.h"

#include <algorithm>

#include "runtime/base/check.h"
#include "runtime/base/nearest_word.h"
#include "topology/kinds.h"

namespace hobnob {

namespace {

const std::vector<std::string>& kinds() {
  static const std::vector<std::string> names{"ring", "complete", "exponential", "trie-pairs"};
  return names;
}

// What the two ends of an edge say about it.
struct Proposal {
  std::uint32_t a = 0;
  std::uint32_t b = 0;  // a < b
  Weight weight;
};

}  // namespace

MixingMatrix Schedule::matrix(const MembershipView& view,
                              std::uint64_t epoch,
                              std::uint64_t round) const {
  std::vector<Proposal> proposals;
  for (std::uint32_t self = 0; self < view.size(); ++self) {
    for (const Exchange& exchange : plan(view, self, epoch, round).partners) {
      const auto [a, b] = std::minmax(self, exchange.peer);
      proposals.push_back({.a = a, .b = b, .weight = exchange.weight});
    }
  }
  std::ranges::sort(proposals, [](const Proposal& left, const Proposal& right) {
    return left.a != right.a ? left.a < right.a : left.b < right.b;
  });
  HOBNOB_CHECK(proposals.size() % 2 == 0, "plans are not mutual");
  std::vector<MixingMatrix::Edge> edges;
  edges.reserve(proposals.size() / 2);
  for (std::size_t k = 0; k < proposals.size(); k += 2) {
    const Proposal& one = proposals[k];
    const Proposal& other = proposals[k + 1];
    HOBNOB_CHECK(one.a == other.a && one.b == other.b, "plans are not mutual");
    edges.push_back({.a = one.a, .b = one.b, .weight = std::min(one.weight, other.weight)});
  }
  return {view.size(), std::move(edges)};
}

Result<void> validate(const TopologyConfig& config) {
  if (std::ranges::find(kinds(), config.kind) != kinds().end()) {
    return {};
  }
  std::string known;
  for (const std::string& kind : kinds()) {
    known += (known.empty() ? "" : ", ") + kind;
  }
  const std::string near = nearest_word(config.kind, kinds());
  const std::string hint = near.empty() ? "" : "; did you mean " + near + "?";
  return make_error(ErrorCode::kInvalidArgument,
                    "gossip.topology.kind: unknown \"%s\" (known: %s)%s", config.kind.c_str(),
                    known.c_str(), hint.c_str());
}

std::unique_ptr<Schedule> make_schedule(const TopologyConfig& config) {
  if (config.kind == "ring") {
    return make_ring();
  }
  if (config.kind == "complete") {
    return make_complete();
  }
  if (config.kind == "exponential") {
    return make_exponential();
  }
  HOBNOB_CHECK(config.kind == "trie-pairs", "topology config was not validated");
  return make_trie_pairs(config.seed);
}

}  // namespace hobnob
