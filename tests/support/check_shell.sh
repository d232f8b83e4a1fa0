#!/usr/bin/env bash
# Runs shellcheck over every shell script of the tree.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
mapfile -t scripts < <(git grep -lE '^#!.*(bash|sh)$' -- . && git ls-files '*.sh')
printf '%s\n' "${scripts[@]}" | sort -u | xargs -r shellcheck -x
