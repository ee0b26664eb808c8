# Sourced by apps/demo.sh and tests/run.sh: installs what is missing on Debian 12 and builds in release.
# Leaves the build in $build. Arguments of install_packages: packages beyond those every build needs.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${HOBNOB_BUILD:-$root/build/release}

build_packages="g++ cmake ninja-build pkg-config libuv1-dev libucx-dev nlohmann-json3-dev libgtest-dev
  libopenblas-pthread-dev libmicrohttpd-dev libcli11-dev zlib1g-dev libhwy-dev dataset-fashion-mnist"

install_packages() {
  local missing="" package
  for package in $build_packages "$@"; do
    if [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" != installed ]; then
      missing="$missing $package"
    fi
  done
  if [ -z "$missing" ]; then
    return
  fi
  local as_root=""
  if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "these packages are missing and neither root nor sudo is here:$missing" >&2
      exit 2
    fi
    as_root=sudo
  fi
  echo "installing:$missing"
  local log
  log=$(mktemp)
  $as_root apt-get update -qq
  # shellcheck disable=SC2086
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >"$log" 2>&1 ||
    { tail -20 "$log" >&2; exit 1; }
  rm -f "$log"
}

build_release() {
  mkdir -p "$build"
  cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release "$@" >"$build/configure.log" 2>&1 ||
    { tail -30 "$build/configure.log" >&2; exit 1; }
  cmake --build "$build"
}
