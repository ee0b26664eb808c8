#pragma once

#include <cstddef>
#include <cstdint>

// The hot loops of the codecs whose blocks have a fixed length: each over a run of whole blocks of
// 256 float32 values, in one pass over memory, for the best instruction set of the machine (Highway
// chooses; HWY_DISABLED_TARGETS and the compiler's flags bound what is built). Stored bytes need no
// alignment.

namespace hobnob {

struct EncodeRun {
  const float* values = nullptr;
  const float* base = nullptr;  // what is encoded is values - base; null: the values
  // Null, or `base`, to which the decoded values are added; only for kernels with scales.
  float* advance = nullptr;
  std::byte* payload = nullptr;
  std::byte* scales = nullptr;
  std::size_t blocks = 0;
  std::size_t block_count = 256;  // values in each block; fewer when zeros fill it up
  // For kernels that round at random: block b draws from counter (first_block + b) of the key.
  std::uint64_t key = 0;
  std::uint64_t first_block = 0;
};

struct DecodeRun {
  struct Part {
    const std::byte* payload = nullptr;
    const std::byte* scales = nullptr;
    float factor = 1.0F;
  };

  const Part* parts = nullptr;
  std::size_t part_count = 1;  // 1 to 4
  float* into = nullptr;
  std::size_t blocks = 0;
};

struct BlockKernels {
  // Poisoned blocks are left as they are, which the caller made zeros. Returns how many there were.
  std::size_t (*encode)(const EncodeRun&);
  // into += factor * values for part after part. Where a scale is 0 nothing is added: not even +0,
  // so that a -0 stays as it is.
  void (*decode_add)(const DecodeRun&);
  // Whether an encoder may have sent these blocks.
  bool (*is_valid)(const std::byte* payload, const std::byte* scales, std::size_t blocks);
};

const BlockKernels& fp32_kernels();
const BlockKernels& bf16_kernels();
const BlockKernels& fp16_kernels();
const BlockKernels& int8_kernels();
const BlockKernels& qsgd8_kernels();
const BlockKernels& int4_kernels();
const BlockKernels& qsgd4_kernels();
const BlockKernels& nf4_kernels();
const BlockKernels& lm4_kernels();
const BlockKernels& log_kernels();
const BlockKernels& sign_kernels();
const BlockKernels& terngrad_kernels();
const BlockKernels& h4_kernels();
const BlockKernels& h2_kernels();

}  // namespace hobnob
