#include "compress/delta.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compress/delta.cc"
#include <hwy/foreach_target.h>  // before highway.h
#include <hwy/highway.h>

#include "compress/bytes-inl.h"

HWY_BEFORE_NAMESPACE();

namespace hobnob {
namespace HWY_NAMESPACE {

// Magnitude bits of value(k), value(k + lanes), ..., one of each vector, of the whole vectors of
// `count`; `done` is how many values those are.
template <typename Value>
HWY_INLINE std::uint32_t largest_of_vectors(std::size_t count, std::size_t& done, Value value) {
  const WordTag words;
  const std::size_t lanes = hn::Lanes(words);
  const auto magnitude = hn::Set(words, 0x7fffffffU);
  auto largest = hn::Zero(words);
  for (done = 0; done + lanes <= count; done += lanes) {
    largest = hn::Max(largest, hn::And(hn::BitCast(words, value(done)), magnitude));
  }
  return hn::GetLane(hn::MaxOfLanes(words, largest));
}

std::uint32_t largest_in(const float* values, std::size_t count) {
  std::size_t k = 0;
  std::uint32_t largest = largest_of_vectors(
      count, k, [&](std::size_t at) HWY_ATTR { return hn::LoadU(FloatTag(), values + at); });
  for (; k < count; ++k) {
    largest = HWY_MAX(largest, element::magnitude_bits(values[k]));
  }
  return largest;
}

// `hat` may be null.
std::uint32_t load_difference(const float* x,
                              const float* hat,
                              float* HWY_RESTRICT out,
                              std::size_t count) {
  const FloatTag tag;
  std::size_t k = 0;
  std::uint32_t largest = 0;
  if (hat == nullptr) {
    largest = largest_of_vectors(count, k, [&](std::size_t at) HWY_ATTR {
      const auto value = hn::LoadU(tag, x + at);
      hn::StoreU(value, tag, out + at);
      return value;
    });
  } else {
    largest = largest_of_vectors(count, k, [&](std::size_t at) HWY_ATTR {
      const auto value = hn::Sub(hn::LoadU(tag, x + at), hn::LoadU(tag, hat + at));
      hn::StoreU(value, tag, out + at);
      return value;
    });
  }
  for (; k < count; ++k) {
    out[k] = hat == nullptr ? x[k] : element::add(x[k], -hat[k]);
    largest = HWY_MAX(largest, element::magnitude_bits(out[k]));
  }
  return largest;
}

}  // namespace HWY_NAMESPACE
}  // namespace hobnob

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace hobnob {

HWY_EXPORT(largest_in);
HWY_EXPORT(load_difference);

std::uint32_t largest_magnitude(std::span<const float> values) {
  return HWY_DYNAMIC_DISPATCH(largest_in)(values.data(), values.size());
}

std::uint32_t Delta::load(std::size_t start, std::span<float> out) const {
  const float* hat = hat_ == nullptr ? nullptr : hat_ + start;
  return HWY_DYNAMIC_DISPATCH(load_difference)(x_ + start, hat, out.data(), out.size());
}

}  // namespace hobnob

#endif  // HWY_ONCE
