#!/usr/bin/env bash
# Fails, naming the place, when a C# file is not as `dotnet format` and its project's .editorconfig want it. Exit status 77:
# there is no .NET SDK on this machine. Works on a copy: the tool restores packages into the folders of projects.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
if ! command -v dotnet >/dev/null || [ -z "$(dotnet --list-sdks)" ]; then
  echo "no .NET SDK on this machine"
  exit 77
fi
export DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_NOLOGO=1 DOTNET_CLI_USE_MSBUILD_SERVER=0 MSBUILDDISABLENODEREUSE=1

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mapfile -t projects < <(git ls-files '*.slnx'; git ls-files 'worker/*.csproj' 'tests/worker/dotnet/managed/*.csproj')
git ls-files -z worker/dotnet/managed tests/worker/dotnet deploy/examples | xargs -0 cp --parents -t "$folder"
cd "$folder"
for project in "${projects[@]}"; do
  dotnet restore "$project" --verbosity quiet --disable-build-servers -p:NuGetAudit=false
  dotnet format "$project" --no-restore --verify-no-changes
done
