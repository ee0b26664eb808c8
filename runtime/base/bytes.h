#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

// Explicit little-endian reading and writing; memory layout is never the wire format.

namespace hobnob {

static_assert(std::endian::native == std::endian::little,
              "byte layouts assume a little-endian host");

using Bytes = std::vector<std::byte>;
using ByteSpan = std::span<const std::byte>;

// Immutable bytes fanned out to many peers or kept for retransmission.
using SharedBytes = std::shared_ptr<const Bytes>;

inline SharedBytes share(Bytes bytes) {
  return std::make_shared<const Bytes>(std::move(bytes));
}

inline ByteSpan as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

inline std::string_view as_text(ByteSpan bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// One value from or to bytes that need no alignment.
template <typename T>

requires std::is_arithmetic_v<T>

    T load_value(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <typename T>
requires std::is_arithmetic_v<T>

void store_value(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

// Appends to a vector it does not own.
class ByteWriter {
 public:
  explicit ByteWriter(Bytes& out) : out_(out) {}

  template <typename T>
  requires std::is_arithmetic_v<T>

  void put(T value) { put_bytes(std::as_bytes(std::span(&value, 1))); }

  void put_bytes(ByteSpan bytes) {
    const std::size_t at = out_.size();
    out_.resize(at + bytes.size());
    if (!bytes.empty()) {
      std::memcpy(out_.data() + at, bytes.data(), bytes.size());
    }
  }

  // u16 length, then the text. Longer text is a bug.
  void put_text(std::string_view text);

  std::size_t size() const { return out_.size(); }

 private:
  Bytes& out_;
};

// Reads a borrowed span. Fails stickily: after the first short read every read gives zero and ok()
// is false, so a decoder tests once at its end.
class ByteReader {
 public:
  explicit ByteReader(ByteSpan bytes) : bytes_(bytes) {}

  template <typename T>

  requires std::is_arithmetic_v<T> T get() {
    T value{};
    const ByteSpan source = get_bytes(sizeof(T));
    if (source.size() == sizeof(T)) {
      std::memcpy(&value, source.data(), sizeof(T));
    }
    return value;
  }

  // The next `count` bytes, or an empty span and failure.
  ByteSpan get_bytes(std::size_t count);

  // u16 length, then text of at most `limit` bytes.
  std::string get_text(std::size_t limit);

  ByteSpan rest() { return get_bytes(left()); }

  std::size_t left() const { return bytes_.size(); }

  void fail() { ok_ = false; }

  bool ok() const { return ok_; }

  // Good and nothing left over: what a total decoder returns on.
  bool done() const { return ok_ && bytes_.empty(); }

 private:
  ByteSpan bytes_;
  bool ok_ = true;
};

}  // namespace hobnob
