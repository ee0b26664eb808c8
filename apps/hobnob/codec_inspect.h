#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compress/codec.h"
#include "compress/low_rank_codec.h"
#include "compress/message_parts.h"

namespace hobnob {

// A field that should hold something else.
struct MessageProblem {
  std::size_t offset = 0;  // from the message's begin
  std::string field;
  std::string text;
};

// "delta.int8: frame checksum at byte 64: ...", kInvalidArgument.
Error describe(const MessageProblem& problem, const std::string& name);

struct FrameReport {
  message::FrameFields fields;
  bool checksum_holds = false;
  // Of the scales that are not 0; both 0 where there is none.
  float least_scale = 0.0F;
  float largest_scale = 0.0F;
};

// All that a message says of itself.
struct MessageReport {
  std::size_t bytes = 0;
  message::HeaderFields header;  // zeros for fewer bytes than a header
  bool header_checksum_holds = false;
  std::unique_ptr<Codec> codec;  // null: unknown
  DType type = DType::kFloat32;  // of what it decodes into
  // As far as their headers can be followed; none for a codec that lays them out its own way.
  std::vector<FrameReport> frames;
  // Of a message of low rank, which has no frames, when its lengths fit.
  std::optional<LowRankCodec::Factors> factors;
  // Blocks of zeros in frames flagged poison: the poisoned ones, and those that were zeros.
  std::size_t zero_blocks = 0;
  // Empty: a decoder takes the message. The first is the one that matters.
  std::vector<MessageProblem> problems;
};

// Values of the longest message that is decoded for it; longer ones are refused by count.
constexpr std::size_t kMaxInspectedValues = std::size_t{1} << 28U;

// Any bytes give a report. Costs a decoding.
MessageReport inspect_message(ByteSpan bytes);

// float32 values of a message; kInvalidArgument says which field of it is wrong, and `name` whose.
Result<std::vector<float>> decode_message(ByteSpan bytes, const std::string& name);

}  // namespace hobnob
