// libFuzzer over every decoder: codec_fuzzer tests/fuzz/corpus. A crash leaves crash-HASH behind;
// codec_fuzzer crash-HASH replays it, and so does codec_fuzz, which needs no clang.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tests/fuzz/fuzz_input.h"

extern "C" {

// libFuzzer's own mutations.
std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t limit);

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data,
                                    std::size_t size,
                                    std::size_t limit,
                                    unsigned seed);
}

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hobnob;
  if (const auto input = fuzz::parse(std::as_bytes(std::span(data, size)))) {
    fuzz::run(*input);
  }
  return 0;
}

// Half of the inputs are changed by libFuzzer, which knows what the code compares with, and then
// repaired; half by fuzz::mutate, which knows what a message is.
std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data,
                                    std::size_t size,
                                    std::size_t limit,
                                    unsigned seed) {
  using namespace hobnob;
  Rng rng({.seed = seed});
  const bool is_blind = rng.below(2) == 0;
  if (is_blind) {
    size = LLVMFuzzerMutate(data, size, limit);
  }
  auto input = fuzz::parse(std::as_bytes(std::span(data, size)));
  if (!input || limit < fuzz::kPrefixBytes) {
    return size;
  }
  if (!is_blind) {
    fuzz::mutate(*input, limit - fuzz::kPrefixBytes, rng);
  } else if (rng.below(8) != 0) {
    fuzz::repair(*input);
  }
  const Bytes changed = fuzz::to_bytes(*input);
  const std::size_t length = std::min(changed.size(), limit);
  std::memcpy(data, changed.data(), length);
  return length;
}
