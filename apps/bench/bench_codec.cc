// What `hobnob codec bench` does not compare: the choice of the 1 % largest with std::nth_element
// and with reading the values once; the frame checksum with the rate at which an encoder makes
// bytes. bench_codec [--benchmark_filter=...]. The limits that the design sets: 25 times
// nth_element, half of the speed of reading, twice the encoder's rate.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <numeric>
#include <vector>

#include "compress/codec_config.h"
#include "compress/frame_hash.h"
#include "compress/top_k_select.h"
#include "runtime/base/rng.h"

namespace hobnob {
namespace {

constexpr std::size_t kCount = std::size_t{1} << 26U;
constexpr std::size_t kKept = kCount / 100;

const std::vector<float>& values() {
  static const std::vector<float> values = [] {
    std::vector<float> drawn(kCount);
    Rng rng({.seed = 1, .stream = 1});
    std::ranges::generate(drawn, [&] { return static_cast<float>(rng.normal()); });
    return drawn;
  }();
  return values;
}

void set_values(benchmark::State& state) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kCount));
}

void set_bytes(benchmark::State& state, std::size_t bytes) {
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
}

void read(benchmark::State& state) {
  const auto* words = reinterpret_cast<const std::uint64_t*>(values().data());
  for (auto _ : state) {
    benchmark::DoNotOptimize(std::accumulate(words, words + kCount / 2, std::uint64_t{0}));
  }
  set_values(state);
}

void nth_element(benchmark::State& state) {
  std::vector<std::uint32_t> magnitudes(kCount);
  for (auto _ : state) {
    std::ranges::transform(values(), magnitudes.begin(), element::magnitude_bits);
    const auto last = magnitudes.begin() + static_cast<std::ptrdiff_t>(kKept - 1);
    std::ranges::nth_element(magnitudes, last, std::greater{});
    benchmark::DoNotOptimize(*last);
  }
  set_values(state);
}

void top_k(benchmark::State& state) {
  const Delta delta{ConstVec(std::span<const float>(values()))};
  for (auto _ : state) {
    benchmark::DoNotOptimize(select_top_k(delta, kKept));
  }
  set_values(state);
}

// Bytes a second that an encoder makes, and that the checksum takes.
void encode(benchmark::State& state) {
  const auto codec = make_codec(CodecConfig{.kind = "int8"});
  Bytes out;
  for (auto _ : state) {
    out.clear();
    codec->encode(std::span<const float>(values()), {}, out);
  }
  set_bytes(state, out.size());
}

void checksum(benchmark::State& state) {
  const ByteSpan frame = std::as_bytes(std::span(values())).first(65536 + 2 * 256);
  for (auto _ : state) {
    benchmark::DoNotOptimize(frame_hash(frame, 1));
  }
  set_bytes(state, frame.size());
}

}  // namespace
}  // namespace hobnob

int main(int argc, char** argv) {
  using benchmark::RegisterBenchmark;
  RegisterBenchmark("read", hobnob::read)->Unit(benchmark::kMillisecond);
  RegisterBenchmark("nth_element", hobnob::nth_element)->Unit(benchmark::kMillisecond);
  RegisterBenchmark("top-k", hobnob::top_k)->Unit(benchmark::kMillisecond);
  RegisterBenchmark("int8 encode", hobnob::encode)->Unit(benchmark::kMillisecond);
  RegisterBenchmark("checksum", hobnob::checksum);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return 2;
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
