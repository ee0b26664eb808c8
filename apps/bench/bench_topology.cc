// What a peer pays for its plan, and a person for an analysis: bench_topology
// [--benchmark_filter=...]. Axes: schedule (label), peers. The limits that the design sets: a trie
// plan at 1000 peers below 100 us, a plan at 100,000 below 20 ms, the gap of an expander of 1000
// below 5 ms.

#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "apps/hobnob/topology_spec.h"
#include "topology/rate_schedule.h"
#include "topology/spectrum.h"

namespace hobnob {
namespace {

std::unique_ptr<Schedule> schedule_of(const std::string& spec) {
  return make_schedule(parse_topology_spec(spec, "bench").value());
}

// One peer's own part of a round, a new round every time.
void plan(benchmark::State& state, const std::string& spec) {
  const auto peers = static_cast<std::uint32_t>(state.range(0));
  const MembershipView view = numbered_view(peers, "").value();
  const auto schedule = schedule_of(spec);
  std::uint64_t round = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        schedule->plan(view, static_cast<std::uint32_t>(round % peers), 0, round));
    ++round;
  }
}

void gap(benchmark::State& state, const std::string& spec) {
  const MembershipView view = numbered_view(static_cast<std::size_t>(state.range(0)), "").value();
  const auto schedule = schedule_of(spec);
  MixingSequence rounds = sequence_of(*schedule, view);
  rounds.at(0);  // the matrix is made once; its gap is what is measured
  for (auto _ : state) {
    benchmark::DoNotOptimize(contraction(rounds));
  }
}

// The plan that is timed is right: both ends name each other.
void check_mutual(const std::string& spec) {
  const MembershipView view = numbered_view(1000, "").value();
  const auto schedule = schedule_of(spec);
  for (std::uint32_t self = 0; self < view.size(); self += 37) {
    for (const Exchange& each : schedule->plan(view, self, 0, 5).partners) {
      const RoundPlan other = schedule->plan(view, each.peer, 0, 5);
      bool is_there = false;
      for (const Exchange& back : other.partners) {
        is_there = is_there || (back.peer == self && (back.in == each.out || each.in == each.out));
      }
      if (!is_there) {
        std::fprintf(stderr, "%s: the plans of %u and %u differ\n", spec.c_str(), self, each.peer);
        std::exit(1);
      }
    }
  }
}

}  // namespace
}  // namespace hobnob

int main(int argc, char** argv) {
  for (const char* spec :
       {"trie-pairs", "trie-groups:g=8", "hash-buckets:g=8", "two-level", "one-peer-exponential",
        "base-k:k=4", "grid", "round-robin", "random-matching", "equidyn-ou", "matcha",
        "expander:degree=8", "small-world", "erdos-renyi", "one-peer-exponential:relabel=true",
        "complete"}) {
    hobnob::check_mutual(spec);
    benchmark::RegisterBenchmark((std::string("plan/") + spec).c_str(), hobnob::plan, spec)
        ->Arg(1000)
        ->Arg(100'000)
        ->Unit(benchmark::kMicrosecond);
  }
  benchmark::RegisterBenchmark("gap/expander:degree=8", hobnob::gap, "expander:degree=8")
      ->Arg(1000)
      ->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("gap/ring", hobnob::gap, "ring")
      ->Arg(1000)
      ->Unit(benchmark::kMillisecond);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
