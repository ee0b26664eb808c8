#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "compress/message.h"

// Messages whose frames differ in length: the header of message.h with the actual total and 24
// bytes of parameters at offset 32, then for each 65,536 values
//
//   u64 checksum of the body without padding, seeded with index << 8 | flags
//   u32 payload bytes, without padding
//   u32 flags: kZero (nothing is sent: no body) and kPoison
//   body, padded with zeros to 16 bytes
//
// Unlike in messages of fixed length, kZero says that there is no body, and no body says kZero.

namespace hobnob::message {

constexpr std::size_t kBodyAlign = 16;

// Appends one message to `out`: a frame for each 65,536 values (the caller sees to their number),
// then finish().
class VaryingWriter {
 public:
  VaryingWriter(CodecId codec, std::size_t count, const Parameters& parameters, Bytes& out);

  // An empty body sends nothing.
  void append_frame(ByteSpan body, bool has_poison);
  // Writes total and header checksum.
  void finish();

 private:
  const CodecId codec_;
  const std::size_t count_;
  const Parameters parameters_;
  Bytes& out_;
  const std::size_t begin_;
  std::size_t frames_ = 0;
};

struct VaryingMessage {
  struct Frame {
    ByteSpan body;  // empty: nothing was sent
    std::size_t start = 0;
    std::size_t count = 0;  // values

    std::size_t index() const { return start / kFrameCount; }
  };

  Parameters parameters{};
  std::vector<Frame> frames;
};

// Everything but the meaning of parameters and bodies, for a message of `count` values none of
// whose bodies is longer than `max_payload`. Total: any bytes give spans into them or kMalformed.
Result<VaryingMessage> check_frames(ByteSpan bytes,
                                    CodecId codec,
                                    std::size_t count,
                                    std::size_t max_payload);

// The same of a message that check_frames() took, without looking at checksums again.
VaryingMessage split_frames(ByteSpan bytes, std::size_t count);

// Ok if there are none.
Result<void> check_no_parameters(const Parameters& parameters);

// No message is longer.
constexpr std::size_t max_varying_bytes(std::size_t count, std::size_t payload_of_all_frames) {
  return kHeaderBytes + frames_of(count) * (kFrameHeaderBytes + kBodyAlign - 1) +
         payload_of_all_frames;
}

}  // namespace hobnob::message
