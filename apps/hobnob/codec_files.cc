// hobnob codec inspect | encode | decode: messages in files.

#include <algorithm>
#include <cstdio>

#include "apps/hobnob/codec_commands.h"
#include "apps/hobnob/codec_inspect.h"
#include "apps/hobnob/codec_spec.h"
#include "apps/hobnob/codec_values.h"
#include "apps/hobnob/commands.h"
#include "apps/hobnob/read_file.h"
#include "apps/hobnob/text_table.h"
#include "compress/message.h"
#include "runtime/base/json.h"

namespace hobnob {

namespace {

// The longest that could be decoded, as raw float64.
constexpr std::size_t kMaxMessageFileBytes = kMaxInspectedValues * 8 + (std::size_t{1} << 24U);
constexpr std::size_t kShownFrames = 16;

// Of all frames together.
struct Summary {
  std::size_t good_checksums = 0;
  std::size_t zero_frames = 0;
  std::size_t poisoned_frames = 0;
  float least_scale = 0.0F;
  float largest_scale = 0.0F;
};

Summary summarize(const MessageReport& message) {
  Summary sum;
  for (const FrameReport& frame : message.frames) {
    sum.good_checksums += frame.checksum_holds ? 1U : 0U;
    sum.zero_frames += (frame.fields.flags & message::kZero) != 0 ? 1U : 0U;
    sum.poisoned_frames += (frame.fields.flags & message::kPoison) != 0 ? 1U : 0U;
    if (frame.least_scale != 0.0F) {
      sum.least_scale = sum.least_scale == 0.0F ? frame.least_scale
                                                : std::min(sum.least_scale, frame.least_scale);
      sum.largest_scale = std::max(sum.largest_scale, frame.largest_scale);
    }
  }
  return sum;
}

std::string codec_name(const MessageReport& message) {
  const std::string kind = codec_kind(CodecId{message.header.codec});
  return kind.empty() ? "unknown" : kind;
}

const char* type_name(const MessageReport& message) {
  return message.type == DType::kFloat64 ? "float64" : "float32";
}

double bits_per_value(const MessageReport& message) {
  return 8.0 * static_cast<double>(message.bytes) / static_cast<double>(message.header.count);
}

std::string flags_text(std::uint32_t flags) {
  std::string text;
  text += (flags & message::kZero) != 0 ? "zero " : "";
  text += (flags & message::kPoison) != 0 ? "poison " : "";
  if (const std::uint32_t others = flags & ~(message::kZero | message::kPoison); others != 0) {
    text += format("unknown %x ", others);
  }
  return text.empty() ? "-" : text.substr(0, text.size() - 1);
}

void print_frames(const MessageReport& message) {
  TextTable table({"frame", "byte", "values", "scale bytes", "payload bytes", "flags", "checksum"});
  const std::size_t shown = std::min(message.frames.size(), kShownFrames);
  for (std::size_t k = 0; k < shown; ++k) {
    const FrameReport& frame = message.frames[k];
    table.add({std::to_string(k), std::to_string(frame.fields.offset),
               std::to_string(frame.fields.count), std::to_string(frame.fields.scale_bytes),
               std::to_string(frame.fields.payload_bytes), flags_text(frame.fields.flags),
               frame.checksum_holds ? "ok" : "differs"});
  }
  std::printf("\n%s", table.text().c_str());
  if (shown < message.frames.size()) {
    std::printf("and %zu more; --json has all\n", message.frames.size() - shown);
  }
}

void print_text(const MessageReport& message, const std::string& name) {
  std::printf("%s: %zu bytes, %s\n", name.c_str(), message.bytes,
              message.problems.empty() ? "good" : "damaged");
  for (const MessageProblem& problem : message.problems) {
    std::printf("  %s at byte %zu: %s\n", problem.field.c_str(), problem.offset,
                problem.text.c_str());
  }
  if (message.bytes < message::kHeaderBytes) {
    return;
  }
  const message::HeaderFields& header = message.header;
  const Summary sum = summarize(message);
  std::printf("version    %u\ncodec      %s (%u)\ntype       %s\n", header.version,
              codec_name(message).c_str(), header.codec, type_name(message));
  if (message.factors) {
    std::printf("values     %llu as %zu rows of %zu, rank %zu\n",
                static_cast<unsigned long long>(header.count), message.factors->rows,
                message.factors->columns, message.factors->rank);
  } else {
    std::printf("values     %llu in %zu frames of up to %zu, blocks of %zu\n",
                static_cast<unsigned long long>(header.count), message.frames.size(),
                message::kFrameCount, message::kBlockCount);
  }
  if (header.count > 0) {
    std::printf("bits/value %.3f\n", bits_per_value(message));
  }
  if (message.factors) {
    std::printf("checksums  header %s\n", message.header_checksum_holds ? "ok" : "differs");
    return;
  }
  std::printf("checksums  header %s, %zu of %zu frames ok\n",
              message.header_checksum_holds ? "ok" : "differs", sum.good_checksums,
              message.frames.size());
  std::printf("flags      %zu frames zero, %zu poisoned", sum.zero_frames, sum.poisoned_frames);
  if (sum.poisoned_frames > 0 && message.problems.empty()) {
    std::printf(" (1 to %zu blocks)", message.zero_blocks);
  }
  std::printf("\n");
  if (sum.least_scale != 0.0F) {
    std::printf("scales     %.4g to %.4g\n", static_cast<double>(sum.least_scale),
                static_cast<double>(sum.largest_scale));
  }
  if (!message.frames.empty()) {
    print_frames(message);
  }
}

Json frame_json(const FrameReport& frame) {
  const auto number = [](std::size_t value) { return Json(std::uint64_t{value}); };
  return Json()
      .set("offset", number(frame.fields.offset))
      .set("values", number(frame.fields.count))
      .set("scale_bytes", number(frame.fields.scale_bytes))
      .set("payload_bytes", number(frame.fields.payload_bytes))
      .set("zero", (frame.fields.flags & message::kZero) != 0)
      .set("poison", (frame.fields.flags & message::kPoison) != 0)
      .set("checksum", format("%016llx", static_cast<unsigned long long>(frame.fields.checksum)))
      .set("checksum_holds", frame.checksum_holds)
      .set("least_scale", static_cast<double>(frame.least_scale))
      .set("largest_scale", static_cast<double>(frame.largest_scale));
}

void print_json(const MessageReport& message, const std::string& name) {
  Json problems(Json::Array{});
  for (const MessageProblem& problem : message.problems) {
    problems.push(Json()
                      .set("offset", std::uint64_t{problem.offset})
                      .set("field", problem.field)
                      .set("problem", problem.text));
  }
  Json frames(Json::Array{});
  for (const FrameReport& frame : message.frames) {
    frames.push(frame_json(frame));
  }
  const message::HeaderFields& header = message.header;
  const Summary sum = summarize(message);
  Json json;
  json.set("schema", "hobnob.codec-inspect/1")
      .set("file", name)
      .set("bytes", std::uint64_t{message.bytes})
      .set("good", message.problems.empty())
      .set("problems", std::move(problems))
      .set("version", static_cast<std::int64_t>(header.version))
      .set("codec", codec_name(message))
      .set("codec_id", static_cast<std::int64_t>(header.codec))
      .set("type", type_name(message))
      // As text where JSON's integers end.
      .set("values", header.count <= kMaxInspectedValues ? Json(header.count)
                                                         : Json(std::to_string(header.count)))
      .set("bits_per_value", header.count == 0 ? Json() : Json(bits_per_value(message)))
      .set("header_checksum_holds", message.header_checksum_holds)
      .set("poisoned_frames", std::uint64_t{sum.poisoned_frames})
      .set("zero_blocks_in_poisoned_frames", std::uint64_t{message.zero_blocks})
      .set("least_scale", static_cast<double>(sum.least_scale))
      .set("largest_scale", static_cast<double>(sum.largest_scale))
      .set("frames", std::move(frames));
  if (message.factors) {
    json.set("rank", std::uint64_t{message.factors->rank})
        .set("rows", std::uint64_t{message.factors->rows})
        .set("columns", std::uint64_t{message.factors->columns});
  }
  std::printf("%s\n", json.dump(2).c_str());
}

}  // namespace

int run_codec_inspect(const CodecInspectOptions& options) {
  const Result<std::string> text = read_file(options.file, "message", kMaxMessageFileBytes);
  if (!text.ok()) {
    return report(text.error());
  }
  const MessageReport message = inspect_message(as_bytes(text.value()));
  if (options.json) {
    print_json(message, options.file);
  } else {
    print_text(message, options.file);
  }
  return message.problems.empty() ? kExitDone
                                  : report(describe(message.problems.front(), options.file));
}

int run_codec_encode(const CodecFileOptions& options) {
  const Result<CodecConfig> config = parse_codec_spec(options.codec, "--codec");
  if (!config.ok()) {
    return report(config.error());
  }
  const Result<std::vector<float>> values = read_value_file(options.in);
  if (!values.ok()) {
    return report(values.error());
  }
  Bytes message;
  const std::size_t poisoned =
      make_codec(config.value())
          ->encode(std::span(values.value()), {.seed = options.seed}, message);
  const Result<void> written = write_binary_file(options.out, message);
  if (!written.ok()) {
    return report(written.error());
  }
  std::printf(
      "%s: %zu values, %zu bytes, %.3f bits/value", options.out.c_str(), values.value().size(),
      message.size(),
      8.0 * static_cast<double>(message.size()) / static_cast<double>(values.value().size()));
  std::printf("%s\n", poisoned > 0
                          ? format(", %zu blocks poisoned (sent as zeros)", poisoned).c_str()
                          : "");
  return kExitDone;
}

int run_codec_decode(const CodecFileOptions& options) {
  const Result<std::string> text = read_file(options.in, "message", kMaxMessageFileBytes);
  if (!text.ok()) {
    return report(text.error());
  }
  const Result<std::vector<float>> values = decode_message(as_bytes(text.value()), options.in);
  if (!values.ok()) {
    return report(values.error());
  }
  const Result<void> written =
      write_binary_file(options.out, std::as_bytes(std::span(values.value())));
  if (!written.ok()) {
    return report(written.error());
  }
  std::printf("%s: %zu values\n", options.out.c_str(), values.value().size());
  return kExitDone;
}

}  // namespace hobnob
