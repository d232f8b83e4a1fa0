#!/usr/bin/env bash
# Clang reads every file that uses locks, or whose header does, with -Wthread-safety as errors.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
# shellcheck source=tests/support/clang_flags.sh
. tests/support/clang_flags.sh
files=()
while IFS= read -r source; do
  if grep -qs 'base/mutex.h' "$source" "${source%.cc}.h"; then files+=("$source"); fi
done < <(git ls-files 'base/*.cc' 'supervisor/*.cc' 'worker/*.cc')
[ "${#files[@]}" -gt 0 ] || { echo "no file uses base/mutex.h: the check is looking in the wrong place" >&2; exit 1; }
printf '%s\n' "${files[@]}" | xargs -P 2 -n 1 clang++-14 "${CLANG_FLAGS[@]}" -fsyntax-only -Wthread-safety -Werror
echo "${#files[@]} files read"
