// What lost messages do to the mean of all peers (topology.md section 2.2): naive substitution
// moves it, differences that both ends apply exactly once do not, however late.

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <numeric>

#include "tests/topology/topology_fixture.h"

namespace hobnob {
namespace {

constexpr std::size_t kPeers = 100;
constexpr std::uint64_t kRounds = 40;  // consensus is at 1e-6 then

std::vector<double> start(std::uint64_t seed) {
  Rng rng({.seed = seed, .stream = 1});
  std::vector<double> x(kPeers);
  for (double& each : x) {
    each = rng.normal();
  }
  return x;
}

double mean(const std::vector<double>& x) {
  return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

// A peer that gets nothing keeps its own value; its partner may have got its message.
double naive_bias(double loss, std::uint64_t seed) {
  const auto schedule = make_schedule({.kind = "trie-pairs", .seed = seed});
  const MembershipView view(random_peers(kPeers, seed));
  std::vector<double> x = start(seed);
  const double before = mean(x);
  Rng rng({.seed = seed, .stream = 2});
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    const std::vector<double> sent = x;
    const auto plans = schedule->plans(view, 0, round);
    for (std::uint32_t self = 0; self < kPeers; ++self) {
      for (const Exchange& each : plans[self].partners) {
        if (rng.uniform() >= loss) {
          x[self] += each.in.value() * (sent[each.peer] - sent[self]);
        }
      }
    }
  }
  return mean(x) - before;
}

// Both ends apply the difference of what they sent, once; a lost message comes some rounds later.
double delta_bias(double loss, std::uint64_t seed) {
  struct Late {
    std::uint64_t due = 0;
    std::uint32_t peer = 0;
    double flow = 0.0;
  };

  const auto schedule = make_schedule({.kind = "trie-pairs", .seed = seed});
  const MembershipView view(random_peers(kPeers, seed));
  std::vector<double> x = start(seed);
  const double before = mean(x);
  Rng rng({.seed = seed, .stream = 3});
  std::deque<Late> late;
  for (std::uint64_t round = 0; round < kRounds + 40; ++round) {
    const std::vector<double> sent = x;
    if (round < kRounds) {
      const auto plans = schedule->plans(view, 0, round);
      for (std::uint32_t self = 0; self < kPeers; ++self) {
        for (const Exchange& each : plans[self].partners) {
          const double flow = each.in.value() * (sent[each.peer] - sent[self]);
          if (rng.uniform() >= loss) {
            x[self] += flow;
          } else {
            late.push_back({round + 1 + rng.below(30), self, flow});
          }
        }
      }
    }
    std::erase_if(late, [&](const Late& each) {
      if (each.due <= round) {
        x[each.peer] += each.flow;
      }
      return each.due <= round;
    });
  }
  EXPECT_TRUE(late.empty());
  return mean(x) - before;
}

TEST(Loss, MovesTheMeanOfANaiveSwarmAsTheorySays) {
  for (const double loss : {0.01, 0.05, 0.20}) {
    SCOPED_TRACE(testing::Message() << "loss " << loss << ", seeds 1 to 60");
    double squares = 0.0;
    constexpr std::uint64_t kSeeds = 60;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const double bias = naive_bias(loss, seed);
      squares += bias * bias;
    }
    const double theory = std::sqrt(loss / kPeers);  // of values with variance 1
    EXPECT_LT(std::sqrt(squares / kSeeds), 1.5 * theory);
    // No less either: naive gossip is what must not be shipped.
    EXPECT_GT(std::sqrt(squares / kSeeds), 0.5 * theory);
  }
}

TEST(Loss, LeavesTheMeanAloneWhereDifferencesAreAppliedOnce) {
  for (const double loss : {0.01, 0.05, 0.20}) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      SCOPED_TRACE(testing::Message() << "loss " << loss << ", seed " << seed);
      EXPECT_LT(std::abs(delta_bias(loss, seed)), 1e-12);
    }
  }
}

}  // namespace
}  // namespace hobnob
