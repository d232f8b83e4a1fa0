#!/usr/bin/env bash
# Runs the tests of an xunit.v3 program; the results go where Bazel wants them. Without .NET on the machine there is one
# case, and it is skipped.
#
#   run_xunit.sh PROGRAM.dll
set -euo pipefail

if [ -z "${COHOST_TEST_DOTNET:-}" ]; then
  echo "skipped: no .NET SDK on this machine"
  cat >"$XML_OUTPUT_FILE" <<'END'
<testsuites><testsuite name="managed"><testcase classname="managed" name="all">
  <skipped message="no .NET SDK on this machine"/>
</testcase></testsuite></testsuites>
END
  exit 0
fi
export DOTNET_ROOT=$COHOST_TEST_DOTNET DOTNET_CLI_HOME=$TEST_TMPDIR DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_NOLOGO=1
exec "$DOTNET_ROOT/dotnet" "$1" -result-jUnit "$XML_OUTPUT_FILE"
