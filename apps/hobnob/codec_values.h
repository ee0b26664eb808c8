#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/base/result.h"

// The float32 values that codecs are tried on: drawn from a distribution, or read from a file.

namespace hobnob {

// Values of a file; 1 GiB.
constexpr std::size_t kMaxFileValues = std::size_t{1} << 28U;

// gauss (unit normal), laplace (scale 1), t3 (Student's t with 3 degrees of freedom).
const std::vector<std::string>& value_sources();

// `count` of them by Philox: same seed, same values, up to the last bits of log and cos.
// `source` is one of value_sources().
std::vector<float> draw_values(const std::string& source, std::size_t count, std::uint64_t seed);

// The values of a NumPy file of little-endian float32 in any shape, in the order they are stored.
// kInvalidArgument: another type, a damaged header, another length than the shape says. `name` is
// the file's in messages.
Result<std::vector<float>> read_npy(ByteSpan bytes, const std::string& name);

// A NumPy file (known by its first bytes), else float32, little endian, nothing but values.
// kInvalidArgument: cannot be read, no values, more than kMaxFileValues.
Result<std::vector<float>> read_value_file(const std::string& path);

// OUT appears under its name only when it is whole. kInvalidArgument: cannot be written.
Result<void> write_binary_file(const std::string& path, ByteSpan bytes);

}  // namespace hobnob
