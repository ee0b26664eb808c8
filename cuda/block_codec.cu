#include "cuda/block_codec.h"

#include <algorithm>

#include "cuda/block_kernels.cuh"
#include "cuda/check.h"

namespace hobnob::gpu {

namespace {

// Below the most that a grid may have.
constexpr std::size_t kMaxGrid = 1U << 30U;

auto launcher(Stream stream) {
  return [stream](auto kernel, std::size_t blocks, const auto& args) {
    kernel<<<static_cast<unsigned>(std::min(blocks, kMaxGrid)), kThreads, 0, stream>>>(args);
    check_cuda(cudaGetLastError(), "kernel launch");
  };
}

}  // namespace

bool has_kernels(CodecId codec) {
  return with_rule(codec, [](auto /*rule*/) {});
}

void encode(const EncodeJob& job, Stream stream) {
  HOBNOB_CHECK(encode_with(job, launcher(stream)), "a codec without kernels");
}

void decode_add(CodecId codec,
                std::span<const DecodePart> parts,
                float* into,
                std::size_t count,
                Stream stream) {
  HOBNOB_CHECK(!parts.empty() && parts.size() <= kMaxFused, "1 to 4 messages at a time");
  HOBNOB_CHECK(decode_add_with(codec, parts, into, count, launcher(stream)),
               "a codec without kernels");
}

}  // namespace hobnob::gpu
