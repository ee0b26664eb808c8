#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "apps/hobnob/page_array.h"
#include "apps/hobnob/traffic_twin.h"
#include "compress/codec.h"

namespace hobnob {

// What a codec keeps of some values, and what that costs.
struct CodecScore {
  std::string source;
  std::size_t values = 0;
  std::size_t poisoned_blocks = 0;
  double bits = 0.0;  // per value: the whole message, headers included
  double nmse = 0.0;  // sum (x - decoded)^2 / sum x^2

  // -10 log10(nmse); infinite for a codec that keeps all.
  double snr_db() const;
};

CodecScore score_codec(const Codec& codec,
                       const std::string& source,
                       std::span<const float> values,
                       std::uint64_t seed);

// encode: values -> message. fused: values - hat -> message, and hat += what the message says.
// decode, decode4: into += weight * message, for one message and for four.
const std::vector<std::string>& codec_works();

struct CodecSpeed {
  std::string work;
  double values_per_s = 0.0;
  double bytes_per_s = 0.0;         // loaded and stored, each counted once
  double over_twin = 0.0;           // speed over that of the same traffic without arithmetic
  double memcpy_bytes_per_s = 0.0;  // of libc's memcpy between the passes, both ways counted
};

// Times codecs on one thread by the wall clock: the best of `repeat` passes over arrays that no
// cache holds when `values` is large, with memcpy and twin in turn, so that the machine's other
// work slows all three alike. Every pass works on other values than the one before (an encoder with
// a state would else have nothing left to send).
class CodecStopwatch {
 public:
  struct Config {
    std::size_t values = 0;
    std::size_t repeat = 0;
    std::uint64_t seed = 0;
  };

  // `sample` is repeated to fill the arrays; not empty.
  CodecStopwatch(std::span<const float> sample, const Config& config);

  // `work` is one of codec_works().
  CodecSpeed time(const Codec& codec, const std::string& work);

  // What an object for these codecs and works will have allocated at most.
  static std::size_t memory_bytes(std::size_t values,
                                  std::span<const Codec* const> codecs,
                                  std::span<const std::string> works);

 private:
  std::span<const float> view(std::size_t turn) const;
  void run(const Codec& codec, const std::string& work, std::size_t turn);
  Traffic traffic(const std::string& work);

  const Config config_;
  PageArray values_;  // and a little more, see view()
  PageArray state_;
  std::vector<Bytes> messages_;
};

}  // namespace hobnob
