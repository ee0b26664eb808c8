#pragma once

#include "compress/codec.h"
#include "compress/delta.h"
#include "compress/varying_frames.h"

namespace hobnob {

// A codec whose messages are as long as the values make them: frames of varying_frames.h, each of
// which has a body or sends nothing.
class VaryingCodec : public Codec {
 public:
  std::size_t encode(ConstVec values, RngKey key, Bytes& out) const final {
    return encode_delta(Delta(values), key, out);
  }

  std::size_t encode_difference(ConstVec values,
                                ConstVec base,
                                RngKey key,
                                Bytes& out) const final {
    return encode_delta(Delta(values, base), key, out);
  }

 private:
  virtual std::size_t encode_delta(const Delta& delta, RngKey key, Bytes& out) const = 0;
};

namespace varying {

using message::Parameters;
using Frame = message::VaryingMessage::Frame;

struct Expected {
  CodecId codec = CodecId::kRaw;
  std::size_t count = 0;
  std::size_t max_body = 0;
};

// Codec::check(): frames, check_parameters(parameters), and check_body(parameters, frame) of each
// frame with a body, which give Result<void>.
template <typename CheckParameters, typename CheckBody>
Result<void> check(ByteSpan bytes,
                   const Expected& expected,
                   CheckParameters check_parameters,
                   CheckBody check_body) {
  const auto message =
      message::check_frames(bytes, expected.codec, expected.count, expected.max_body);
  if (!message.ok()) {
    return message.error();
  }
  const Parameters& parameters = message.value().parameters;
  Result<void> result = check_parameters(parameters);
  for (const Frame& frame : message.value().frames) {
    if (result.ok() && !frame.body.empty()) {
      result = check_body(parameters, frame);
    }
  }
  return result;
}

// Codec::add_checked(): add_body(parameters, frame, factor, into) for each frame with a body,
// `into` (frame.count,) its part of the target and the factor in the target's type.
template <typename AddBody>
void add(std::span<const CodecPart> parts, Vec into, AddBody add_body) {
  for (const CodecPart& part : parts) {
    const message::VaryingMessage message = message::split_frames(part.bytes, into.count());
    for (const Frame& frame : message.frames) {
      if (frame.body.empty()) {
        continue;
      }
      const Vec target = into.slice(frame.start, frame.count);
      if (into.type() == DType::kFloat32) {
        add_body(message.parameters, frame, static_cast<float>(part.scale), target.as<float>());
      } else {
        add_body(message.parameters, frame, part.scale, target.as<double>());
      }
    }
  }
}

}  // namespace varying

}  // namespace hobnob
