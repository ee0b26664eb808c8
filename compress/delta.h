#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "compress/element_rules.h"
#include "runtime/compute/vector.h"

namespace hobnob {

// Of magnitude_bits(); 0 of none.
std::uint32_t largest_magnitude(std::span<const float> values);

// What a codec reads: x, or x - hat, as float32. Borrows float32; float64 is rounded once, after
// the subtraction, into a copy.
class Delta {
 public:
  explicit Delta(ConstVec x) : count_(x.count()) {
    if (x.type() == DType::kFloat32) {
      x_ = x.as<float>().data();
    } else {
      const std::span<const double> values = x.as<double>();
      rounded_.assign(count_, 0.0F);
      for (std::size_t k = 0; k < count_; ++k) {
        rounded_[k] = static_cast<float>(values[k]);
      }
      x_ = rounded_.data();
    }
  }

  // x and hat have one count and one type.
  Delta(ConstVec x, ConstVec hat) : count_(x.count()) {
    HOBNOB_CHECK(x.count() == hat.count() && x.type() == hat.type(),
                 "a difference of unlike views");
    if (x.type() == DType::kFloat32) {
      x_ = x.as<float>().data();
      hat_ = hat.as<float>().data();
    } else {
      const std::span<const double> values = x.as<double>();
      const std::span<const double> base = hat.as<double>();
      rounded_.assign(count_, 0.0F);
      for (std::size_t k = 0; k < count_; ++k) {
        rounded_[k] = static_cast<float>(element::add(values[k], -base[k]));
      }
      x_ = rounded_.data();
    }
  }

  Delta(const Delta&) = delete;
  Delta& operator=(const Delta&) = delete;

  std::size_t count() const { return count_; }

  const float* x() const { return x_; }

  // Null when the values are x itself.
  const float* hat() const { return hat_; }

  // Fills `out` with the values from `start` on; returns their largest_magnitude().
  std::uint32_t load(std::size_t start, std::span<float> out) const;

  float at(std::size_t k) const { return hat_ == nullptr ? x_[k] : element::add(x_[k], -hat_[k]); }

 private:
  std::size_t count_;
  std::vector<float> rounded_;
  const float* x_ = nullptr;
  const float* hat_ = nullptr;
};

}  // namespace hobnob
