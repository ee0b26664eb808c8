#include "compress/quantizer.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "compress/element_rules.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compress/quantizer.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "compress/bytes-inl.h"

#ifndef HOBNOB_COMPRESS_QUANTIZER_SHARED_
#define HOBNOB_COMPRESS_QUANTIZER_SHARED_

namespace hobnob::quantizer {

constexpr std::size_t kRun = level_rules::kRun;

struct Rule {
  float inverse = 0.0F;
  float rounding = 0.5F;
  std::uint8_t top = 0;
};

// Four counters a symbol, so that one need not wait for the last: of each value, 2^40 and its
// magnitude in 256ths of a step (without meaning for the escape).
using Counters = std::array<std::array<std::uint64_t, kRansSymbols>, 4>;

}  // namespace hobnob::quantizer

#endif  // HOBNOB_COMPRESS_QUANTIZER_SHARED_

HWY_BEFORE_NAMESPACE();

namespace hobnob {
namespace HWY_NAMESPACE {

using quantizer::kRun;

// Magnitudes beyond 2^31 give any integer beyond the levels.
HWY_INLINE Ints truncated(Floats values) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  return Ints{_mm512_cvttps_epi32(values.raw)};
#elif HWY_TARGET == HWY_AVX2
  return Ints{_mm256_cvttps_epi32(values.raw)};
#else
  return hn::ConvertTo(IntTag(), values);
#endif
}

// The symbols of a run.
HWY_INLINE void quantize_run(const float* HWY_RESTRICT d,
                             const quantizer::Rule& rule,
                             std::uint8_t* HWY_RESTRICT symbols) {
  const FloatTag tag;
  const auto inverse = hn::Set(tag, rule.inverse);
  const auto rounding = hn::Set(tag, rule.rounding);
  const auto sign = hn::SignBit(tag);
  // Levels, cut to a byte.
  store_joined<kRun>(
      [&](std::size_t k) HWY_ATTR {
        const auto steps = hn::Mul(hn::LoadU(tag, d + k), inverse);
        return truncated(hn::Add(steps, hn::Or(hn::And(steps, sign), rounding)));
      },
      reinterpret_cast<std::byte*>(symbols));
  const hn::CappedTag<std::uint8_t, kRun> bytes;
  const auto top = hn::Set(bytes, rule.top);
  const auto span = hn::Add(top, top);
  const auto middle = hn::Set(bytes, static_cast<std::uint8_t>(kMaxLevel));
  for (std::size_t k = 0; k < kRun; k += hn::Lanes(bytes)) {
    const auto level = hn::LoadU(bytes, symbols + k);
    const auto is_beyond = hn::Gt(hn::Add(level, top), span);
    hn::StoreU(hn::IfThenElse(is_beyond, hn::Set(bytes, kEscape), hn::Add(level, middle)), bytes,
               symbols + k);
  }
}

// d and symbols (count,), whole runs.
void quantize_runs(const float* HWY_RESTRICT d,
                   std::size_t count,
                   const quantizer::Rule& rule,
                   std::uint8_t* HWY_RESTRICT symbols) {
  for (std::size_t k = 0; k < count; k += kRun) {
    quantize_run(d + k, rule, symbols + k);
  }
}

// Of a run of d.
void count_run(const float* HWY_RESTRICT d,
               const quantizer::Rule& rule,
               quantizer::Counters& counters) {
  HWY_ALIGN std::uint8_t symbols[kRun];
  HWY_ALIGN std::int32_t parts[kRun];
  quantize_run(d, rule, symbols);
  const FloatTag tag;
  const auto inverse = hn::Set(tag, rule.inverse);
  for (std::size_t k = 0; k < kRun; k += hn::Lanes(tag)) {
    const auto steps = hn::Mul(hn::Abs(hn::LoadU(tag, d + k)), inverse);
    // The limit is beyond the largest level: only an escape meets it.
    const auto part = hn::Min(hn::Mul(steps, hn::Set(tag, 256.0F)), hn::Set(tag, 8192.0F));
    hn::Store(hn::NearestInt(part), IntTag(), parts + k);
  }
  for (std::size_t k = 0; k < kRun; ++k) {
    counters[k % 4][symbols[k]] += (std::uint64_t{1} << 40U) | static_cast<std::uint32_t>(parts[k]);
  }
}

// Of integers below 2^18: exact, as long as the sum stays below 2^53.
double sum_of_fixed_squares(const float* HWY_RESTRICT d, std::size_t count, float to_fixed) {
  std::size_t k = 0;
  double result = 0.0;
#if HWY_TARGET != HWY_SCALAR
  const FloatTag tag;
  const hn::Repartition<std::int64_t, IntTag> longs;
  const hn::Repartition<std::uint64_t, IntTag> words;
  const auto factor = hn::Set(tag, to_fixed);
  auto even = hn::Zero(longs);
  auto odd = hn::Zero(longs);
  for (; k + hn::Lanes(tag) <= count; k += hn::Lanes(tag)) {
    const auto fixed = hn::NearestInt(hn::Mul(hn::LoadU(tag, d + k), factor));
    const auto upper = hn::BitCast(IntTag(), hn::ShiftRight<32>(hn::BitCast(words, fixed)));
    even = hn::Add(even, hn::MulEven(fixed, fixed));
    odd = hn::Add(odd, hn::MulEven(upper, upper));
  }
  result = static_cast<double>(hn::GetLane(hn::SumOfLanes(longs, hn::Add(even, odd))));
#endif
  for (; k < count; ++k) {
    const double single = element::nearest_int(element::mul(d[k], to_fixed));
    result += single * single;
  }
  return result;
}

// What each symbol decodes to.
class Values {
 public:
  HWY_INLINE explicit Values(const float* table)
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
      : low_(_mm512_loadu_ps(table)),
        high_(_mm512_loadu_ps(table + 16)){}
#else
      : table_(table) {
  }
#endif

        // Of as many symbols as a vector has lanes.
        HWY_INLINE Floats at(const std::uint8_t* symbols) const {
    const auto index =
        hn::PromoteTo(IntTag(), hn::LoadU(hn::Rebind<std::uint8_t, IntTag>(), symbols));
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
    return Floats{_mm512_permutex2var_ps(low_, index.raw, high_)};
#else
    return hn::GatherIndex(FloatTag(), table_, index);
#endif
  }

 private:
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  __m512 low_;
  __m512 high_;
#else
  const float* table_;
#endif
};

// values (count,) = table[symbols], or += it.
template <bool kAdds>
HWY_INLINE void look_up_with(const std::uint8_t* HWY_RESTRICT symbols,
                             const float* HWY_RESTRICT table,
                             float* HWY_RESTRICT values,
                             std::size_t count) {
  const FloatTag tag;
  const Values found(table);
  std::size_t k = 0;
  for (; k + hn::Lanes(tag) <= count; k += hn::Lanes(tag)) {
    auto value = found.at(symbols + k);
    if constexpr (kAdds) {
      value = hn::Add(hn::LoadU(tag, values + k), value);
    }
    hn::StoreU(value, tag, values + k);
  }
  for (; k < count; ++k) {
    values[k] = kAdds ? element::add(values[k], table[symbols[k]]) : table[symbols[k]];
  }
}

void look_up(const std::uint8_t* symbols, const float* table, float* values, std::size_t count) {
  look_up_with<false>(symbols, table, values, count);
}

void add_looked_up(const std::uint8_t* symbols,
                   const float* table,
                   float* values,
                   std::size_t count) {
  look_up_with<true>(symbols, table, values, count);
}

// The first place from `begin` on whose run of 64 symbols has an escape; `count` when none has.
// Symbols (count,), `begin` and `count` whole runs.
std::size_t run_with_escape(const std::uint8_t* symbols, std::size_t begin, std::size_t count) {
  const hn::CappedTag<std::uint8_t, kRun> bytes;
  const auto escape = hn::Set(bytes, kEscape);
  for (std::size_t k = begin; k < count; k += hn::Lanes(bytes)) {
    if (!hn::AllFalse(bytes, hn::Eq(hn::LoadU(bytes, symbols + k), escape))) {
      return k / kRun * kRun;
    }
  }
  return count;
}

}  // namespace HWY_NAMESPACE
}  // namespace hobnob

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace hobnob {

HWY_EXPORT(quantize_runs);
HWY_EXPORT(count_run);
HWY_EXPORT(look_up);
HWY_EXPORT(add_looked_up);
HWY_EXPORT(run_with_escape);
HWY_EXPORT(sum_of_fixed_squares);

namespace {

using level_rules::level_of;
using quantizer::kRun;

constexpr std::size_t whole_runs(std::size_t count) {
  return count / kRun * kRun;
}

level_rules::LevelCounts count_levels(std::span<const float> d, float inverse, float rounding) {
  quantizer::Counters counters{};
  const std::size_t size = level_rules::sample_size(d.size());
  const quantizer::Rule rule{inverse, rounding, static_cast<std::uint8_t>(kMaxLevel)};
  for (std::size_t i = 0; i < whole_runs(size); i += kRun) {
    HWY_DYNAMIC_DISPATCH(count_run)
    (d.data() + level_rules::sample_index(i, d.size()), rule, counters);
  }
  level_rules::LevelCounts counts;
  for (std::uint32_t symbol = 0; symbol < kRansSymbols; ++symbol) {
    std::uint64_t sum = 0;
    for (const auto& of_symbols : counters) {
      sum += of_symbols[symbol];
    }
    counts.symbols[symbol] = static_cast<std::uint32_t>(sum >> 40U);
    if (symbol != kEscape) {
      const auto level = std::abs(static_cast<std::int32_t>(symbol) - kMaxLevel);
      counts.sums[static_cast<std::size_t>(level)] += sum & ((std::uint64_t{1} << 40U) - 1);
    }
  }
  for (std::size_t i = whole_runs(size); i < size; ++i) {
    level_rules::count(d[level_rules::sample_index(i, d.size())], inverse, rounding, counts);
  }
  return counts;
}

// each(k) for the places of escapes, in order.
template <typename Each>
void for_each_escape(std::span<const std::uint8_t> symbols, Each each) {
  const std::size_t whole = whole_runs(symbols.size());
  const auto in = [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      if (symbols[k] == kEscape) {
        each(k);
      }
    }
  };
  for (std::size_t run = 0; run < whole; run += kRun) {
    run = HWY_DYNAMIC_DISPATCH(run_with_escape)(symbols.data(), run, whole);
    in(run, std::min(run + kRun, whole));
  }
  in(whole, symbols.size());
}

using ValueTable = std::array<float, kRansSymbols>;

// The escape's is 0.
ValueTable values_of(const LevelModel& model) {
  ValueTable table{};
  for (std::uint32_t symbol = 0; symbol < kEscape; ++symbol) {
    table[symbol] = level_rules::value_of(model, symbol);
  }
  return table;
}

// each(k, value) for as many escapes as there are.
template <typename Each>
void for_each_value(std::span<const std::uint8_t> symbols,
                    const LevelModel& model,
                    std::span<const std::int32_t> escapes,
                    Each each) {
  if (escapes.empty()) {
    return;
  }
  std::size_t next = 0;
  for_each_escape(symbols, [&](std::size_t k) {
    if (next < escapes.size()) {
      each(k, element::mul(static_cast<float>(escapes[next++]), model.step));
    }
  });
}

}  // namespace

LevelModel fit_levels(std::span<const float> d, std::uint32_t largest, const LevelRule& rule) {
  const float to_fixed =
      element::fixed_point(std::max(largest, element::kTinyBlock), level_rules::kRmsBits);
  const double sum = HWY_DYNAMIC_DISPATCH(sum_of_fixed_squares)(d.data(), d.size(), to_fixed);
  const float step = level_rules::step_of(sum, d.size(), largest, rule.step);
  if (step == 0.0F) {
    return {};
  }
  return level_rules::model_of(step, count_levels(d, element::divide(1.0F, step), rule.rounding));
}

void quantize(std::span<const float> d,
              const LevelModel& model,
              float rounding,
              std::span<std::uint8_t> symbols,
              std::vector<std::int32_t>& escapes) {
  const quantizer::Rule rule{element::divide(1.0F, model.step), rounding,
                             static_cast<std::uint8_t>(model.top)};
  const std::size_t whole = whole_runs(d.size());
  HWY_DYNAMIC_DISPATCH(quantize_runs)(d.data(), whole, rule, symbols.data());
  for (std::size_t k = whole; k < d.size(); ++k) {
    symbols[k] = level_rules::symbol_of(level_of(d[k], rule.inverse, rounding), model.top);
  }
  for_each_escape(
      symbols, [&](std::size_t k) { escapes.push_back(level_of(d[k], rule.inverse, rounding)); });
}

void dequantize(std::span<const std::uint8_t> symbols,
                const LevelModel& model,
                std::span<const std::int32_t> escapes,
                std::span<float> values) {
  const ValueTable table = values_of(model);
  HWY_DYNAMIC_DISPATCH(look_up)(symbols.data(), table.data(), values.data(), symbols.size());
  for_each_value(symbols, model, escapes, [&](std::size_t k, float value) { values[k] = value; });
}

void add_dequantized(std::span<const std::uint8_t> symbols,
                     const LevelModel& model,
                     std::span<const std::int32_t> escapes,
                     float factor,
                     std::span<float> into) {
  ValueTable table = values_of(model);
  for (float& value : table) {
    value = element::mul(factor, value);
  }
  HWY_DYNAMIC_DISPATCH(add_looked_up)(symbols.data(), table.data(), into.data(), symbols.size());
  for_each_value(symbols, model, escapes, [&](std::size_t k, float value) {
    into[k] = element::add_scaled(into[k], factor, value);
  });
}

}  // namespace hobnob

#endif  // HWY_ONCE
