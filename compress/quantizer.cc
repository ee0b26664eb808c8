#include "compress/quantizer.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "compress/fixed_rate_rules.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compress/quantizer.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "compress/bytes-inl.h"

#ifndef HOBNOB_COMPRESS_QUANTIZER_SHARED_
#define HOBNOB_COMPRESS_QUANTIZER_SHARED_

namespace hobnob::quantizer {

struct Task {
  const float* d = nullptr;
  std::size_t count = 0;
  float inverse = 0.0F;
  float rounding = 0.5F;
  std::int32_t top = 0;
  std::uint8_t* symbols = nullptr;
};

}  // namespace hobnob::quantizer

#endif  // HOBNOB_COMPRESS_QUANTIZER_SHARED_

HWY_BEFORE_NAMESPACE();

namespace hobnob {
namespace HWY_NAMESPACE {

// The first count / 64 * 64 symbols; returns how many escapes are among them.
std::size_t quantize_runs(const quantizer::Task& task) {
  const FloatTag tag;
  const IntTag ints;
  const hn::Rebind<std::uint8_t, IntTag> bytes;
  const auto inverse = hn::Set(tag, task.inverse);
  const auto rounding = hn::Set(tag, task.rounding);
  const auto bound = hn::Set(tag, static_cast<float>(kMaxEscapedLevel));
  const auto top = hn::Set(ints, task.top);
  const auto middle = hn::Set(ints, kMaxLevel);
  const auto escape = hn::Set(ints, std::int32_t{kEscape});
  auto escapes = hn::Zero(ints);
  for (std::size_t k = 0; k + 64 <= task.count; k += 64) {
    for (std::size_t j = k; j < k + 64; j += hn::Lanes(tag)) {
      const auto value = hn::LoadU(tag, task.d + j);
      const auto steps = hn::Min(hn::Mul(hn::Abs(value), inverse), bound);
      const auto level = hn::ConvertTo(ints, hn::Add(steps, rounding));
      const auto sign = hn::BroadcastSignBit(hn::BitCast(ints, value));
      const auto is_beyond = hn::Gt(level, top);
      // -level is (level ^ -1) + 1.
      const auto symbol = hn::Add(hn::Sub(hn::Xor(level, sign), sign), middle);
      hn::StoreU(hn::DemoteTo(bytes, hn::IfThenElse(is_beyond, escape, symbol)), bytes,
                 task.symbols + j);
      escapes = hn::Sub(escapes, hn::VecFromMask(ints, is_beyond));
    }
  }
  return static_cast<std::size_t>(hn::GetLane(hn::SumOfLanes(ints, escapes)));
}

std::uint32_t largest_magnitude(const float* HWY_RESTRICT d, std::size_t count) {
  const WordTag words;
  auto largest = hn::Zero(words);
  std::size_t k = 0;
  for (; k + hn::Lanes(words) <= count; k += hn::Lanes(words)) {
    const auto bits = hn::BitCast(words, hn::LoadU(FloatTag(), d + k));
    largest = hn::Max(largest, hn::And(bits, hn::Set(words, 0x7fffffffU)));
  }
  std::uint32_t result = hn::GetLane(hn::MaxOfLanes(words, largest));
  for (; k < count; ++k) {
    result = HWY_MAX(result, element::magnitude_bits(d[k]));
  }
  return result;
}

// Of integers: exact, as long as the sum stays below 2^53.
double sum_of_fixed_squares(const float* HWY_RESTRICT d, std::size_t count, float to_fixed) {
  const hn::CappedTag<double, 8> doubles;
  const hn::Rebind<float, decltype(doubles)> tag;
  const hn::Rebind<std::int32_t, decltype(doubles)> ints;
  const auto factor = hn::Set(tag, to_fixed);
  auto sum = hn::Zero(doubles);
  auto other = hn::Zero(doubles);
  const std::size_t lanes = hn::Lanes(doubles);
  const auto fixed = [&](std::size_t k) HWY_ATTR {
    return hn::PromoteTo(doubles,
                         hn::BitCast(ints, hn::NearestInt(hn::Mul(hn::LoadU(tag, d + k), factor))));
  };
  std::size_t k = 0;
  for (; k + 2 * lanes <= count; k += 2 * lanes) {
    const auto a = fixed(k);
    const auto b = fixed(k + lanes);
    sum = hn::Add(sum, hn::Mul(a, a));
    other = hn::Add(other, hn::Mul(b, b));
  }
  double result = hn::GetLane(hn::SumOfLanes(doubles, hn::Add(sum, other)));
  for (; k < count; ++k) {
    const double single = element::nearest_int(element::mul(d[k], to_fixed));
    result += single * single;
  }
  return result;
}

void look_up(const std::uint8_t* HWY_RESTRICT symbols,
             const float* HWY_RESTRICT table,
             float* HWY_RESTRICT values,
             std::size_t count) {
  const FloatTag tag;
  const IntTag ints;
  const hn::Rebind<std::uint8_t, IntTag> bytes;
  std::size_t k = 0;
  for (; k + hn::Lanes(tag) <= count; k += hn::Lanes(tag)) {
    const auto index = hn::PromoteTo(ints, hn::LoadU(bytes, symbols + k));
    hn::StoreU(hn::GatherIndex(tag, table, index), tag, values + k);
  }
  for (; k < count; ++k) {
    values[k] = table[symbols[k]];
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hobnob

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace hobnob {

HWY_EXPORT(quantize_runs);
HWY_EXPORT(look_up);
HWY_EXPORT(largest_magnitude);
HWY_EXPORT(sum_of_fixed_squares);

namespace {

using level_rules::level_of;

float step_of(std::span<const float> d, float rule_step) {
  const std::uint32_t largest = HWY_DYNAMIC_DISPATCH(largest_magnitude)(d.data(), d.size());
  const float to_fixed =
      element::fixed_point(std::max(largest, element::kTinyBlock), level_rules::kRmsBits);
  const double sum = HWY_DYNAMIC_DISPATCH(sum_of_fixed_squares)(d.data(), d.size(), to_fixed);
  return level_rules::step_of(sum, d.size(), largest, rule_step);
}

}  // namespace

LevelModel fit_levels(std::span<const float> d, const LevelRule& rule) {
  const float step = step_of(d, rule.step);
  if (step == 0.0F) {
    return {};
  }
  const float inverse = element::divide(1.0F, step);
  level_rules::LevelCounts counts;
  for (std::size_t i = 0; i < level_rules::sample_size(d.size()); ++i) {
    const float value = d[level_rules::sample_index(i, d.size())];
    const std::int32_t level = level_of(value, inverse, rule.rounding);
    const std::uint8_t symbol = level_rules::symbol_of(level, kMaxLevel);
    ++counts.symbols[symbol];
    if (symbol != kEscape) {
      counts.sums[static_cast<std::size_t>(std::abs(level))] +=
          level_rules::in_256ths(value, inverse);
    }
  }
  return level_rules::model_of(step, counts);
}

void quantize(std::span<const float> d,
              const LevelModel& model,
              float rounding,
              std::span<std::uint8_t> symbols,
              std::vector<std::int32_t>& escapes) {
  const float inverse = element::divide(1.0F, model.step);
  const auto top = static_cast<std::int32_t>(model.top);
  constexpr std::size_t kRun = 64;  // of quantize_runs()
  const std::size_t whole = d.size() / kRun * kRun;
  const std::size_t found = HWY_DYNAMIC_DISPATCH(quantize_runs)({.d = d.data(),
                                                                 .count = whole,
                                                                 .inverse = inverse,
                                                                 .rounding = rounding,
                                                                 .top = top,
                                                                 .symbols = symbols.data()});
  if (found > 0) {
    for (std::size_t k = 0; k < whole; ++k) {
      if (symbols[k] == kEscape) {
        escapes.push_back(level_of(d[k], inverse, rounding));
      }
    }
  }
  for (std::size_t k = whole; k < d.size(); ++k) {
    const std::int32_t level = level_of(d[k], inverse, rounding);
    symbols[k] = level_rules::symbol_of(level, model.top);
    if (symbols[k] == kEscape) {
      escapes.push_back(level);
    }
  }
}

void dequantize(std::span<const std::uint8_t> symbols,
                const LevelModel& model,
                std::span<const std::int32_t> escapes,
                std::span<float> values) {
  std::array<float, kRansSymbols> table{};
  for (std::uint32_t symbol = 0; symbol < kEscape; ++symbol) {
    table[symbol] = level_rules::value_of(model, symbol);
  }
  HWY_DYNAMIC_DISPATCH(look_up)(symbols.data(), table.data(), values.data(), symbols.size());
  std::size_t next = 0;
  for (std::size_t k = 0; k < symbols.size() && next < escapes.size(); ++k) {
    if (symbols[k] == kEscape) {
      values[k] = element::mul(static_cast<float>(escapes[next++]), model.step);
    }
  }
}

}  // namespace hobnob

#endif  // HWY_ONCE
