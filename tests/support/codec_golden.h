#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/hash.h"

// What every codec makes of one vector, on every machine: hash_bytes() of the message and of the
// base after encode_advance(), from a base of 0.25, with RngKey{1, 2}. A new codec appends its row;
// a changed row is a changed wire format.

namespace hobnob {

inline std::vector<float> golden_values(std::size_t count = 70000) {
  std::vector<float> values(count);
  for (std::size_t k = 0; k < count; ++k) {
    values[k] = static_cast<float>(static_cast<std::int64_t>(mix64(k) >> 44U) - (1 << 19)) / 1024;
  }
  return values;
}

inline const std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> kGoldenHashes{
    {"raw", {0x3053fb787a7f8cf0ULL, 0x86a418fd597dd23eULL}},
    {"fp32", {0x13cf2e54d536162eULL, 0x86a418fd597dd23eULL}},
    {"bf16", {0x52fda1ba20e2e9deULL, 0xfdda3564a3defc73ULL}},
    {"int8", {0x72eb06f9551027edULL, 0x66e87e1c6c8de5edULL}},
    {"fp16", {0x7f76dfa9ecf5a613ULL, 0x8999579d81fd34dcULL}},
    {"int4", {0x634f4597f1cf141aULL, 0x02ae6cd4c82dedbfULL}},
    {"nf4", {0x2f36513fd7af9bcaULL, 0x53720f7d9f6fbee3ULL}},
    {"lm4", {0xc214f3680037861cULL, 0x3389be3034ff04edULL}},
    {"h4", {0x70ba0600548d354fULL, 0xa42e0db7598942ffULL}},
    {"h2", {0x10ef12aade7ac1b3ULL, 0x57f38e7e5380dcffULL}},
    {"sign", {0x8a5c33d1830c751dULL, 0x6a6b5f84895496e3ULL}},
    {"eq", {0x5417f1c3f3ed24c2ULL, 0xdafee0c9377c2435ULL}},
    {"top-k", {0xfcf270dc6d33cf47ULL, 0xcac3c5abd67170bbULL}},
    {"random-k", {0x919d708f65e2e9a9ULL, 0x49fdbe9b48168104ULL}},
    {"stc", {0xafc5e5b6292db976ULL, 0xdec734aafe43e70aULL}},
    {"dct-top-k", {0x447d7a111712996cULL, 0x1034ab1ce5606f69ULL}},
    {"terngrad", {0xb4c99470d7c8ea91ULL, 0x27bc1d33b16a127bULL}},
    {"log", {0x7930a06112d06ad8ULL, 0xc40d9d0c70deb67cULL}},
    {"qsgd8", {0xec47d6e91dfda377ULL, 0xa7661128eb46d055ULL}},
    {"qsgd4", {0xa5775d46048b9897ULL, 0x5cb39b10be22ab9cULL}},
    {"power-sgd", {0x26432d8ca0c57263ULL, 0xf5cc3de4da12ea06ULL}},
    {"binomial", {0x3c18cf0a294c6257ULL, 0x5a8ffbd70d035fd5ULL}},
    {"lq-sgd", {0x80e16cda83377a45ULL, 0xe8ca5f9b16d88b9fULL}},
};

}  // namespace hobnob
