#include "compress/frame_hash.h"

#include <algorithm>
#include <cstring>

#include "compress/frame_hash_rules.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compress/frame_hash.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "compress/bytes-inl.h"

HWY_BEFORE_NAMESPACE();

namespace hobnob {
namespace HWY_NAMESPACE {

namespace rules = frame_hash_rules;

// Absorbs whole stripes of kLanes words.
void absorb_stripes(const std::byte* bytes, std::size_t stripes, std::uint32_t* lanes) {
  const WordTag d;
  const auto prime1 = hn::Set(d, rules::kPrime1);
  const auto prime2 = hn::Set(d, rules::kPrime2);
  // Four vectors at a time stay in registers over all stripes.
  const std::size_t step = hn::Lanes(d);
  const std::size_t group = 4 * step;
  const auto absorb = [&](auto lane, std::size_t stripe, std::size_t at) HWY_ATTR {
    const auto words = load_words(bytes + 4 * (stripe * rules::kLanes + at));
    const auto sum = hn::Add(lane, hn::Mul(words, prime2));
    return hn::Mul(hn::RotateRight<19>(sum), prime1);
  };
  for (std::size_t at = 0; at < rules::kLanes; at += group) {
    auto a = hn::LoadU(d, lanes + at);
    auto b = hn::LoadU(d, lanes + at + step);
    auto c = hn::LoadU(d, lanes + at + 2 * step);
    auto e = hn::LoadU(d, lanes + at + 3 * step);
    for (std::size_t stripe = 0; stripe < stripes; ++stripe) {
      a = absorb(a, stripe, at);
      b = absorb(b, stripe, at + step);
      c = absorb(c, stripe, at + 2 * step);
      e = absorb(e, stripe, at + 3 * step);
    }
    hn::StoreU(a, d, lanes + at);
    hn::StoreU(b, d, lanes + at + step);
    hn::StoreU(c, d, lanes + at + 2 * step);
    hn::StoreU(e, d, lanes + at + 3 * step);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hobnob

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace hobnob {

HWY_EXPORT(absorb_stripes);

std::uint64_t frame_hash(ByteSpan bytes, std::uint64_t seed) {
  namespace rules = frame_hash_rules;
  std::uint32_t lanes[rules::kLanes];
  for (std::uint32_t lane = 0; lane < rules::kLanes; ++lane) {
    lanes[lane] = rules::start(lane, seed);
  }
  constexpr std::size_t kStripe = 4 * rules::kLanes;
  const std::size_t whole = bytes.size() / kStripe;
  HWY_DYNAMIC_DISPATCH(absorb_stripes)(bytes.data(), whole, lanes);
  const ByteSpan rest = bytes.subspan(whole * kStripe);
  if (!rest.empty()) {
    std::byte last[kStripe] = {};
    std::memcpy(last, rest.data(), rest.size());
    HWY_DYNAMIC_DISPATCH(absorb_stripes)(last, 1, lanes);
  }
  std::uint64_t shares = 0;
  for (std::uint32_t k = 0; k < rules::kLanes / 2; ++k) {
    shares ^= rules::share(k, lanes[2 * k], lanes[2 * k + 1]);
  }
  return rules::finish(shares, bytes.size(), seed);
}

}  // namespace hobnob

#endif  // HWY_ONCE
