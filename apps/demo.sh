#!/usr/bin/env bash
# From a fresh Debian 12 to a swarm of 4 peers that trains Fashion-MNIST: installs, builds, trains.
#   apps/demo.sh [arguments of `hobnob swarm`]        for example: apps/demo.sh --peers 6
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../cmake/debian.sh"

install_packages
build_release -DHOBNOB_BUILD_TESTS=OFF -DHOBNOB_BUILD_BENCHMARKS=OFF
job=$(mktemp)
trap 'rm -f "$job"' EXIT
"$build/apps/hobnob" job example fashion-mlp >"$job"
"$build/apps/hobnob" swarm --job "$job" "$@"
