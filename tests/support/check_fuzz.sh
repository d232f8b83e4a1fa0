#!/usr/bin/env bash
# Builds the fuzz targets of tests/supervisor/modules/verify/fuzz with libFuzzer and the address and undefined-behaviour
# sanitizers, and runs each for some time, beginning with the inputs there. Fails, naming the input (which is kept), when
# one ends the program, takes 10 s or more than 1 GiB.
#
#   tests/support/check_fuzz.sh [SECONDS [TARGET...]]       20 s each, all targets
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
# shellcheck source=tests/support/clang_flags.sh
. tests/support/clang_flags.sh
seconds=${1:-20}
targets=("${@:2}")
[ "${#targets[@]}" -gt 0 ] || targets=(elf cache assembly image index)

here=tests/supervisor/modules/verify/fuzz
# The code that is fuzzed and what it stands on, as Bazel knows it.
code=$(bazel query --noshow_progress --noimplicit_deps \
  "filter('^//.*\\.cc\$', kind('source file', deps(//$here:fuzz_targets)))")
mapfile -t sources < <(sed 's|^//||; s|:|/|' <<<"$code")
sources+=("$here/fuzzer.cc")

folder=$(mktemp -d)
kept=$(mktemp -d)
trap 'rm -rf "$folder"; rmdir --ignore-fail-on-non-empty "$kept"' EXIT
flags=("${CLANG_FLAGS[@]}" -g -O1 "-fsanitize=fuzzer,address,undefined" -fno-sanitize-recover=undefined)
echo "building ${#sources[@]} files"
compiling=0
for source in "${sources[@]}"; do
  if [ "$compiling" = 2 ]; then wait -n; else compiling=$((compiling + 1)); fi
  clang++-14 "${flags[@]}" -c "$source" -o "$folder/${source//\//_}.o" &
done
for ((; compiling > 0; compiling--)); do wait -n; done
archives=/usr/lib/$(clang++-14 -print-multiarch)
clang++-14 "${flags[@]}" "$folder"/*.o -o "$folder/fuzzer" -Wl,--start-group "$archives"/libabsl_*.a -Wl,--end-group \
  "$archives/libcrypto.a"

# run TARGET: libFuzzer's last lines and, where it found something, the name of the input.
run() {
  local target=$1 corpus=$folder/$1
  mkdir "$corpus"
  cp "$here/$target"-*.seed "$corpus/"
  if COHOST_FUZZ_TARGET=$target "$folder/fuzzer" -max_total_time="$seconds" -max_len=16384 -timeout=10 -rss_limit_mb=1024 \
    -artifact_prefix="$kept/$target-" -print_final_stats=1 "$corpus" >"$folder/$target.log" 2>&1; then
    echo "$target: $(grep -o 'number_of_executed_units: .*' "$folder/$target.log"), $(find "$corpus" -type f | wc -l) inputs kept"
  else
    tail -n 60 "$folder/$target.log"
    echo "$target: FAILED; inputs are in $kept" >&2
    return 1
  fi
}

status=0
for ((i = 0; i < ${#targets[@]}; i += 2)); do
  pids=()
  for target in "${targets[@]:i:2}"; do run "$target" & pids+=($!); done
  for pid in "${pids[@]}"; do wait "$pid" || status=1; done
done
exit "$status"
