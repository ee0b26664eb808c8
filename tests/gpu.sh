#!/usr/bin/env bash
# On a machine with a GPU: builds the CUDA kernels and checks them there, bytes and bandwidth. Needs g++, CMake and the
# CUDA toolkit; no libuv, no UCX, no network. Exit status 77 says that there is no GPU and nothing was checked.
#   tests/gpu.sh [arguments of gpu_codec_test]      for example: tests/gpu.sh --json --values 1000000000
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${HOBNOB_GPU_BUILD:-$root/build/gpu}
if ! command -v nvcc >/dev/null && [ -x /usr/local/cuda/bin/nvcc ]; then
  PATH=/usr/local/cuda/bin:$PATH
fi
if ! command -v nvcc >/dev/null; then
  echo "tests/gpu.sh: no nvcc; install the CUDA toolkit (12.4 or newer) or put it on PATH" >&2
  exit 2
fi
mkdir -p "$build"
{ cmake -S "$root/tests/cuda" -B "$build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CUDA_ARCHITECTURES="80-real;90-real;90-virtual" &&
  cmake --build "$build" -j "$(nproc)"; } >"$build/build.log" 2>&1 || { tail -30 "$build/build.log" >&2; exit 1; }
exec "$build/gpu_codec_test" "$@"
