#include "apps/hobnob/codec_values.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "apps/hobnob/read_file.h"
#include "runtime/base/check.h"
#include "runtime/base/rng.h"
#include "runtime/base/text.h"

namespace hobnob {

namespace {

constexpr std::string_view kNpyMagic = "\x93NUMPY";
constexpr std::size_t kMaxNpyHeader = 65536;

Error bad_npy(const std::string& name, const std::string& why) {
  return make_error(ErrorCode::kInvalidArgument, "%s: %s", name.c_str(), why.c_str());
}

// What follows 'key': in the dictionary of a NumPy header, without leading blanks.
std::string_view npy_entry(std::string_view header, const std::string& key) {
  const std::size_t at = header.find("'" + key + "':");
  if (at == std::string_view::npos) {
    return {};
  }
  const std::string_view rest = header.substr(at + key.size() + 3);
  return rest.substr(std::min(rest.find_first_not_of(' '), rest.size()));
}

// The product of "(3, 4)"; "()" is one value.
std::optional<std::size_t> npy_count(std::string_view shape) {
  const std::size_t close = shape.find(')');
  if (shape.empty() || shape.front() != '(' || close == std::string_view::npos) {
    return std::nullopt;
  }
  std::size_t count = 1;
  for (std::string part : split(shape.substr(1, close - 1), ',')) {
    std::erase(part, ' ');
    if (part.empty()) {
      continue;  // after the last comma
    }
    const auto size = parse_number<std::size_t>(part);
    if (!size || __builtin_mul_overflow(count, *size, &count)) {
      return std::nullopt;
    }
  }
  return count;
}

std::vector<float> floats_of(ByteSpan bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  if (!values.empty()) {
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  }
  return values;
}

double draw(const std::string& source, Rng& rng) {
  if (source == "gauss") {
    return rng.normal();
  }
  if (source == "laplace") {
    const double sign = rng.uniform() < 0.5 ? -1.0 : 1.0;
    return -sign * std::log(1.0 - rng.uniform());
  }
  HOBNOB_CHECK(source == "t3", "a source nobody knows");
  const double normal = rng.normal();
  return normal / std::sqrt(2.0 * rng.gamma(1.5) / 3.0);
}

}  // namespace

const std::vector<std::string>& value_sources() {
  static const std::vector<std::string> sources{"gauss", "laplace", "t3"};
  return sources;
}

std::vector<float> draw_values(const std::string& source, std::size_t count, std::uint64_t seed) {
  Rng rng({.seed = seed, .stream = hash_bytes(as_bytes(source))});
  std::vector<float> values(count);
  for (float& value : values) {
    value = static_cast<float>(draw(source, rng));
  }
  return values;
}

Result<std::vector<float>> read_npy(ByteSpan bytes, const std::string& name) {
  ByteReader reader(bytes);
  const bool is_npy = as_text(reader.get_bytes(kNpyMagic.size())) == kNpyMagic;
  const auto version = reader.get<std::uint8_t>();
  reader.get<std::uint8_t>();  // minor
  const std::size_t length =
      version == 1 ? reader.get<std::uint16_t>() : reader.get<std::uint32_t>();
  if (!is_npy || !reader.ok() || version < 1 || version > 3 || length > kMaxNpyHeader) {
    return bad_npy(name, "not a NumPy file of version 1 to 3");
  }
  const std::string_view header = as_text(reader.get_bytes(length));
  if (!reader.ok()) {
    return bad_npy(name, "ends within its NumPy header");
  }
  const std::string_view type = npy_entry(header, "descr");
  if (!type.starts_with("'<f4'")) {
    const std::string_view shown = type.substr(0, std::min(type.find(','), type.size()));
    return bad_npy(name,
                   format("holds %.*s, not '<f4'; save it with array.astype('<f4')",
                          static_cast<int>(std::min<std::size_t>(shown.size(), 40)), shown.data()));
  }
  const auto count = npy_count(npy_entry(header, "shape"));
  if (!count) {
    return bad_npy(name, "its NumPy header has no readable shape");
  }
  if (reader.left() % sizeof(float) != 0 || reader.left() / sizeof(float) != *count) {
    return bad_npy(name, format("%zu bytes follow the NumPy header, whose shape has %zu values",
                                reader.left(), *count));
  }
  return floats_of(reader.rest());
}

Result<std::vector<float>> read_value_file(const std::string& path) {
  const Result<std::string> text =
      read_file(path, "values", kMaxFileValues * sizeof(float) + kMaxNpyHeader);
  if (!text.ok()) {
    return text.error();
  }
  const ByteSpan bytes = as_bytes(text.value());
  if (text.value().empty()) {
    return bad_npy(path, "is empty");
  }
  if (text.value().starts_with(kNpyMagic)) {
    Result<std::vector<float>> values = read_npy(bytes, path);
    if (values.ok() && values.value().empty()) {
      return bad_npy(path, "holds no values");
    }
    return values;
  }
  if (path.ends_with(".npy")) {
    return bad_npy(path, "does not begin as a NumPy file");
  }
  if (bytes.size() % sizeof(float) != 0) {
    return bad_npy(path, format("%zu bytes are no whole number of float32 values", bytes.size()));
  }
  return floats_of(bytes);
}

Result<void> write_binary_file(const std::string& path, ByteSpan bytes) {
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored)) {
    return make_error(ErrorCode::kInvalidArgument, "OUT %s: is there and is not a file",
                      path.c_str());
  }
  const std::string partial = path + ".partial";
  std::FILE* file = std::fopen(partial.c_str(), "wb");
  int failed = file == nullptr ? errno : 0;
  if (file != nullptr) {
    if (std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size()) {
      failed = errno;
    }
    if (std::fclose(file) != 0 && failed == 0) {
      failed = errno;
    }
    if (failed == 0 && std::rename(partial.c_str(), path.c_str()) != 0) {
      failed = errno;
    }
  }
  if (failed != 0) {
    if (file != nullptr) {
      std::remove(partial.c_str());
    }
    return make_error(ErrorCode::kInvalidArgument, "OUT %s: cannot be written: %s", path.c_str(),
                      std::strerror(failed));
  }
  return {};
}

}  // namespace hobnob
