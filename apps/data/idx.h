#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/result.h"

namespace hobnob {

// Larger files are refused before memory is reserved; Fashion-MNIST's largest is 47 MB.
inline constexpr std::size_t kMaxIdxBytes = std::size_t{1} << 30;
inline constexpr std::size_t kMaxIdxDimensions = 4;

// An array of unsigned bytes, row-major (format: "THE IDX FILE FORMAT", yann.lecun.com/exdb/mnist).
struct IdxFile {
  std::vector<std::uint32_t> shape{};
  std::vector<std::uint8_t> values{};  // as many as the product of the shape
};

// Plain or gzip. A name that ends in .gz must hold gzip. Total: any bytes give an array or an error
// of one line that names the file and what to do about it.
Result<IdxFile> read_idx(const std::string& path);

}  // namespace hobnob
