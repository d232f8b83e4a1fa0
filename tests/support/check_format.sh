#!/usr/bin/env bash
# Fails, naming the place, when a C or C++ file is not formatted as .clang-format says.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
git ls-files -z '*.h' '*.hpp' '*.cc' '*.c' | xargs -0 -r -n 40 -P 2 clang-format-14 --dry-run --Werror
