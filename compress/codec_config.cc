#include "compress/codec_config.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "compress/binomial_codec.h"
#include "compress/block_codec.h"
#include "compress/dct_top_k_codec.h"
#include "compress/entropy_codec.h"
#include "compress/low_rank_codec.h"
#include "compress/message.h"
#include "compress/random_k_codec.h"
#include "compress/raw_codec.h"
#include "compress/sparse_codec.h"
#include "compress/ternary_codec.h"
#include "runtime/base/nearest_word.h"

namespace hobnob {

namespace {

struct Kind {
  const char* name;
  CodecId id;
};

constexpr std::array kKinds = {
    Kind{"raw", CodecId::kRaw},
    Kind{"fp32", CodecId::kFloat32},
    Kind{"bf16", CodecId::kBFloat16},
    Kind{"int8", CodecId::kInt8},
    Kind{"fp16", CodecId::kFloat16},
    Kind{"int4", CodecId::kInt4},
    Kind{"nf4", CodecId::kNf4},
    Kind{"lm4", CodecId::kLm4},
    Kind{"h4", CodecId::kH4},
    Kind{"h2", CodecId::kH2},
    Kind{"sign", CodecId::kSign},
    Kind{"eq", CodecId::kEntropy},
    Kind{"top-k", CodecId::kTopK},
    Kind{"random-k", CodecId::kRandomK},
    Kind{"stc", CodecId::kSparseTernary},
    Kind{"dct-top-k", CodecId::kDctTopK},
    Kind{"terngrad", CodecId::kTerngrad},
    Kind{"log", CodecId::kLog},
    Kind{"qsgd8", CodecId::kQsgd8},
    Kind{"qsgd4", CodecId::kQsgd4},
    Kind{"power-sgd", CodecId::kPowerSgd},
    Kind{"lq-sgd", CodecId::kLqSgd},
    Kind{"binomial", CodecId::kBinomial},
};

struct BlockKind {
  CodecId id;
  message::BlockShape shape;
  bool unbiased;
  const BlockKernels& (*kernels)();
};

constexpr std::array kBlockKinds = {
    BlockKind{CodecId::kFloat32, {1024, 0}, false, fp32_kernels},
    BlockKind{CodecId::kBFloat16, {512, 0}, false, bf16_kernels},
    BlockKind{CodecId::kFloat16, {512, 1}, false, fp16_kernels},
    BlockKind{CodecId::kInt8, {256, 1}, false, int8_kernels},
    BlockKind{CodecId::kQsgd8, {256, 1}, true, qsgd8_kernels},
    BlockKind{CodecId::kInt4, {128, 4}, false, int4_kernels},
    BlockKind{CodecId::kQsgd4, {128, 4}, true, qsgd4_kernels},
    BlockKind{CodecId::kNf4, {128, 4}, false, nf4_kernels},
    BlockKind{CodecId::kLm4, {128, 4}, false, lm4_kernels},
    BlockKind{CodecId::kLog, {128, 4}, false, log_kernels},
    BlockKind{CodecId::kH4, {128, 1}, false, h4_kernels},
    BlockKind{CodecId::kH2, {64, 1}, false, h2_kernels},
    BlockKind{CodecId::kTerngrad, {52, 1}, true, terngrad_kernels},
    BlockKind{CodecId::kSign, {32, 1}, false, sign_kernels},
};

std::unique_ptr<Codec> make_block_codec(const BlockKind& kind) {
  const std::size_t bits = 8 * kind.shape.bytes + 16 * kind.shape.scales;
  return std::make_unique<BlockCodec>(BlockCodec::Format{
      .layout = {.codec = kind.id, .block = kind.shape},
      .traits = {.unbiased = kind.unbiased,
                 .nominal_bits = static_cast<double>(bits) / message::kBlockCount},
      .kernels = &kind.kernels()});
}

std::unique_ptr<Codec> make(CodecId id, const CodecConfig& config) {
  switch (id) {
    case CodecId::kRaw:
      return std::make_unique<RawCodec>();
    case CodecId::kEntropy:
      return std::make_unique<EntropyCodec>(
          EntropyConfig{.step = config.step, .rounding = config.rounding});
    case CodecId::kTopK:
      return std::make_unique<TopKCodec>(TopKConfig{.density = config.density});
    case CodecId::kRandomK:
      return std::make_unique<RandomKCodec>(
          RandomKConfig{.one_in = static_cast<std::uint32_t>(std::lround(1.0 / config.density))});
    case CodecId::kSparseTernary:
      return std::make_unique<SparseTernaryCodec>(config.density);
    case CodecId::kDctTopK:
      return std::make_unique<DctTopKCodec>(config.kept);
    case CodecId::kPowerSgd:
    case CodecId::kLqSgd:
      return std::make_unique<LowRankCodec>(
          id,
          LowRankConfig{.rank = static_cast<std::uint32_t>(config.rank),
                        .columns = static_cast<std::uint32_t>(config.columns)},
          make(id == CodecId::kPowerSgd ? CodecId::kBFloat16 : CodecId::kLog, config));
    case CodecId::kBinomial:
      return std::make_unique<BinomialCodec>(
          BinomialConfig{.clip = static_cast<float>(config.clip),
                         .levels = static_cast<std::uint32_t>(config.levels),
                         .trials = static_cast<std::uint32_t>(config.trials)});
    default:
      return make_block_codec(*std::ranges::find(kBlockKinds, id, &BlockKind::id));
  }
}

}  // namespace

const std::vector<std::string>& codec_kinds() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const Kind& kind : kKinds) {
      names.emplace_back(kind.name);
    }
    return names;
  }();
  return kNames;
}

std::vector<std::string> codec_parameters(const std::string& kind) {
  if (kind == "eq") {
    return {"step", "rounding"};
  }
  if (kind == "dct-top-k") {
    return {"kept"};
  }
  if (kind == "power-sgd" || kind == "lq-sgd") {
    return {"rank", "columns"};
  }
  if (kind == "binomial") {
    return {"clip", "levels", "trials"};
  }
  const bool is_sparse = kind == "top-k" || kind == "random-k" || kind == "stc";
  return is_sparse ? std::vector<std::string>{"density"} : std::vector<std::string>{};
}

Result<void> validate(const CodecConfig& config) {
  const std::vector<std::string>& names = codec_kinds();
  if (std::ranges::find(names, config.kind) == names.end()) {
    return make_error(ErrorCode::kInvalidArgument, "gossip.codec.kind: %s",
                      unknown_word(config.kind, names).c_str());
  }
  if (config.block != message::kBlockCount) {
    return make_error(ErrorCode::kInvalidArgument,
                      "gossip.codec.block: %zu is not %zu, the only block there is", config.block,
                      message::kBlockCount);
  }
  if (!(config.step >= 0.01 && config.step <= 16.0)) {
    return make_error(ErrorCode::kInvalidArgument,
                      "gossip.codec.step: %g is not in 0.01 to 16 (of the root mean square)",
                      config.step);
  }
  if (!(config.rounding > 0.0 && config.rounding <= 0.5)) {
    return make_error(ErrorCode::kInvalidArgument,
                      "gossip.codec.rounding: %g is not above 0 and at most 0.5", config.rounding);
  }
  if (!(config.density >= 1e-4 && config.density <= 1.0)) {
    return make_error(ErrorCode::kInvalidArgument, "gossip.codec.density: %g is not in 0.0001 to 1",
                      config.density);
  }
  if (config.kept < 1 || config.kept > 64) {
    return make_error(ErrorCode::kInvalidArgument, "gossip.codec.kept: %zu is not in 1 to 64",
                      config.kept);
  }
  if (config.rank < 1 || config.rank > LowRankCodec::kMaxRank) {
    return make_error(ErrorCode::kInvalidArgument, "gossip.codec.rank: %zu is not in 1 to %u",
                      config.rank, LowRankCodec::kMaxRank);
  }
  if (config.columns > LowRankCodec::kMaxColumns) {
    return make_error(ErrorCode::kInvalidArgument, "gossip.codec.columns: %zu is more than %u",
                      config.columns, LowRankCodec::kMaxColumns);
  }
  if (!(config.clip >= 1e-9 && config.clip <= 1e9)) {
    return make_error(ErrorCode::kInvalidArgument, "gossip.codec.clip: %g is not in 1e-9 to 1e9",
                      config.clip);
  }
  if (config.levels < 1 || config.levels > BinomialCodec::kMaxLevels) {
    return make_error(ErrorCode::kInvalidArgument, "gossip.codec.levels: %zu is not in 1 to %u",
                      config.levels, BinomialCodec::kMaxLevels);
  }
  if (config.trials % 2 != 0 || config.trials > BinomialCodec::kMaxTrials) {
    return make_error(ErrorCode::kInvalidArgument,
                      "gossip.codec.trials: %zu is not an even number of at most %u", config.trials,
                      BinomialCodec::kMaxTrials);
  }
  return {};
}

std::string codec_kind(CodecId id) {
  const auto kind = std::ranges::find(kKinds, id, &Kind::id);
  return kind == kKinds.end() ? "" : kind->name;
}

std::unique_ptr<Codec> make_codec(const CodecConfig& config) {
  HOBNOB_CHECK(validate(config).ok(), "codec config was not validated");
  return make(std::ranges::find(kKinds, config.kind, &Kind::name)->id, config);
}

Result<std::unique_ptr<Codec>> make_codec(CodecId id) {
  if (std::ranges::find(kKinds, id, &Kind::id) == kKinds.end()) {
    return make_error(ErrorCode::kMalformed, "unknown codec %u", static_cast<unsigned>(id));
  }
  // Decoders take their parameters from the message.
  return make(id, CodecConfig{});
}

}  // namespace hobnob
