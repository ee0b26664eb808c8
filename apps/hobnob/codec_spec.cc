#include "apps/hobnob/codec_spec.h"

#include <map>

#include "apps/hobnob/spec_text.h"
#include "runtime/base/object_reader.h"

namespace hobnob {

Result<void> read_codec(const Json& json, CodecConfig& codec) {
  ObjectReader reader(json, "gossip.codec");
  codec.kind = reader.choice("kind", "int8", codec_kinds());
  codec.block = static_cast<std::size_t>(reader.integer("block", 256, 1, 1 << 16));
  for (const std::string& name : codec_parameters(codec.kind)) {
    if (name == "step") {
      codec.step = reader.number("step", codec.step, 0.01, 16.0);
    } else if (name == "rounding") {
      codec.rounding = reader.number("rounding", codec.rounding, 0.01, 0.5);
    } else if (name == "density") {
      codec.density = reader.number("density", codec.density, 1e-4, 1.0);
    } else if (name == "kept") {
      codec.kept = static_cast<std::size_t>(reader.integer("kept", 32, 1, 64));
    } else if (name == "rank") {
      codec.rank = static_cast<std::size_t>(reader.integer("rank", 4, 1, 64));
    } else if (name == "columns") {
      codec.columns = static_cast<std::size_t>(reader.integer("columns", 0, 0, 1 << 24));
    } else if (name == "clip") {
      codec.clip = reader.number("clip", codec.clip, 1e-9, 1e9);
    } else if (name == "levels") {
      codec.levels = static_cast<std::size_t>(reader.integer("levels", 8, 1, 1024));
    } else {
      codec.trials = static_cast<std::size_t>(reader.integer("trials", 32, 0, 256));
    }
  }
  return reader.finish();
}

Json write_codec(const CodecConfig& codec) {
  Json json = Json().set("kind", codec.kind).set("block", static_cast<std::int64_t>(codec.block));
  const std::map<std::string, Json> values{{"step", codec.step},
                                           {"rounding", codec.rounding},
                                           {"density", codec.density},
                                           {"kept", static_cast<std::int64_t>(codec.kept)},
                                           {"rank", static_cast<std::int64_t>(codec.rank)},
                                           {"columns", static_cast<std::int64_t>(codec.columns)},
                                           {"clip", codec.clip},
                                           {"levels", static_cast<std::int64_t>(codec.levels)},
                                           {"trials", static_cast<std::int64_t>(codec.trials)}};
  for (const std::string& name : codec_parameters(codec.kind)) {
    json.set(name, values.at(name));
  }
  return json;
}

Result<CodecConfig> parse_codec_spec(const std::string& text, const std::string& what) {
  const Result<Json> json = read_spec_text(text, what, "int8:block=256");
  if (!json.ok()) {
    return json.error();
  }
  CodecConfig config;
  Result<void> good = read_codec(json.value(), config);
  if (good.ok()) {
    good = validate(config);
  }
  if (!good.ok()) {
    return make_error(ErrorCode::kInvalidArgument, "%s %s: %s", what.c_str(), text.c_str(),
                      good.error().message.c_str());
  }
  return config;
}

const std::vector<std::string>& compared_codecs() {
  static const std::vector<std::string> kSpecs = [] {
    std::vector<std::string> specs;
    for (const std::string& kind : codec_kinds()) {
      if (codec_parameters(kind).empty()) {
        specs.push_back(kind);
      }
    }
    for (const char* spec :
         {"eq:step=0.34", "eq:step=0.5", "eq:step=1", "eq:step=2,rounding=0.4", "eq:step=3",
          "top-k:density=0.1", "top-k:density=0.01", "random-k:density=0.1", "stc:density=0.01",
          "dct-top-k:kept=32", "power-sgd:rank=4", "lq-sgd:rank=4",
          "binomial:clip=4,levels=32,trials=32"}) {
      specs.emplace_back(spec);
    }
    return specs;
  }();
  return kSpecs;
}

}  // namespace hobnob
