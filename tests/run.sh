#!/usr/bin/env bash
# From a fresh Debian 12 to a tested build: installs, builds everything, runs all tests.
#   tests/run.sh [arguments of ctest]        for example: tests/run.sh -L unit
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../cmake/debian.sh"

install_packages python3 clang-format iproute2 libbenchmark-dev
build_release -DHOBNOB_BUILD_TESTS=ON -DHOBNOB_BUILD_BENCHMARKS=ON
cmake --build "$build" --target all_verify_interface_header_sets  # every header compiles alone
cd "$build"
ctest --output-on-failure -j "$(nproc)" "$@"
