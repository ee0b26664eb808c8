#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace hobnob {

// numpy.random.default_rng(seed).random(): SeedSequence and PCG64 (O'Neill 2014), bit for bit, for
// tests against what was measured with it. Names and constants are numpy's.
class NumpyRandom {
 public:
  explicit NumpyRandom(std::uint64_t seed) {
    const std::array<std::uint32_t, 8> words = seed_words(seed);
    increment_ = wide_word(words, 1) << 1U | 1U;
    state_ = (increment_ + wide_word(words, 0)) * kMultiplier + increment_;
  }

  // Uniform in [0, 1), 53 bits.
  double uniform() {
    state_ = state_ * kMultiplier + increment_;
    const auto folded =
        static_cast<std::uint64_t>(state_ >> 64U) ^ static_cast<std::uint64_t>(state_);
    const std::uint64_t word = std::rotr(folded, static_cast<int>(state_ >> 122U));
    return static_cast<double>(word >> 11U) * 0x1.0p-53;
  }

 private:
  __extension__ using Wide = unsigned __int128;

  static constexpr Wide kMultiplier = Wide{0x2360ED051FC65DA4} << 64U | 0x4385DF649FCCF645;

  static std::array<std::uint32_t, 8> seed_words(std::uint64_t seed) {
    std::array<std::uint32_t, 4> pool{};
    std::uint32_t hash = 0x43B0D7E5;
    const auto hash_mix = [&hash](std::uint32_t value) {
      value ^= hash;
      hash *= 0x931E8875;
      value *= hash;
      return value ^ value >> 16U;
    };
    const std::array<std::uint32_t, 4> entropy = {static_cast<std::uint32_t>(seed),
                                                  static_cast<std::uint32_t>(seed >> 32U)};
    for (std::size_t k = 0; k < pool.size(); ++k) {
      pool[k] = hash_mix(entropy[k]);
    }
    for (std::size_t source = 0; source < pool.size(); ++source) {
      for (std::size_t target = 0; target < pool.size(); ++target) {
        if (source != target) {
          const std::uint32_t mixed =
              0xCA01F9DDU * pool[target] - 0x4973F715U * hash_mix(pool[source]);
          pool[target] = mixed ^ mixed >> 16U;
        }
      }
    }
    std::array<std::uint32_t, 8> words{};
    std::uint32_t output_hash = 0x8B51F9DD;
    for (std::size_t k = 0; k < words.size(); ++k) {
      std::uint32_t word = pool[k % pool.size()] ^ output_hash;
      output_hash *= 0x58F38DED;
      word *= output_hash;
      words[k] = word ^ word >> 16U;
    }
    return words;
  }

  // Words 4 k to 4 k + 3: each pair has its low half first, the pairs their high one.
  static Wide wide_word(const std::array<std::uint32_t, 8>& words, std::size_t k) {
    const auto pair = [&words](std::size_t first) {
      return std::uint64_t{words[first + 1]} << 32U | words[first];
    };
    return Wide{pair(4 * k)} << 64U | pair(4 * k + 2);
  }

  Wide state_ = 0;
  Wide increment_ = 0;
};

}  // namespace hobnob
