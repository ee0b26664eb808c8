#include "topology/stage_search.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace hobnob {

// `peer` comes to the weak stage; in a swap `partner` goes where it came from.
struct StageSearch::Candidate {
  static constexpr std::uint32_t kNobody = 0xFFFFFFFF;

  std::uint32_t peer = 0;
  std::uint32_t partner = kNobody;
  std::uint32_t weak = 0;
  std::uint32_t other = 0;  // where `peer` comes from
  Rate weak_rate;           // of the two stages, afterwards
  Rate other_rate;
};

namespace {

template <std::size_t kCount>
std::array<Rate, kCount> ascending(std::array<Rate, kCount> rates) {
  std::ranges::sort(rates);
  return rates;
}

}  // namespace

StageSearch::StageSearch(const PipelineRates& rates, Assignment start, std::uint64_t budget)
    : rates_(rates),
      assignment_(std::move(start)),
      sums_(stage_rates(rates_, assignment_)),
      budget_(budget) {}

Rate StageSearch::throughput() const {
  return std::ranges::min(sums_);
}

bool StageSearch::step() {
  if (take_chain_move()) {
    return true;
  }
  std::vector<std::uint32_t> weakest_first(sums_.size());
  std::iota(weakest_first.begin(), weakest_first.end(), 0U);
  std::ranges::stable_sort(weakest_first, {}, [this](std::uint32_t s) { return sums_[s]; });
  return std::ranges::any_of(weakest_first, [this](std::uint32_t weak) { return improve(weak); });
}

void StageSearch::spend(std::uint64_t looks) {
  budget_ -= std::min(budget_, looks);
}

void StageSearch::apply(const Move& move) {
  std::uint32_t& stage = assignment_[move.peer];
  sums_[stage] -= rates_.rate(move.peer, stage);
  stage = move.to;
  sums_[stage] += rates_.rate(move.peer, stage);
}

bool StageSearch::take_chain_move() {
  for (std::uint32_t stage = 0; stage < sums_.size() && chain_.empty(); ++stage) {
    if (sums_[stage] == Rate{}) {
      chain_ = chain_into(stage);
    }
  }
  if (chain_.empty()) {
    return false;
  }
  apply(chain_.back());
  chain_.pop_back();
  return true;
}

// Breadth first from the empty stage over "some server of b could serve v", until a server is found
// that its stage can spare: an augmenting path of the matching of stages to peers.
std::vector<StageSearch::Move> StageSearch::chain_into(std::uint32_t empty) {
  std::vector<std::uint32_t> reached{empty};
  std::vector<Move> way_out(sums_.size());  // of the only server of a reached stage
  std::vector<bool> is_reached(sums_.size(), false);
  is_reached[empty] = true;
  for (std::size_t next = 0; next < reached.size(); ++next) {
    const std::uint32_t to = reached[next];
    spend(assignment_.size());
    for (std::uint32_t peer = 0; peer < assignment_.size(); ++peer) {
      const std::uint32_t from = assignment_[peer];
      if (from == kIdle || is_reached[from] || rates_.rate(peer, to) == Rate{}) {
        continue;
      }
      const Move move{.peer = peer, .to = to};
      if (rates_.rate(peer, from) == sums_[from]) {
        is_reached[from] = true;
        reached.push_back(from);
        way_out[from] = move;
        continue;
      }
      std::vector<Move> chain{move};
      for (std::uint32_t stage = to; stage != empty; stage = way_out[stage].to) {
        chain.push_back(way_out[stage]);
      }
      std::ranges::reverse(chain);
      return chain;
    }
  }
  return {};
}

bool StageSearch::improve(std::uint32_t weak) {
  if (budget_ == 0) {
    return false;
  }
  std::optional<Candidate> best = best_move(weak);
  if (!best) {
    best = best_swap(weak);
  }
  if (!best) {
    return false;
  }
  apply({.peer = best->peer, .to = best->weak});
  if (best->partner != Candidate::kNobody) {
    apply({.peer = best->partner, .to = best->other});
  }
  return true;
}

// Keeps the better one; of equals the first. Stages that a step does not touch drop out of the
// comparison.
void StageSearch::offer(const Candidate& candidate, std::optional<Candidate>& best) const {
  const Rate weak_now = sums_[candidate.weak];
  const Rate other_now = sums_[candidate.other];
  if (ascending(std::array{candidate.weak_rate, candidate.other_rate}) <=
      ascending(std::array{weak_now, other_now})) {
    return;
  }
  if (!best) {
    best = candidate;
    return;
  }
  const bool same_stages = candidate.other == best->other;
  const auto ours = std::array{candidate.weak_rate, candidate.other_rate,
                               same_stages ? Rate{} : sums_[best->other]};
  const auto theirs =
      std::array{best->weak_rate, best->other_rate, same_stages ? Rate{} : other_now};
  if (ascending(ours) > ascending(theirs)) {
    best = candidate;
  }
}

std::optional<StageSearch::Candidate> StageSearch::best_move(std::uint32_t weak) {
  spend(assignment_.size());
  std::optional<Candidate> best;
  for (std::uint32_t peer = 0; peer < assignment_.size(); ++peer) {
    const std::uint32_t from = assignment_[peer];
    if (from == weak || from == kIdle) {
      continue;
    }
    offer({.peer = peer,
           .weak = weak,
           .other = from,
           .weak_rate = sums_[weak] + rates_.rate(peer, weak),
           .other_rate = sums_[from] - rates_.rate(peer, from)},
          best);
  }
  return best;
}

std::optional<StageSearch::Candidate> StageSearch::best_swap(std::uint32_t weak) {
  std::vector<std::uint32_t> servers;
  for (std::uint32_t peer = 0; peer < assignment_.size(); ++peer) {
    if (assignment_[peer] == weak) {
      servers.push_back(peer);
    }
  }
  spend(servers.size() * assignment_.size());
  std::optional<Candidate> best;
  for (std::uint32_t peer = 0; peer < assignment_.size(); ++peer) {
    const std::uint32_t from = assignment_[peer];
    if (from == weak || from == kIdle) {
      continue;
    }
    const Rate gained = rates_.rate(peer, weak);
    const Rate left = sums_[from] - rates_.rate(peer, from);
    for (const std::uint32_t partner : servers) {
      const Rate given = rates_.rate(partner, from);
      // Most pairs end here: the weak stage would not gain, or the other one would be as weak.
      if (rates_.rate(partner, weak) >= gained || left + given <= sums_[weak]) {
        continue;
      }
      offer({.peer = peer,
             .partner = partner,
             .weak = weak,
             .other = from,
             .weak_rate = sums_[weak] + gained - rates_.rate(partner, weak),
             .other_rate = left + given},
            best);
    }
  }
  return best;
}

}  // namespace hobnob
