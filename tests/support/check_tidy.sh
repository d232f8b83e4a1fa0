#!/usr/bin/env bash
# clang-tidy over every source file of the product, with the checks of .clang-tidy as errors.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
# shellcheck source=tests/support/clang_flags.sh
. tests/support/clang_flags.sh
git ls-files 'base/*.cc' 'supervisor/*.cc' 'worker/*.cc' |
  xargs -P 2 -I{} clang-tidy-14 --quiet {} -- "${CLANG_FLAGS[@]}"
