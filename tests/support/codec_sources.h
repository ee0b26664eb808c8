#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/rng.h"

namespace hobnob {

// `count` draws of a source of unit scale: gauss, laplace, or Student's t with 3 degrees of
// freedom.
inline std::vector<float> codec_source(const std::string& kind,
                                       std::size_t count,
                                       std::uint64_t seed) {
  Rng rng({.seed = seed, .stream = 77});
  std::vector<float> values(count);
  for (float& value : values) {
    double draw = rng.normal();
    if (kind == "laplace") {
      const double u = rng.uniform() - 0.5;
      draw = std::copysign(-std::log(1.0 - 2.0 * std::abs(u)), u);
    } else if (kind == "t3") {
      const double a = rng.normal();
      const double b = rng.normal();
      const double c = rng.normal();
      draw /= std::sqrt((a * a + b * b + c * c) / 3.0);
    }
    value = static_cast<float>(draw);
  }
  return values;
}

}  // namespace hobnob
