#pragma once

#include <array>
#include <cstddef>

// The constants of dct64.h. Part of the wire format: they never change.

namespace hobnob {

// sqrt(1/32) cos(pi m / 128), m = 0..64, to nearest.
constexpr std::array<float, 65> kDctCosines{
    0x1.6a09e6p-3F, 0x1.69edfcp-3F, 0x1.699a42p-3F, 0x1.690ec6p-3F, 0x1.684b9cp-3F, 0x1.6750e4p-3F,
    0x1.661ec2p-3F, 0x1.64b568p-3F, 0x1.63150cp-3F, 0x1.613deep-3F, 0x1.5f3056p-3F, 0x1.5cec98p-3F,
    0x1.5a730cp-3F, 0x1.57c414p-3F, 0x1.54e018p-3F, 0x1.51c78cp-3F, 0x1.4e7aeap-3F, 0x1.4afab2p-3F,
    0x1.474772p-3F, 0x1.4361bap-3F, 0x1.3f4a24p-3F, 0x1.3b015p-3F,  0x1.3687eap-3F, 0x1.31dea2p-3F,
    0x1.2d062ep-3F, 0x1.27ff5p-3F,  0x1.22caccp-3F, 0x1.1d6972p-3F, 0x1.17dc14p-3F, 0x1.12238ep-3F,
    0x1.0c40c2p-3F, 0x1.063498p-3F, 0x1p-3F,        0x1.f347dcp-4F, 0x1.e642b8p-4F, 0x1.d8f29ap-4F,
    0x1.cb598cp-4F, 0x1.bd79aap-4F, 0x1.af5516p-4F, 0x1.a0edfep-4F, 0x1.92469cp-4F, 0x1.836132p-4F,
    0x1.74400ap-4F, 0x1.64e57cp-4F, 0x1.5553e4p-4F, 0x1.458daap-4F, 0x1.35953cp-4F, 0x1.256d12p-4F,
    0x1.1517a8p-4F, 0x1.049782p-4F, 0x1.e7de5ep-5F, 0x1.c6427ap-5F, 0x1.a4608ap-5F, 0x1.823dc8p-5F,
    0x1.5fdf76p-5F, 0x1.3d4aep-5F,  0x1.1a855ep-5F, 0x1.ef2894p-6F, 0x1.a8fa12p-6F, 0x1.628a08p-6F,
    0x1.1be352p-6F, 0x1.aa21a8p-7F, 0x1.1c3af6p-7F, 0x1.1c50e2p-8F, 0.0F,
};

// sqrt(1/32) cos(pi m / 128) for any m.
constexpr float dct_cosine(std::size_t m) {
  m %= 256;
  m = m > 128 ? 256 - m : m;
  return m > 64 ? -kDctCosines[128 - m] : kDctCosines[m];
}

// The odd coefficients of a transform of 2 kHalf values: entry j kHalf + n multiplies the n-th
// difference for coefficient 2j + 1. Symmetric, so it serves the inverse too.
template <std::size_t kHalf>
constexpr std::array<float, kHalf * kHalf> dct_odd_matrix() {
  std::array<float, kHalf * kHalf> matrix{};
  for (std::size_t j = 0; j < kHalf; ++j) {
    for (std::size_t n = 0; n < kHalf; ++n) {
      matrix[j * kHalf + n] = dct_cosine((2 * j + 1) * (2 * n + 1) * (32 / kHalf));
    }
  }
  return matrix;
}

template <std::size_t kHalf>
inline constexpr std::array<float, kHalf * kHalf> kDctOdd = dct_odd_matrix<kHalf>();

}  // namespace hobnob
