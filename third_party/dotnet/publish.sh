#!/usr/bin/env bash
# The action of publish.bzl: publishes a copy of the sources, so that nothing of a build is left in the source folders, and
# equal sources give equal bytes wherever they lie.
#
#   publish.sh PROJECT OUTPUT ready_to_run|il SOURCE...   in Bazel's execution root
set -euo pipefail
project=$1 output=$PWD/$2 code=$3
shift 3

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for source in "$project" "$@"; do
  # What another rule has made lies below bazel-out/CONFIGURATION/bin.
  place=$scratch/source/${source#bazel-out/*/bin/}
  mkdir -p "${place%/*}"
  cp -L "$source" "$place"
  # A static file's time goes into the published manifest of static files.
  touch -d 2020-01-01T00:00:00Z "$place"
done

export DOTNET_ROOT=$COHOST_DOTNET_ROOT DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_NOLOGO=1 DOTNET_CLI_UI_LANGUAGE=en
export DOTNET_SKIP_FIRST_TIME_EXPERIENCE=1 DOTNET_GENERATE_ASPNET_CERTIFICATE=false DOTNET_CLI_USE_MSBUILD_SERVER=0
export DOTNET_CLI_WORKLOAD_UPDATE_NOTIFY_DISABLE=true MSBUILDDISABLENODEREUSE=1

# The audit asks the network about known faults of packages at every restore: nothing that a build may depend on.
options=(--configuration Release --nologo --verbosity quiet --disable-build-servers -p:NuGetAudit=false
  -p:UseSharedCompilation=false -p:UseAppHost=false -p:SatelliteResourceLanguages=en
  -p:Deterministic=true -p:ContinuousIntegrationBuild=true "-p:PathMap=$scratch/source/=/_/")
case $(uname -m) in
  x86_64) runtime=linux-x64 ;;
  aarch64) runtime=linux-arm64 ;;
  *) echo "error: no .NET for $(uname -m)" >&2; exit 1 ;;
esac
case $project in
  # A solution takes neither a folder nor a runtime: its projects take them from these properties.
  *.slnx)
    options+=("-p:PublishRoot=$output/")
    [ "$code" != ready_to_run ] || options+=("-p:PublishRuntime=$runtime") ;;
  *)
    options+=(--output "$output")
    [ "$code" != ready_to_run ] || options+=(--runtime "$runtime" --self-contained false -p:PublishReadyToRun=true) ;;
esac

cd "$scratch/source"
"$COHOST_DOTNET_ROOT/dotnet" publish "$project" "${options[@]}"
