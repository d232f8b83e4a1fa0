# shellcheck shell=bash disable=SC2034
# Functions for the scripts that build Cohost: sourced by deploy/quickstart, tests/run and .ci/run.

# What the build needs, what the example reads its data from, and what the tests use beside them.
BUILD_PACKAGES=(
  bazel-bootstrap bazel-rules-java bazel-rules-proto libgrpc++-dev libprotobuf-dev protobuf-compiler
  protobuf-compiler-grpc libyaml-cpp-dev prometheus-cpp-dev libgtest-dev libgmock-dev libbenchmark-dev
  libboost1.81-dev libsqlite3-dev libcli11-dev libjemalloc-dev libssl-dev libcap-dev
  libarchive-dev)
EXAMPLE_PACKAGES=(
  iso-codes tzdata unicode-data ieee-data media-types netbase wamerican wbritish wfrench wngerman witalian
  wspanish wportuguese wswedish curl hey)
TEST_PACKAGES=(
  prometheus shellcheck iproute2 procps clang-14 clang-tidy-14 clang-format-14 libclang-rt-14-dev)

say() { printf '%s\n' "$*" >&2; }
fail() { say "error: $*"; exit 2; }

# Runs a command as root: directly, or through sudo.
as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif command -v sudo >/dev/null; then sudo -- "$@"
  else fail "this needs root and there is no sudo here: run it as root: $*"
  fi
}

missing_packages() {
  local package
  for package in "$@"; do
    dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || printf '%s\n' "$package"
  done
}

# Installs those of the named packages that are missing; asks for root only when there are some.
install_packages() {
  local missing log
  command -v dpkg-query >/dev/null || fail "this set-up knows Debian packages only; see CONTRIBUTING.md for what to install"
  mapfile -t missing < <(missing_packages "$@")
  [ "${#missing[@]}" -gt 0 ] || return 0
  say "Installing ${#missing[@]} Debian packages: ${missing[*]}"
  log=$(mktemp)
  if ! as_root apt-get update -q >"$log" 2>&1 ||
     ! as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}" >>"$log" 2>&1; then
    tail -n 15 "$log" >&2; rm -f "$log"
    fail "apt-get could not install them (the lines above say why)"
  fi
  rm -f "$log"
}

# Workers of a host that was started as root run as this user.
ensure_user() {
  [ "$(id -u)" = 0 ] || return 0
  getent passwd cohost >/dev/null && return 0
  say "Adding the system user 'cohost', as whom workers run"
  useradd --system --user-group --home-dir /nonexistent --shell /usr/sbin/nologin cohost
}
