#include "topology/verify.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/base/hash.h"
#include "runtime/base/result.h"
#include "topology/ceca.h"
#include "topology/exact_average.h"
#include "topology/plan_parts.h"
#include "topology/schedule.h"

namespace hobnob {

namespace {

// Ids 1, 2, ... as the golden vectors have them.
MembershipView ids(const std::vector<std::uint64_t>& numbers) {
  std::vector<PeerId> peers;
  for (const std::uint64_t number : numbers) {
    peers.push_back({.high = 0, .low = number});
  }
  return MembershipView(std::move(peers));
}

// Empty: all is well.
using Problem = std::string;

Check judge(std::string name, const Problem& problem, std::string detail) {
  return {.name = std::move(name),
          .passed = problem.empty(),
          .detail = problem.empty() ? std::move(detail) : problem};
}

Check check_hashes() {
  struct Golden {
    std::uint64_t got;
    std::uint64_t wanted;
  };

  Problem problem;
  for (const Golden& each : {Golden{mix64(0), 0xe220a8397b1dcdaf},
                             {mix64(1), 0x910a2dec89025cc1},
                             {hash3(3, 0, 1), 0x2c184487f9c4e1a6},
                             {hash3(3, 0, 2), 0xca63fb83beff1c73},
                             {hash3(3, 1, 1), 0x7354b31185dbf0c7}}) {
    if (each.got != each.wanted) {
      problem = format("got %016llx instead of %016llx", static_cast<unsigned long long>(each.got),
                       static_cast<unsigned long long>(each.wanted));
    }
  }
  return judge("hash: golden vectors", problem, "5 values of mix64 and hash3");
}

// {1,3},{2,4}: the cliques of a round, by least id.
std::string cliques(const TopologyConfig& config, const MembershipView& view, std::uint64_t round) {
  std::string text;
  const auto plans = make_schedule(config)->plans(view, 0, round);
  for (std::uint32_t self = 0; self < plans.size(); ++self) {
    const auto& partners = plans[self].partners;
    if (partners.empty() || partners.front().peer < self) {
      continue;
    }
    text += format("%s{%llu", text.empty() ? "" : ",",
                   static_cast<unsigned long long>(view.at(self).low));
    for (const Exchange& exchange : partners) {
      text += format(",%llu", static_cast<unsigned long long>(view.at(exchange.peer).low));
    }
    text += "}";
  }
  return text;
}

Check check_tries() {
  struct Golden {
    const char* kind;
    std::vector<std::uint64_t> ids;
    std::uint64_t round;
    const char* cliques;
  };

  const std::vector<Golden> all{
      {"trie-pairs", {1, 2, 3, 4, 5, 6, 7, 8}, 0, "{1,3},{2,4},{5,8},{6,7}"},
      {"trie-pairs", {1, 2, 3, 4, 5, 6, 7, 8}, 1, "{1,6},{2,8},{3,7},{4,5}"},
      {"trie-pairs", {1, 2, 3, 4, 5, 6, 7}, 0, "{1,3},{2,4},{6,7}"},
      {"trie-pairs", {1, 2, 3, 4, 5, 6, 7}, 1, "{2,6},{3,7},{4,5}"},
      {"trie-pairs", {1, 2, 3, 5, 6, 7, 8}, 0, "{1,3},{5,8},{6,7}"},
      {"trie-groups", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 0, "{1,3,6,7},{2,4,5,8},{9,10}"},
  };
  Problem problem;
  for (const Golden& each : all) {
    const std::string got =
        cliques({.kind = each.kind, .seed = 3, .g = 4}, ids(each.ids), each.round);
    if (got != each.cliques) {
      problem = format("%s, %zu ids, round %llu: got %s instead of %s", each.kind, each.ids.size(),
                       static_cast<unsigned long long>(each.round), got.c_str(), each.cliques);
    }
  }
  return judge("trie: golden vectors", problem, format("%zu rounds", all.size()));
}

bool is_exact(const Schedule& schedule, std::uint32_t size, std::uint64_t phase) {
  const MembershipView view = MembershipView::numbered(size);
  std::vector<MixingMatrix> rounds;
  // One peer has nothing to do; a round of nothing still is J.
  const std::uint32_t period = std::max(1U, schedule.exact_period(size).value_or(0));
  for (std::uint64_t round = phase; round < phase + period; ++round) {
    rounds.push_back(schedule.matrix(view, 0, round));
  }
  return averages_exactly(rounds);
}

// period <= 2 log_base n + 2, that is base^(period - 2) <= n^2.
bool is_within_bound(std::uint32_t period, std::uint32_t base, std::uint64_t n) {
  std::uint64_t power = 1;
  for (std::uint32_t k = 2; k < period; ++k) {
    power *= base;
    if (power > n * n) {
      return false;
    }
  }
  return true;
}

Check check_base(std::uint32_t k, std::uint32_t peers) {
  const auto schedule = make_schedule({.kind = "base-k", .k = k});
  Problem problem;
  std::uint32_t longest = 0;
  for (std::uint32_t n = 1; n <= peers && problem.empty(); ++n) {
    const std::uint32_t period = *schedule->exact_period(n);
    longest = std::max(longest, period);
    if (!is_within_bound(period, k + 1, n)) {
      problem = format("n %u: %u rounds are above 2 log n + 2", n, period);
    } else if (!is_exact(*schedule, n, 0)) {
      problem = format("n %u: %u rounds do not multiply to J", n, period);
    }
  }
  return judge(format("Base-%u: exact for n = 1..%u", k + 1, peers), problem,
               format("at most %u rounds, never above 2 log_%u n + 2", longest, k + 1));
}

struct Period {
  std::uint32_t peers;
  std::uint32_t ceca;
  std::uint32_t base[5];
};

constexpr std::uint32_t kBases[5] = {2, 3, 4, 5, 8};
constexpr Period kPeriods[] = {
    {3, 2, {3, 1, 1, 1, 1}},       {5, 3, {5, 3, 3, 1, 1}},        {6, 3, {4, 2, 2, 2, 1}},
    {7, 3, {5, 4, 3, 3, 1}},       {8, 3, {3, 3, 2, 2, 1}},        {10, 4, {6, 4, 4, 2, 2}},
    {12, 4, {5, 3, 2, 2, 2}},      {16, 4, {4, 4, 2, 2, 2}},       {17, 5, {9, 5, 5, 4, 4}},
    {25, 5, {9, 6, 5, 2, 2}},      {31, 5, {9, 7, 5, 5, 4}},       {33, 6, {11, 6, 5, 5, 4}},
    {48, 6, {7, 5, 3, 3, 2}},      {64, 6, {6, 6, 3, 3, 2}},       {96, 7, {8, 6, 4, 4, 3}},
    {100, 7, {11, 8, 6, 3, 3}},    {127, 7, {13, 9, 7, 7, 5}},     {128, 7, {7, 7, 4, 4, 3}},
    {255, 8, {15, 10, 8, 6, 6}},   {256, 8, {8, 8, 4, 4, 3}},      {729, 10, {19, 6, 6, 6, 6}},
    {1000, 10, {16, 12, 9, 5, 4}}, {1023, 10, {19, 12, 10, 9, 7}}, {1024, 10, {10, 10, 5, 5, 4}},
};

Check check_periods() {
  Problem problem;
  for (const Period& row : kPeriods) {
    if (ceca_rounds(row.peers).size() != row.ceca) {
      problem = format("CECA, n %u: %zu rounds instead of %u", row.peers,
                       ceca_rounds(row.peers).size(), row.ceca);
    }
    for (std::size_t k = 0; k < std::size(kBases); ++k) {
      const auto schedule = make_schedule({.kind = "base-k", .k = kBases[k] - 1});
      const std::uint32_t period = *schedule->exact_period(row.peers);
      if (period != row.base[k]) {
        problem = format("Base-%u, n %u: %u rounds instead of %u", kBases[k], row.peers, period,
                         row.base[k]);
      }
    }
  }
  return judge("periods: CECA and Base-2, 3, 4, 5, 8", problem,
               format("%zu sizes from 3 to 1024", std::size(kPeriods)));
}

Check check_large(std::uint32_t peers) {
  Problem problem;
  std::string rounds;
  for (const std::uint32_t base : kBases) {
    const auto schedule = make_schedule({.kind = "base-k", .k = base - 1});
    rounds += format("%s%u", rounds.empty() ? "" : ", ", *schedule->exact_period(peers));
    if (!is_exact(*schedule, peers, 0)) {
      problem = format("Base-%u does not multiply to J", base);
    }
  }
  return judge(format("Base-2, 3, 4, 5, 8: exact at n = %u", peers), problem,
               "in " + rounds + " rounds");
}

Check check_ceca(std::uint32_t peers) {
  Problem problem;
  for (std::uint32_t n = 2; n <= peers && problem.empty(); ++n) {
    if (ceca_rounds(n).size() != ceil_log2(n) || !ceca_averages_exactly(n)) {
      problem = format("n %u: not exact in %u rounds", n, ceil_log2(n));
    }
  }
  return judge(format("CECA-2P: exact for n = 2..%u", peers), problem, "in ceil(log2 n) rounds");
}

Check check_one_peer(const char* kind, std::uint32_t peers) {
  const auto schedule = make_schedule({.kind = kind});
  Problem problem;
  for (std::uint32_t n = 2; n <= peers && problem.empty(); n *= 2) {
    const std::uint32_t m = ceil_log2(n);
    if (schedule->exact_period(n) != m) {
      problem = format("n %u: period is not %u", n, m);
    }
    for (std::uint32_t phase = 0; phase < m && problem.empty(); ++phase) {
      if (!is_exact(*schedule, n, phase)) {
        problem = format("n %u: not exact from phase %u", n, phase);
      }
    }
  }
  return judge(format("%s: exact at powers of 2 to %u", kind, peers), problem,
               "in log2 n rounds, from any phase");
}

}  // namespace

std::vector<Check> verify_topology(const VerifyOptions& options) {
  std::vector<Check> checks{check_hashes(), check_tries(), check_periods()};
  for (std::uint32_t k = 1; k <= options.base_k; ++k) {
    checks.push_back(check_base(k, options.base_peers));
  }
  for (const std::uint32_t peers : options.large_base) {
    checks.push_back(check_large(peers));
  }
  checks.push_back(check_ceca(options.ceca_peers));
  for (const char* kind : {"one-peer-exponential", "one-peer-hypercube"}) {
    checks.push_back(check_one_peer(kind, options.one_peer_peers));
  }
  return checks;
}

}  // namespace hobnob
