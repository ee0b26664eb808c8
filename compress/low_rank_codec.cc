#include "compress/low_rank_codec.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "compress/delta.h"
#include "compress/element_rules.h"
#include "compress/low_rank.h"
#include "compress/message.h"
#include "runtime/base/hash.h"

namespace hobnob {

namespace {

constexpr std::uint32_t kPoison = 0x6f800000U;  // 2^96
constexpr double kLargestSum = 0x1p120;         // of what a message may decode to

// Where the parameters are.
constexpr std::size_t kRankAt = message::kParametersAt;
constexpr std::size_t kColumnsAt = kRankAt + 4;

using Factors = LowRankCodec::Factors;

// Without messages.
Factors shape_of(std::size_t count, std::size_t rank, std::size_t columns) {
  const std::size_t rows = (count + columns - 1) / columns;
  return {.rank = std::min({rank, rows, columns}), .rows = rows, .columns = columns};
}

Factors shape_of(std::size_t count, const LowRankConfig& config) {
  if (count == 0) {
    return {};
  }
  const auto side = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(count))));
  const std::size_t columns = config.columns == 0 ? side : config.columns;
  return shape_of(count, config.rank,
                  std::min({columns, count, std::size_t{LowRankCodec::kMaxColumns}}));
}

void write_header(
    CodecId codec, std::size_t count, const Factors& shape, std::size_t total, std::byte* at) {
  message::Parameters parameters{};
  store_value(parameters.data(), static_cast<std::uint32_t>(shape.rank));
  store_value(parameters.data() + 4, static_cast<std::uint32_t>(shape.columns));
  message::write_varying_header(codec, count, parameters, total, at);
}

std::vector<float> decode(const Codec& codec, ByteSpan bytes, std::size_t values) {
  std::vector<float> into(values);
  HOBNOB_CHECK(codec.decode_add(bytes, 1.0, std::span<float>(into)).ok(),
               "a factor that passed check() was refused");
  return into;
}

double largest_of(const std::vector<float>& values) {
  return static_cast<double>(element::float_of(largest_magnitude(values)));
}

// into (rows x columns, the end cut off) += factor * P^T Q.
template <typename T>
void add_product(const Factors& shape,
                 std::span<const float> p,
                 std::span<const float> q,
                 T factor,
                 std::span<T> into) {
  std::vector<float> sums(shape.columns);
  for (std::size_t i = 0; i < shape.rows; ++i) {
    const auto row = into.subspan(i * shape.columns);
    const std::size_t count = std::min(shape.columns, row.size());
    std::ranges::fill(sums, 0.0F);
    for (std::size_t k = 0; k < shape.rank; ++k) {
      const float left = p[k * shape.rows + i];
      const float* right = q.data() + k * shape.columns;
      for (std::size_t j = 0; j < count; ++j) {
        sums[j] = element::add_scaled(sums[j], left, right[j]);
      }
    }
    for (std::size_t j = 0; j < count; ++j) {
      row[j] = element::add_scaled(row[j], factor, static_cast<T>(sums[j]));
    }
  }
}

// All values; blocks that cannot be sent are zeros. Returns how many.
std::size_t load(const Delta& delta, std::vector<float>& values) {
  values.resize(delta.count());
  std::size_t poisoned = 0;
  for (std::size_t at = 0; at < values.size(); at += message::kBlockCount) {
    const auto block =
        std::span(values).subspan(at, std::min(message::kBlockCount, values.size() - at));
    if (delta.load(at, block) >= kPoison) {
      ++poisoned;
      std::ranges::fill(block, 0.0F);
    }
  }
  return poisoned;
}

}  // namespace

LowRankCodec::LowRankCodec(CodecId id, const LowRankConfig& config, std::unique_ptr<Codec> factors)
    : id_(id), config_(config), factors_(std::move(factors)) {
  HOBNOB_CHECK(config.rank >= 1 && config.rank <= kMaxRank, "rank is not in 1 to 64");
  HOBNOB_CHECK(config.columns <= kMaxColumns, "more than 2^24 columns");
  HOBNOB_CHECK(factors_->traits().fixed_length, "factors of varying length");
}

CodecTraits LowRankCodec::traits() const {
  // Of a square of 2^20 values.
  const double share = 2.0 * config_.rank / 1024.0;
  return {.fixed_length = false,
          .nominal_bits = share * factors_->traits().nominal_bits,
          .carried = std::min(1.0, 0.01 * config_.rank)};
}

std::size_t LowRankCodec::factor_bytes(std::size_t values) const {
  return factors_->max_bytes(values, DType::kFloat32);
}

std::size_t LowRankCodec::max_bytes(std::size_t count, DType /*type*/) const {
  const Factors shape = shape_of(count, config_);
  return message::kHeaderBytes +
         (count == 0 ? 0 : factor_bytes(shape.p_values()) + factor_bytes(shape.q_values()));
}

std::size_t LowRankCodec::encode(ConstVec values, RngKey key, Bytes& out) const {
  return encode_delta(Delta(values), key, out);
}

std::size_t LowRankCodec::encode_difference(ConstVec values,
                                            ConstVec base,
                                            RngKey key,
                                            Bytes& out) const {
  return encode_delta(Delta(values, base), key, out);
}

std::size_t LowRankCodec::encode_delta(const Delta& delta, RngKey key, Bytes& out) const {
  constexpr std::uint64_t kPurpose = 0x6c6f772072616e6bULL;  // "low rank"
  std::vector<float> values;
  const std::size_t poisoned = load(delta, values);
  const bool is_zero = largest_magnitude(values) == 0;
  const Factors shape = is_zero ? Factors{} : shape_of(delta.count(), config_);
  const std::size_t begin = out.size();
  out.resize(begin + message::kHeaderBytes);
  if (!is_zero) {
    const Matrix matrix{values, shape.rows, shape.columns};
    const std::vector<float> p =
        left_factor(matrix, shape.rank, hash3(key.seed, key.stream, kPurpose));
    const std::size_t p_begin = out.size();
    factors_->encode(std::span<const float>(p), key, out);
    const std::vector<float> sent = decode(*factors_, ByteSpan(out).subspan(p_begin), p.size());
    const std::vector<float> q = right_factor(matrix, sent, shape.rank);
    factors_->encode(std::span<const float>(q), key, out);
  }
  write_header(id_, delta.count(), shape, out.size() - begin, out.data() + begin);
  return poisoned;
}

Result<Factors> LowRankCodec::split(ByteSpan bytes, std::size_t count) const {
  if (bytes.size() < message::kHeaderBytes) {
    return message::malformed("message shorter than a header");
  }
  const std::size_t rank = load_value<std::uint32_t>(bytes.data() + kRankAt);
  const std::size_t columns = load_value<std::uint32_t>(bytes.data() + kColumnsAt);
  if (rank == 0 && columns == 0 && bytes.size() == message::kHeaderBytes) {
    return Factors{};
  }
  if (rank == 0 || rank > kMaxRank || columns == 0 || columns > kMaxColumns || columns > count) {
    return message::malformed("rank or columns out of range");
  }
  Factors factors = shape_of(count, rank, columns);
  const std::size_t p_bytes = factor_bytes(factors.p_values());
  const std::size_t q_bytes = factor_bytes(factors.q_values());
  if (factors.rank != rank || bytes.size() != message::kHeaderBytes + p_bytes + q_bytes) {
    return message::malformed("factors of another length");
  }
  factors.p = bytes.subspan(message::kHeaderBytes, p_bytes);
  factors.q = bytes.subspan(message::kHeaderBytes + p_bytes);
  return factors;
}

Result<void> LowRankCodec::check(ByteSpan bytes, std::size_t count, DType /*type*/) const {
  const Result<Factors> split_message = split(bytes, count);
  if (!split_message.ok()) {
    return split_message.error();
  }
  const Factors& factors = split_message.value();
  std::array<std::byte, message::kHeaderBytes> expected;
  write_header(id_, count, factors, bytes.size(), expected.data());
  if (!std::ranges::equal(expected, bytes.first(message::kHeaderBytes))) {
    return message::malformed("header of another codec, count or version");
  }
  if (factors.rank == 0) {
    return {};
  }
  for (const auto& [part, values] :
       {std::pair(factors.p, factors.p_values()), std::pair(factors.q, factors.q_values())}) {
    const Result<void> checked = factors_->check(part, values, DType::kFloat32);
    if (!checked.ok()) {
      return checked.error();
    }
  }
  const double largest = largest_of(decode(*factors_, factors.p, factors.p_values())) *
                         largest_of(decode(*factors_, factors.q, factors.q_values()));
  if (!(largest * static_cast<double>(factors.rank) < kLargestSum)) {
    return message::malformed("a product of factors is too large");
  }
  return {};
}

void LowRankCodec::add_checked(std::span<const CodecPart> parts, Vec into) const {
  for (const CodecPart& part : parts) {
    const Factors factors = split(part.bytes, into.count()).value();
    if (factors.rank == 0) {
      continue;
    }
    const std::vector<float> p = decode(*factors_, factors.p, factors.p_values());
    const std::vector<float> q = decode(*factors_, factors.q, factors.q_values());
    if (into.type() == DType::kFloat32) {
      add_product(factors, p, q, static_cast<float>(part.scale), into.as<float>());
    } else {
      add_product(factors, p, q, part.scale, into.as<double>());
    }
  }
}

}  // namespace hobnob
