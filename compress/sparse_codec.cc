#include "compress/sparse_codec.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

#include "compress/dgc_rules.h"
#include "compress/element_rules.h"

namespace hobnob {

namespace {

constexpr std::size_t kBlock = message::kBlockCount;
constexpr std::size_t kMaxBlockEntries = 255;  // counts are u8

constexpr std::size_t groups_of(std::size_t entries) {
  return (entries + kBlock - 1) / kBlock;
}

// Where the parts of a body lie, for `blocks` blocks and `entries` values sent.
struct BodyShape {
  std::size_t scales_at = 0;
  std::size_t indices_at = 0;
  std::size_t values_at = 0;
  std::size_t bytes = 0;
};

constexpr BodyShape body_shape(std::size_t blocks, std::size_t entries) {
  BodyShape shape;
  shape.scales_at = blocks;
  shape.indices_at = shape.scales_at + 2 * groups_of(entries);
  shape.values_at = shape.indices_at + entries;
  shape.bytes = shape.values_at + entries;
  return shape;
}

constexpr std::size_t kMaxBody =
    body_shape(message::kFrameCount / kBlock, message::kFrameCount).bytes;

// One frame's values by block, at most 255 of each.
struct BlockEntries {
  std::vector<std::uint8_t> counts;
  std::vector<std::uint8_t> indices;
  std::vector<float> values;

  BlockEntries(const ChosenValues::Frame& chosen, std::size_t blocks) : counts(blocks) {
    indices.reserve(chosen.values.size());
    values.reserve(chosen.values.size());
    for (std::size_t k = 0; k < chosen.values.size();) {
      const std::size_t block = chosen.offsets[k] / kBlock;
      const std::size_t begin = k;
      while (k < chosen.values.size() && chosen.offsets[k] / kBlock == block) {
        ++k;
      }
      append(block, {.offsets = chosen.offsets.subspan(begin, k - begin),
                     .values = chosen.values.subspan(begin, k - begin)});
    }
  }

  void append(std::size_t block, const ChosenValues::Frame& chosen) {
    const std::size_t left_out =
        chosen.values.size() > kMaxBlockEntries ? smallest(chosen.values) : kBlock;
    for (std::size_t k = 0; k < chosen.values.size(); ++k) {
      if (k != left_out) {
        indices.push_back(static_cast<std::uint8_t>(chosen.offsets[k] % kBlock));
        values.push_back(chosen.values[k]);
        ++counts[block];
      }
    }
  }

  static std::size_t smallest(std::span<const float> values) {
    const auto at = std::ranges::min_element(values, {}, element::magnitude_bits);
    return static_cast<std::size_t>(at - values.begin());
  }
};

void encode_body(const BlockEntries& entries, Bytes& body) {
  const std::size_t count = entries.values.size();
  if (count == 0) {
    body.clear();
    return;
  }
  const BodyShape shape = body_shape(entries.counts.size(), count);
  body.resize(shape.bytes);
  std::memcpy(body.data(), entries.counts.data(), entries.counts.size());
  std::memcpy(body.data() + shape.indices_at, entries.indices.data(), count);
  for (std::size_t group = 0; group < groups_of(count); ++group) {
    const std::size_t begin = group * kBlock;
    const auto values = std::span(entries.values).subspan(begin, std::min(kBlock, count - begin));
    const std::uint16_t scale = element::int8_scale(largest_magnitude(values));
    store_value(body.data() + shape.scales_at + 2 * group, scale);
    const float inverse = element::int8_inverse(scale);
    std::byte* out = body.data() + shape.values_at + begin;
    for (std::size_t k = 0; k < values.size(); ++k) {
      out[k] = static_cast<std::byte>(element::int8_nearest(values[k], inverse));
    }
  }
}

// The parts of a body.
struct SparseFrame {
  std::span<const std::byte> counts;
  std::span<const std::byte> scales;
  std::span<const std::byte> indices;
  std::span<const std::byte> values;

  // visit(index in the frame, value).
  template <typename Visit>
  void for_each(Visit visit) const {
    std::size_t entry = 0;
    float scale = 0.0F;
    for (std::size_t block = 0; block < counts.size(); ++block) {
      const std::size_t first = block * kBlock;
      for (std::size_t k = 0; k < static_cast<std::size_t>(counts[block]); ++k, ++entry) {
        if (entry % kBlock == 0) {
          scale = scale_of(entry / kBlock);
        }
        const auto q = static_cast<std::int8_t>(values[entry]);
        visit(first + static_cast<std::size_t>(indices[entry]), element::int8_value(q, scale));
      }
    }
  }

  float scale_of(std::size_t group) const {
    return element::float_of_bf16(load_value<std::uint16_t>(scales.data() + 2 * group));
  }
};

bool are_scales(std::span<const std::byte> scales) {
  for (std::size_t at = 0; at < scales.size(); at += 2) {
    if (!element::is_scale(load_value<std::uint16_t>(scales.data() + at))) {
      return false;
    }
  }
  return true;
}

// Whether the indices of each block increase, and stay below the frame's end.
bool are_indices(const SparseFrame& frame, std::size_t count) {
  std::size_t entry = 0;
  for (std::size_t block = 0; block < frame.counts.size(); ++block) {
    std::size_t least = 0;
    for (std::size_t k = 0; k < static_cast<std::size_t>(frame.counts[block]); ++k, ++entry) {
      const auto index = static_cast<std::size_t>(frame.indices[entry]);
      if (index < least) {
        return false;
      }
      least = index + 1;
    }
    if (block * kBlock + least > count) {
      return false;
    }
  }
  return true;
}

std::size_t sum_of(std::span<const std::byte> counts) {
  return std::accumulate(
      counts.begin(), counts.end(), std::size_t{0},
      [](std::size_t sum, std::byte count) { return sum + static_cast<std::size_t>(count); });
}

// Of a body whose counts add up.
SparseFrame split_body(const varying::Frame& source) {
  const std::size_t blocks = message::blocks_of(source.count);
  const std::span counts = source.body.first(blocks);
  const std::size_t entries = sum_of(counts);
  const BodyShape shape = body_shape(blocks, entries);
  return {.counts = counts,
          .scales = source.body.subspan(shape.scales_at, shape.indices_at - shape.scales_at),
          .indices = source.body.subspan(shape.indices_at, entries),
          .values = source.body.subspan(shape.values_at, entries)};
}

Result<void> check_body(const varying::Parameters& /*none*/, const varying::Frame& source) {
  const std::size_t blocks = message::blocks_of(source.count);
  if (source.body.size() < blocks) {
    return message::malformed("sparse frame is too short");
  }
  const std::size_t entries = sum_of(source.body.first(blocks));
  if (entries == 0 || source.body.size() != body_shape(blocks, entries).bytes) {
    return message::malformed("counts of a sparse frame do not add up");
  }
  const SparseFrame frame = split_body(source);
  if (!are_scales(frame.scales)) {
    return message::malformed("a scale is out of range");
  }
  if (!are_indices(frame, source.count)) {
    return message::malformed("indices do not increase");
  }
  if (std::ranges::find(frame.values, std::byte{0x80}) != frame.values.end()) {
    return message::malformed("a value of -128");
  }
  return {};
}

}  // namespace

TopKCodec::TopKCodec(const TopKConfig& config) : config_(config) {
  HOBNOB_CHECK(config.density > 0.0 && config.density <= 1.0, "density is not in (0, 1]");
}

CodecTraits TopKCodec::traits() const {
  const double bits_of_sent = 16.0 + 16.0 / kBlock;
  return {.fixed_length = false,
          .nominal_bits = 8.0 / kBlock + config_.density * bits_of_sent,
          .carried = config_.density};
}

std::size_t TopKCodec::max_bytes(std::size_t count, DType /*type*/) const {
  const std::size_t kept = kept_count(config_.density, count);
  const std::size_t entries =
      config_.selection == TopKConfig::Selection::kDgc ? std::min(dgc_limit(kept), count) : kept;
  const std::size_t frames = message::frames_of(count);
  // Each frame may begin a group of values that is not full.
  const std::size_t scales = 2 * (entries / kBlock + std::min(frames, entries));
  return message::max_varying_bytes(count, message::blocks_of(count) + scales + 2 * entries);
}

std::size_t TopKCodec::encode_delta(const Delta& delta, RngKey key, Bytes& out) const {
  const std::size_t kept = kept_count(config_.density, delta.count());
  const ChosenValues chosen = config_.selection == TopKConfig::Selection::kDgc
                                  ? select_dgc(delta, kept, hash3(key.seed, key.stream, kept))
                                  : select_top_k(delta, kept);
  message::VaryingWriter writer(id(), delta.count(), {}, out);
  Bytes body;
  std::size_t poisoned = 0;
  for (std::size_t frame = 0; frame < chosen.frame_ends.size(); ++frame) {
    const std::size_t start = frame * message::kFrameCount;
    const std::size_t count = std::min(message::kFrameCount, delta.count() - start);
    encode_body(BlockEntries(chosen.frame(frame), message::blocks_of(count)), body);
    writer.append_frame(body, chosen.frame_poisoned[frame] > 0);
    poisoned += chosen.frame_poisoned[frame];
  }
  writer.finish();
  return poisoned;
}

Result<void> TopKCodec::check(ByteSpan bytes, std::size_t count, DType /*type*/) const {
  return varying::check(bytes, {id(), count, kMaxBody}, message::check_no_parameters, check_body);
}

void TopKCodec::add_checked(std::span<const CodecPart> parts, Vec into) const {
  varying::add(parts, into, [](const auto& /*none*/, const auto& source, auto factor, auto target) {
    split_body(source).for_each([&](std::size_t index, float value) {
      target[index] =
          element::add_scaled(target[index], factor, static_cast<decltype(factor)>(value));
    });
  });
}

Result<void> TopKCodec::mark_sent(ByteSpan bytes,
                                  std::size_t count,
                                  std::span<std::uint64_t> mask) const {
  HOBNOB_CHECK(mask.size() == (count + 63) / 64, "a mask of another length");
  const Result<void> checked = check(bytes, count, DType::kFloat32);
  if (!checked.ok()) {
    return checked.error();
  }
  std::ranges::fill(mask, 0);
  for (const varying::Frame& source : message::split_frames(bytes, count).frames) {
    if (source.body.empty()) {
      continue;
    }
    split_body(source).for_each([&](std::size_t index, float value) {
      const std::size_t place = source.start + index;
      mask[place / 64] |= std::uint64_t{value != 0.0F} << place % 64;
    });
  }
  return {};
}

}  // namespace hobnob
