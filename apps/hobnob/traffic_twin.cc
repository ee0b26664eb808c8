#include "apps/hobnob/traffic_twin.h"

#include <algorithm>
#include <cstring>

namespace hobnob {

namespace {

constexpr std::size_t kChunk = 4096;  // values; stays in the first cache

std::uint64_t fold(ByteSpan bytes) {
  const std::size_t words = bytes.size() / sizeof(std::uint64_t);
  std::uint64_t sum = 0;
  for (std::size_t k = 0; k < words; ++k) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + k * sizeof word, sizeof word);
    sum ^= word;
  }
  for (const std::byte each : bytes.subspan(words * sizeof(std::uint64_t))) {
    sum ^= static_cast<std::uint64_t>(each);
  }
  return sum;
}

// Part `index` of `parts` equal ones.
template <typename T>
std::span<T> part(std::span<T> whole, std::size_t index, std::size_t parts) {
  const std::size_t each = (whole.size() + parts - 1) / parts;
  const std::size_t begin = std::min(index * each, whole.size());
  return whole.subspan(begin, std::min(each, whole.size() - begin));
}

// |state| stays below |values| or below 2.
void update(std::span<const float> values, std::span<float> state, std::uint64_t sum) {
  float* const to = state.data();
  if (values.empty()) {
    const float step = (sum & 1U) != 0 ? 1.0F : -1.0F;
    for (std::size_t k = 0; k < state.size(); ++k) {
      to[k] = to[k] * 0.5F + step;
    }
    return;
  }
  const float* const from = values.data();
  for (std::size_t k = 0; k < state.size(); ++k) {
    to[k] = (from[k] - to[k]) * 0.5F;
  }
}

}  // namespace

double Traffic::bytes() const {
  std::size_t sum = values.size_bytes() + 2 * state.size_bytes() + out.size();
  for (const ByteSpan& message : in) {
    sum += message.size();
  }
  return static_cast<double>(sum);
}

std::uint64_t run_twin(const Traffic& traffic) {
  const std::size_t count = std::max(traffic.values.size(), traffic.state.size());
  const std::size_t chunks = (count + kChunk - 1) / kChunk;
  std::uint64_t all = 0;
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    const auto values = part(traffic.values, chunk, chunks);
    const auto state = part(traffic.state, chunk, chunks);
    std::uint64_t sum = 0;
    for (const ByteSpan& message : traffic.in) {
      sum ^= fold(part(message, chunk, chunks));
    }
    if (state.empty()) {
      sum ^= fold(std::as_bytes(values));
    } else {
      update(values, state, sum);
      sum ^= static_cast<std::uint64_t>(state.front() > 0.0F);
    }
    const auto out = part(traffic.out, chunk, chunks);
    if (!out.empty()) {
      std::memset(out.data(), static_cast<int>(sum & 0xffU), out.size());
    }
    all ^= sum;
  }
  return all;
}

}  // namespace hobnob
