#pragma once

#include <string>
#include <vector>

#include "compress/codec_config.h"
#include "runtime/base/json.h"
#include "runtime/base/result.h"

// How people name codecs: in a job, and on the command line.

namespace hobnob {

// The object gossip.codec of a job.
Result<void> read_codec(const Json& json, CodecConfig& codec);
Json write_codec(const CodecConfig& codec);

// KIND, or KIND:key=value,key=value with the keys of a job. `what` is named in errors.
Result<CodecConfig> parse_codec_spec(const std::string& text, const std::string& what);

// One spec or more of every kind: what `hobnob codec bench` compares unless told.
const std::vector<std::string>& compared_codecs();

}  // namespace hobnob
