#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "runtime/base/check.h"

namespace hobnob {

// Working precision belongs to the vector: float64 in the simulator's problems with known answers,
// float32 live.
enum class DType : std::uint8_t { kFloat32 = 0, kFloat64 = 1 };

constexpr std::size_t bytes_of(DType type) {
  return type == DType::kFloat32 ? 4 : 8;
}

// Borrowed views of device memory; valid as long as the buffer they came from.
template <bool kConst>
class VecView {
 public:
  using Pointer = std::conditional_t<kConst, const void*, void*>;

  VecView() = default;

  VecView(Pointer data, std::size_t count, DType type) : data_(data), count_(count), type_(type) {}

  VecView(std::span<std::conditional_t<kConst, const float, float>>
              v)  // NOLINT(google-explicit-constructor)
      : data_(v.data()), count_(v.size()), type_(DType::kFloat32) {}

  VecView(std::span<std::conditional_t<kConst, const double, double>>
              v)  // NOLINT(google-explicit-constructor)
      : data_(v.data()), count_(v.size()), type_(DType::kFloat64) {}

  // NOLINTNEXTLINE(google-explicit-constructor): a writable view reads too.
  operator VecView<true>() const { return {data_, count_, type_}; }

  template <typename T>
  auto as() const {
    using Element = std::conditional_t<kConst, const T, T>;
    HOBNOB_CHECK(sizeof(T) == bytes_of(type_), "view read as another type");
    return std::span<Element>(static_cast<Element*>(data_), count_);
  }

  VecView slice(std::size_t offset, std::size_t count) const {
    HOBNOB_CHECK(offset <= count_ && count <= count_ - offset, "slice outside the view");
    using Byte = std::conditional_t<kConst, const std::byte, std::byte>;
    return {static_cast<Byte*>(data_) + offset * bytes_of(type_), count, type_};
  }

  Pointer data() const { return data_; }

  std::size_t count() const { return count_; }

  std::size_t size_bytes() const { return count_ * bytes_of(type_); }

  DType type() const { return type_; }

 private:
  Pointer data_ = nullptr;
  std::size_t count_ = 0;
  DType type_ = DType::kFloat32;
};

using Vec = VecView<false>;
using ConstVec = VecView<true>;

// Owned device memory, zeroed. Moves, does not copy.
class Buffer {
 public:
  Buffer() = default;

  Buffer(std::shared_ptr<void> memory, std::size_t count, DType type)
      : memory_(std::move(memory)), count_(count), type_(type) {}

  Buffer(Buffer&&) = default;
  Buffer& operator=(Buffer&&) = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() = default;

  Vec view() { return {memory_.get(), count_, type_}; }

  ConstVec view() const { return {memory_.get(), count_, type_}; }

  std::size_t count() const { return count_; }

  bool empty() const { return count_ == 0; }

 private:
  std::shared_ptr<void> memory_;
  std::size_t count_ = 0;
  DType type_ = DType::kFloat32;
};

// Element-wise work on vectors of one device. Views of one call have equal counts; types may differ
// where said "mixed". Thread-safe: no state.
class VectorOps {
 public:
  virtual ~VectorOps() = default;

  virtual Buffer allocate(DType type, std::size_t count) const = 0;
  // target = source; mixed (rounds to nearest).
  virtual void copy(ConstVec source, Vec target) const = 0;
  virtual void fill(double value, Vec target) const = 0;
  // y += alpha * x; mixed. In float64 when y is, else in float32: one rounded multiply, one rounded
  // add.
  virtual void axpy(double alpha, ConstVec x, Vec y) const = 0;
  // into += scale * (a - b); the three of one type. (a - b) and scale * (b - a) are exact
  // negatives.
  virtual void add_difference(double scale, ConstVec a, ConstVec b, Vec into) const = 0;
  // out = a - b; a, b of one type, out the same or float32 (rounded once).
  virtual void subtract(ConstVec a, ConstVec b, Vec out) const = 0;
  // sum (a - b)^2 and sum a^2, accumulated in float64.
  virtual double squared_distance(ConstVec a, ConstVec b) const = 0;
  virtual double squared_norm(ConstVec a) const = 0;
};

// The CPU reference. One per process is enough; it has no state.
const VectorOps& cpu_vector_ops();

}  // namespace hobnob
