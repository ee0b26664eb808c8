#include "compress/codec.h"

#include <algorithm>
#include <array>
#include <vector>

#include "compress/block_codec.h"
#include "compress/block_rules.h"
#include "runtime/base/nearest_word.h"

namespace hobnob {

namespace {

// Values of the working type as they are; a message of one type does not decode into the other.
class RawCodec final : public Codec {
 public:
  CodecId id() const override { return CodecId::kRaw; }

  CodecTraits traits() const override { return {.exact = true, .nominal_bits = 32.0}; }

  std::size_t max_bytes(std::size_t count, DType type) const override {
    return message::message_bytes(layout(type), count);
  }

  std::size_t encode(ConstVec values, RngKey /*key*/, Bytes& out) const override {
    if (values.type() == DType::kFloat32) {
      return coder<float>(values.type()).encode(values.as<float>(), out);
    }
    return coder<double>(values.type()).encode(values.as<double>(), out);
  }

  Result<void> decode_add(ByteSpan bytes, double scale, Vec into) const override {
    if (into.type() == DType::kFloat32) {
      return coder<float>(into.type()).decode_add(bytes, scale, into.as<float>());
    }
    return coder<double>(into.type()).decode_add(bytes, scale, into.as<double>());
  }

 private:
  static message::Layout layout(DType type) {
    return {
        .codec = CodecId::kRaw, .type = type, .value_bytes = bytes_of(type), .has_scales = false};
  }

  template <typename T>
  static BlockCoder<PlainRule<T>> coder(DType type) {
    return BlockCoder<PlainRule<T>>(layout(type));
  }
};

// A codec that sees float32 and decodes into either type.
template <typename Rule, CodecId kId>
class Float32Codec final : public Codec {
 public:
  CodecId id() const override { return kId; }

  // Not exact even as fp32: float64 is rounded.
  CodecTraits traits() const override {
    constexpr double kScaleBits = Rule::kHasScales ? 16.0 / message::kBlockCount : 0.0;
    return {.exact = false, .nominal_bits = 8.0 * sizeof(typename Rule::Stored) + kScaleBits};
  }

  std::size_t max_bytes(std::size_t count, DType /*type*/) const override {
    return message::message_bytes(kLayout, count);
  }

  std::size_t encode(ConstVec values, RngKey /*key*/, Bytes& out) const override {
    if (values.type() == DType::kFloat32) {
      return coder_.encode(values.as<float>(), out);
    }
    return coder_.encode(values.as<double>(), out);
  }

  Result<void> decode_add(ByteSpan bytes, double scale, Vec into) const override {
    if (into.type() == DType::kFloat32) {
      return coder_.decode_add(bytes, scale, into.as<float>());
    }
    return coder_.decode_add(bytes, scale, into.as<double>());
  }

 private:
  static constexpr message::Layout kLayout{.codec = kId,
                                           .type = DType::kFloat32,
                                           .value_bytes = sizeof(typename Rule::Stored),
                                           .has_scales = Rule::kHasScales};
  const BlockCoder<Rule> coder_{kLayout};
};

struct Kind {
  const char* name;
  CodecId id;
};

constexpr std::array<Kind, 4> kKinds{{{"raw", CodecId::kRaw},
                                      {"fp32", CodecId::kFloat32},
                                      {"bf16", CodecId::kBFloat16},
                                      {"int8", CodecId::kInt8}}};

}  // namespace

Result<void> validate(const CodecConfig& config) {
  std::vector<std::string> names;
  std::string known;
  for (const Kind& kind : kKinds) {
    names.emplace_back(kind.name);
    known += (known.empty() ? "" : ", ") + names.back();
  }
  if (std::ranges::find(names, config.kind) == names.end()) {
    const std::string near = nearest_word(config.kind, names);
    const std::string hint = near.empty() ? "" : "; did you mean " + near + "?";
    return make_error(ErrorCode::kInvalidArgument,
                      "gossip.codec.kind: unknown \"%s\" (known: %s)%s", config.kind.c_str(),
                      known.c_str(), hint.c_str());
  }
  if (config.block != message::kBlockCount) {
    return make_error(ErrorCode::kInvalidArgument,
                      "gossip.codec.block: %zu is not %zu, the only block there is", config.block,
                      message::kBlockCount);
  }
  return {};
}

std::unique_ptr<Codec> make_codec(const CodecConfig& config) {
  const auto kind = std::ranges::find(kKinds, config.kind, &Kind::name);
  HOBNOB_CHECK(kind != kKinds.end() && config.block == message::kBlockCount,
               "codec config was not validated");
  return make_codec(kind->id).value();
}

Result<std::unique_ptr<Codec>> make_codec(CodecId id) {
  switch (id) {
    case CodecId::kRaw:
      return {std::make_unique<RawCodec>()};
    case CodecId::kFloat32:
      return {std::make_unique<Float32Codec<PlainRule<float>, CodecId::kFloat32>>()};
    case CodecId::kBFloat16:
      return {std::make_unique<Float32Codec<Bf16Rule, CodecId::kBFloat16>>()};
    case CodecId::kInt8:
      return {std::make_unique<Float32Codec<Int8Rule, CodecId::kInt8>>()};
  }
  return make_error(ErrorCode::kMalformed, "unknown codec %u", static_cast<unsigned>(id));
}

}  // namespace hobnob
