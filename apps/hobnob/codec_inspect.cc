#include "apps/hobnob/codec_inspect.h"

#include <algorithm>
#include <cstring>

#include "compress/codec_config.h"
#include "compress/element_rules.h"
#include "compress/message.h"

namespace hobnob {

namespace {

using message::FrameFields;
using message::HeaderFields;

constexpr std::uint8_t kFrameLog2 = 16;
constexpr std::uint8_t kBlockLog2 = 8;
static_assert(std::size_t{1} << kFrameLog2 == message::kFrameCount);
static_assert(std::size_t{1} << kBlockLog2 == message::kBlockCount);

// Of a message that its codec has checked.
template <typename T>
std::vector<T> decode_values(const MessageReport& report, ByteSpan bytes) {
  std::vector<T> values(report.header.count);
  const Result<void> added = report.codec->decode_add(bytes, 1.0, std::span<T>(values));
  HOBNOB_CHECK(added.ok(), "a message that passed check() was refused");
  return values;
}

FrameReport report_frame(const FrameFields& fields, std::size_t index, ByteSpan bytes) {
  const ByteSpan body = bytes.subspan(fields.body_offset(), fields.checked_bytes);
  FrameReport frame{.fields = fields};
  frame.checksum_holds = message::frame_checksum(body, index, fields.flags) == fields.checksum;
  for (std::size_t at = 0; at + 1 < fields.scale_bytes; at += 2) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, body.data() + at, sizeof bits);
    if (bits != 0) {
      const float scale = element::float_of_bf16(bits);
      frame.least_scale = frame.least_scale == 0.0F ? scale : std::min(frame.least_scale, scale);
      frame.largest_scale = std::max(frame.largest_scale, scale);
    }
  }
  return frame;
}

// Blocks of zeros among the values of frames flagged poison.
template <typename T>
std::size_t count_zero_blocks(const std::vector<FrameReport>& frames,
                              const std::vector<T>& values) {
  std::size_t blocks = 0;
  auto begin = values.begin();
  for (const FrameReport& frame : frames) {
    const auto end = begin + static_cast<std::ptrdiff_t>(frame.fields.count);
    while (begin != end) {
      const auto next = begin + std::min<std::ptrdiff_t>(end - begin, message::kBlockCount);
      const bool is_zero = std::all_of(begin, next, [](T value) { return value == T(0); });
      blocks += (frame.fields.flags & message::kPoison) != 0 && is_zero ? 1U : 0U;
      begin = next;
    }
  }
  return blocks;
}

// Collects what a field should hold and does not.
class Diagnosis {
 public:
  explicit Diagnosis(std::vector<MessageProblem>& problems) : problems_(problems) {}

  void add(std::size_t offset, const char* field, std::string text) {
    problems_.push_back({offset, field, std::move(text)});
  }

  // Notes a number that is another than the format's only one.
  void expect(std::size_t offset, const char* field, std::uint64_t found, std::uint64_t wanted) {
    if (found != wanted) {
      add(offset, field,
          format("%llu where %llu must be", static_cast<unsigned long long>(found),
                 static_cast<unsigned long long>(wanted)));
    }
  }

 private:
  std::vector<MessageProblem>& problems_;
};

void diagnose_header(const MessageReport& report, Diagnosis& diagnosis) {
  const HeaderFields& header = report.header;
  if (header.magic != message::kMagic) {
    diagnosis.add(message::kMagicAt, "magic",
                  format("%08x where %08x (\"HBCD\") must be: not a codec message", header.magic,
                         message::kMagic));
  }
  diagnosis.expect(message::kVersionAt, "version", header.version, message::kVersion);
  if (report.codec == nullptr) {
    diagnosis.add(message::kCodecAt, "codec", format("%u is no codec's number", header.codec));
  }
  if (header.type > static_cast<std::uint8_t>(DType::kFloat64)) {
    diagnosis.add(message::kTypeAt, "type", format("%u is no type's number", header.type));
  }
  diagnosis.expect(message::kFrameLog2At, "frame log2", header.frame_log2, kFrameLog2);
  diagnosis.expect(message::kBlockLog2At, "block log2", header.block_log2, kBlockLog2);
  if (header.count > kMaxInspectedValues) {
    diagnosis.add(message::kCountAt, "count",
                  format("%llu values; at most %zu are decoded here",
                         static_cast<unsigned long long>(header.count), kMaxInspectedValues));
  }
  if (header.total_bytes != report.bytes) {
    diagnosis.add(message::kTotalBytesAt, "total bytes",
                  format("%llu, and there are %zu",
                         static_cast<unsigned long long>(header.total_bytes), report.bytes));
  }
  if (!report.header_checksum_holds) {
    diagnosis.add(message::kChecksumAt, "header checksum",
                  format("%016llx does not fit the header",
                         static_cast<unsigned long long>(header.checksum)));
  }
}

void diagnose_frames(const MessageReport& report, Diagnosis& diagnosis) {
  std::size_t end = message::kHeaderBytes;
  std::size_t values = 0;
  for (std::size_t k = 0; k < report.frames.size(); ++k) {
    const FrameFields& fields = report.frames[k].fields;
    if ((fields.flags & ~(message::kZero | message::kPoison)) != 0) {
      diagnosis.add(fields.offset + 12, "flags",
                    format("frame %zu: %u is unknown", k, fields.flags));
    }
    if (!report.frames[k].checksum_holds) {
      diagnosis.add(fields.offset, "frame checksum",
                    format("frame %zu: %016llx does not fit its %zu bytes", k,
                           static_cast<unsigned long long>(fields.checksum), fields.body_bytes()));
    }
    end = fields.body_offset() + fields.body_bytes();
    values += fields.count;
  }
  if (values < report.header.count) {
    diagnosis.add(end, "frame",
                  format("frame %zu does not fit into the %zu bytes that are left",
                         report.frames.size(), report.bytes - end));
  } else if (end < report.bytes) {
    diagnosis.add(end, "end", format("%zu bytes more than the frames take", report.bytes - end));
  }
}

// Whether the frames found are those that are there.
bool is_followed(const MessageReport& report) {
  std::size_t end = message::kHeaderBytes;
  for (const FrameReport& frame : report.frames) {
    end = frame.fields.body_offset() + frame.fields.body_bytes();
  }
  return end == report.bytes && std::ranges::all_of(report.frames, &FrameReport::checksum_holds);
}

// Of a message that was refused as `why`.
void diagnose(MessageReport& report, const std::string& why) {
  Diagnosis diagnosis(report.problems);
  diagnose_header(report, diagnosis);
  if (report.problems.empty() && !is_low_rank(report.codec->id())) {
    diagnose_frames(report, diagnosis);
  }
  if (report.problems.empty()) {  // what only the codec understands
    diagnosis.add(message::kHeaderBytes, "body", why);
  }
}

}  // namespace

Error describe(const MessageProblem& problem, const std::string& name) {
  return make_error(ErrorCode::kInvalidArgument, "%s: %s at byte %zu: %s", name.c_str(),
                    problem.field.c_str(), problem.offset, problem.text.c_str());
}

MessageReport inspect_message(ByteSpan bytes) {
  MessageReport report{.bytes = bytes.size()};
  if (bytes.size() < message::kHeaderBytes) {
    report.problems.push_back(
        {0, "header",
         format("%zu bytes where a header of %zu must be", bytes.size(), message::kHeaderBytes)});
    return report;
  }
  report.header = message::read_header(bytes);
  report.header_checksum_holds = message::header_checksum(bytes.data()) == report.header.checksum;
  report.type = report.header.type == static_cast<std::uint8_t>(DType::kFloat64) ? DType::kFloat64
                                                                                 : DType::kFloat32;
  Result<std::unique_ptr<Codec>> codec = make_codec(CodecId{report.header.codec});
  if (codec.ok()) {
    report.codec = std::move(codec.value());
  }
  if (report.codec == nullptr || report.header.count > kMaxInspectedValues) {
    diagnose(report, "");
    return report;
  }
  for (const FrameFields& fields :
       message::read_frames(*report.codec, report.header.count, report.type, bytes)) {
    report.frames.push_back(report_frame(fields, report.frames.size(), bytes));
  }
  if (const auto* low_rank = dynamic_cast<const LowRankCodec*>(report.codec.get())) {
    const auto factors = low_rank->split(bytes, report.header.count);
    report.factors = factors.ok() ? std::optional(factors.value()) : std::nullopt;
  }
  const Result<void> taken = report.codec->check(bytes, report.header.count, report.type);
  if (!taken.ok()) {
    diagnose(report, taken.error().message);
  } else if (!is_followed(report)) {
    report.frames.clear();
  } else if (report.type == DType::kFloat64) {
    report.zero_blocks = count_zero_blocks(report.frames, decode_values<double>(report, bytes));
  } else {
    report.zero_blocks = count_zero_blocks(report.frames, decode_values<float>(report, bytes));
  }
  return report;
}

Result<std::vector<float>> decode_message(ByteSpan bytes, const std::string& name) {
  const MessageReport report = inspect_message(bytes);
  if (!report.problems.empty()) {
    return describe(report.problems.front(), name);
  }
  if (report.type == DType::kFloat32) {
    return decode_values<float>(report, bytes);
  }
  const std::vector<double> values = decode_values<double>(report, bytes);
  return std::vector<float>(values.begin(), values.end());
}

}  // namespace hobnob
