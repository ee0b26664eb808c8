#include "compress/codec_config.h"

#include <algorithm>
#include <array>

#include "compress/block_codec.h"
#include "compress/message.h"
#include "compress/raw_codec.h"
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
};

std::unique_ptr<Codec> block_codec(CodecId id,
                                   std::size_t block_bytes,
                                   std::size_t block_scales,
                                   const BlockKernels& kernels) {
  const std::size_t bits = 8 * block_bytes + 16 * block_scales;
  return std::make_unique<BlockCodec>(BlockCodec::Format{
      .layout = {.codec = id, .block_bytes = block_bytes, .block_scales = block_scales},
      .traits = {.nominal_bits = static_cast<double>(bits) / message::kBlockCount},
      .kernels = &kernels});
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
  return {};
}

std::unique_ptr<Codec> make_codec(const CodecConfig& config) {
  HOBNOB_CHECK(validate(config).ok(), "codec config was not validated");
  return make_codec(std::ranges::find(kKinds, config.kind, &Kind::name)->id).value();
}

Result<std::unique_ptr<Codec>> make_codec(CodecId id) {
  switch (id) {
    case CodecId::kRaw:
      return {std::make_unique<RawCodec>()};
    case CodecId::kFloat32:
      return block_codec(id, 1024, 0, fp32_kernels());
    case CodecId::kBFloat16:
      return block_codec(id, 512, 0, bf16_kernels());
    case CodecId::kInt8:
      return block_codec(id, 256, 1, int8_kernels());
  }
  return make_error(ErrorCode::kMalformed, "unknown codec %u", static_cast<unsigned>(id));
}

}  // namespace hobnob
