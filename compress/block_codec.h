#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "compress/codec.h"
#include "compress/element_rules.h"
#include "compress/message.h"

// Whole messages from a rule for one block. Blocks are worked on in local arrays of exactly 256
// values, the last one filled up with zeros: loops of constant length vectorise at -O2, and wire
// bytes need no alignment.
//
// A Rule has:
//   Stored                      type of a value on the wire
//   Value                       type that encode reads and decode gives: float or double
//   kHasScales
//   static bool encode(const Value*, Stored*, std::uint16_t* scale)    false: poison, and then
//   writes nothing static bool is_valid(const Stored*, std::uint16_t scale)           what an
//   encoder may send static void decode(const Stored*, std::uint16_t scale, Value*)

namespace hobnob {

template <typename Rule>
class BlockCoder {
 public:
  using Stored = typename Rule::Stored;
  using Value = typename Rule::Value;

  explicit BlockCoder(message::Layout layout) : layout_(layout) {}

  // Returns the number of poisoned blocks.
  template <typename T>
  std::size_t encode(std::span<const T> values, Bytes& out) const {
    const std::size_t begin = out.size();
    out.resize(begin + message::message_bytes(layout_, values.size()));
    std::byte* at = out.data() + begin;
    message::write_header(layout_, values.size(), at);
    at += message::kHeaderBytes;
    std::size_t poisoned = 0;
    std::size_t frame_index = 0;
    while (!values.empty()) {
      const auto frame = values.first(std::min(message::kFrameCount, values.size()));
      const auto shape = message::frame_shape(layout_, frame.size());
      const std::size_t bad = encode_frame(frame, shape, at + message::kFrameHeaderBytes);
      message::write_frame_header(shape, frame_index++, bad > 0, at);
      at += message::kFrameHeaderBytes + shape.body_bytes();
      poisoned += bad;
      values = values.subspan(frame.size());
    }
    return poisoned;
  }

  template <typename T>
  Result<void> decode_add(ByteSpan bytes, double scale, std::span<T> into) const {
    const Result<void> checked = message::check_message(layout_, into.size(), bytes);
    if (!checked.ok()) {
      return checked.error();
    }
    bool is_valid = true;
    for_each_block(bytes, into.size(), [&](const Block& block) {
      is_valid = is_valid && Rule::is_valid(block.stored.data(), block.scale);
    });
    if (!is_valid) {
      return make_error(ErrorCode::kMalformed, "decode failed: a scale or value is not finite");
    }
    const T factor = static_cast<T>(scale);
    for_each_block(bytes, into.size(), [&](const Block& block) {
      std::array<Value, kBlock> values;
      Rule::decode(block.stored.data(), block.scale, values.data());
      add_block(values.data(), factor, into.data() + block.start, block.count);
    });
    return {};
  }

 private:
  static constexpr std::size_t kBlock = message::kBlockCount;

  struct Block {
    std::size_t start = 0;
    std::size_t count = 0;
    std::uint16_t scale = 0;
    std::array<Stored, kBlock> stored;  // zeros after `count`
  };

  template <typename T>
  static std::size_t encode_frame(std::span<const T> values,
                                  const message::FrameShape& shape,
                                  std::byte* body) {
    std::size_t poisoned = 0;
    std::byte* scales = body;
    std::byte* payload = body + shape.scale_bytes;
    for (std::size_t start = 0; start < values.size(); start += kBlock) {
      const std::size_t count = std::min(kBlock, values.size() - start);
      std::array<Value, kBlock> block;
      load_block(values.data() + start, count, block.data());
      std::array<Stored, kBlock> stored;
      std::uint16_t scale = 0;
      // A poisoned block stays as resize() left it: zeros.
      if (!Rule::encode(block.data(), stored.data(), &scale)) {
        ++poisoned;
        continue;
      }
      std::memcpy(payload + start * sizeof(Stored), stored.data(), count * sizeof(Stored));
      if constexpr (Rule::kHasScales) {
        std::memcpy(scales + start / kBlock * sizeof scale, &scale, sizeof scale);
      }
    }
    return poisoned;
  }

  template <typename T>
  static void load_block(const T* __restrict values, std::size_t count, Value* __restrict block) {
    if (count == kBlock) {
      for (std::size_t k = 0; k < kBlock; ++k) {
        block[k] = static_cast<Value>(values[k]);
      }
      return;
    }
    for (std::size_t k = 0; k < kBlock; ++k) {
      block[k] = k < count ? static_cast<Value>(values[k]) : Value{0};
    }
  }

  template <typename T>
  static void add_block(const Value* __restrict values,
                        T factor,
                        T* __restrict into,
                        std::size_t count) {
    if (count == kBlock) {
      for (std::size_t k = 0; k < kBlock; ++k) {
        into[k] = element::add_scaled(into[k], factor, static_cast<T>(values[k]));
      }
      return;
    }
    for (std::size_t k = 0; k < count; ++k) {
      into[k] = element::add_scaled(into[k], factor, static_cast<T>(values[k]));
    }
  }

  // Visits the blocks of a checked message, but for frames flagged zero.
  template <typename Visit>
  void for_each_block(ByteSpan bytes, std::size_t total, Visit visit) const {
    const std::byte* at = bytes.data() + message::kHeaderBytes;
    for (std::size_t frame = 0; frame < total; frame += message::kFrameCount) {
      const auto shape =
          message::frame_shape(layout_, std::min(message::kFrameCount, total - frame));
      const std::byte* scales = at + message::kFrameHeaderBytes;
      const std::byte* payload = scales + shape.scale_bytes;
      const bool is_zero = (message::frame_flags(at) & message::kZero) != 0;
      for (std::size_t start = 0; start < shape.count && !is_zero; start += kBlock) {
        Block block;
        block.start = frame + start;
        block.count = std::min(kBlock, shape.count - start);
        const std::byte* source = payload + start * sizeof(Stored);
        if (block.count == kBlock) {
          std::memcpy(block.stored.data(), source, sizeof block.stored);
        } else {
          block.stored.fill(Stored{0});
          std::memcpy(block.stored.data(), source, block.count * sizeof(Stored));
        }
        if constexpr (Rule::kHasScales) {
          std::memcpy(&block.scale, scales + start / kBlock * 2, 2);
        }
        visit(block);
      }
      at += message::kFrameHeaderBytes + shape.body_bytes();
    }
  }

  const message::Layout layout_;
};

}  // namespace hobnob
