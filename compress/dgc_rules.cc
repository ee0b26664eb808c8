#include "compress/dgc_rules.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

namespace hobnob {

namespace {

constexpr int kAdaptations = 10;

// The magnitude that as large a share of the sample reaches as k is of all; zeros and what cannot
// be sent do not count.
float sampled_threshold(const Delta& delta, std::size_t k, std::uint64_t start) {
  const std::size_t count = delta.count();
  const std::size_t wanted = std::min(count, std::max((count + 99) / 100, 2 * count / k));
  // Odd, so as not to keep step with rows of a matrix.
  const std::size_t stride = (count / wanted - 1) | 1U;
  std::vector<std::uint32_t> sample;
  std::size_t sampled = 0;
  for (std::size_t at = start % stride; at < count; at += stride, ++sampled) {
    const std::uint32_t magnitude = element::magnitude_bits(delta.at(at));
    if (magnitude > 0 && magnitude < element::kInt8Poison) {
      sample.push_back(magnitude);
    }
  }
  const std::size_t rank = (k * sampled + count - 1) / count;
  if (sample.size() <= rank) {
    return sample.empty() ? 0.0F : element::float_of(*std::ranges::min_element(sample));
  }
  const auto last = sample.begin() + static_cast<std::ptrdiff_t>(rank - 1);
  std::ranges::nth_element(sample, last, std::greater{});
  return element::float_of(*last);
}

}  // namespace

ChosenValues select_dgc(const Delta& delta, std::size_t k, std::uint64_t start) {
  k = std::min(k, delta.count());
  if (k == 0) {
    return select_top_k(delta, 0);
  }
  const std::size_t limit = dgc_limit(k);
  float threshold = sampled_threshold(delta, k, start);
  for (int adaptation = 0; adaptation <= kAdaptations; ++adaptation) {
    // A zero is not sent, and of a threshold without end nothing is left.
    const std::uint32_t bits = std::clamp(element::bits_of(threshold), 1U, element::kInt8Poison);
    auto chosen = collect(delta, {.threshold = bits}, limit);
    if (!chosen) {
      threshold = element::mul(threshold, 1.3F);
    } else if (10 * chosen->count() < 8 * k) {
      threshold = element::mul(threshold, 0.8F);
    } else {
      return std::move(*chosen);
    }
  }
  return select_top_k(delta, k);
}

double dgc_density(double density, std::size_t epoch, std::size_t warmup_epochs) {
  if (epoch >= warmup_epochs) {
    return density;
  }
  return std::pow(density, static_cast<double>(epoch + 1) / static_cast<double>(warmup_epochs + 1));
}

void clear_marked(std::span<const std::uint64_t> mask, Vec target) {
  HOBNOB_CHECK(mask.size() == (target.count() + 63) / 64, "a mask of another length");
  const auto clear = [&]<typename T>(std::span<T> values) {
    for (std::size_t word = 0; word < mask.size(); ++word) {
      for (std::uint64_t left = mask[word]; left != 0; left &= left - 1) {
        values[word * 64 + static_cast<std::size_t>(std::countr_zero(left))] = T{0};
      }
    }
  };
  if (target.type() == DType::kFloat32) {
    clear(target.as<float>());
  } else {
    clear(target.as<double>());
  }
}

}  // namespace hobnob
