#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compress/codec.h"

namespace hobnob {

// Which codec, and its parameters.
struct CodecConfig {
  // One of codec_kinds().
  std::string kind = "int8";
  // Values that share one scale. 256 is the wire layout's block and the only one today.
  std::size_t block = 256;
  // eq: EntropyConfig.
  double step = 0.5;
  double rounding = 0.5;
  // top-k, random-k, stc: share of the values that is sent; random-k rounds 1 / density.
  double density = 0.01;
  // dct-top-k: coefficients sent of each 64.
  std::size_t kept = 32;
  // power-sgd, lq-sgd: LowRankConfig.
  std::size_t rank = 4;
  std::size_t columns = 0;
  // binomial: BinomialConfig.
  double clip = 0.01;
  std::size_t levels = 8;
  std::size_t trials = 32;
};

// Of one codec, or "".
std::string codec_kind(CodecId id);

// All names.
const std::vector<std::string>& codec_kinds();

// The fields beside `block` that a kind reads: step, rounding, density, kept, rank,
// columns, clip, levels, trials.
std::vector<std::string> codec_parameters(const std::string& kind);

Result<void> validate(const CodecConfig& config);
// `config` must be valid.
std::unique_ptr<Codec> make_codec(const CodecConfig& config);
// The codec that a peer's bytes name, for decoding, or kMalformed.
Result<std::unique_ptr<Codec>> make_codec(CodecId id);

}  // namespace hobnob
