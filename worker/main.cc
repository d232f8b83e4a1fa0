// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/build_id.h"
#include "base/format/link_protocol.h"
#include "base/log.h"
#include "base/status.h"
#include "base/units.h"
#include "worker/control/segment_map.h"
#include "worker/process_setup.h"
#include "worker/worker.h"

namespace {

using cohost::worker::WorkerOptions;

constexpr const char* kUsage =
    "cohost-worker: hosts services of one group for Cohost.\n"
    "\n"
    "It is started by cohostd, with a link to the supervisor as descriptor 3 and a segment as\n"
    "descriptor 4, and is of no use by hand. To run services, start cohostd.\n"
    "\n"
    "  --orphan-time=30s   how long it serves on when keeper and supervisor are gone\n"
    "  --dotnet-shim=PATH  managed part of the dotnet runtime; by default\n"
    "                      dotnet/managed/shim/Cohost.Worker.dll beside this program.\n"
    "                      .NET itself is looked for in DOTNET_ROOT, /usr/share/dotnet and\n"
    "                      /usr/lib/dotnet.\n"
    "  --version           print the build and end\n"
    "  --help              print this and end\n";

constexpr int kExitAsAsked = 0;
constexpr int kExitWrongCall = 1;
constexpr int kExitSystemFailed = 2;

// "steady[0].3": group, slot and generation, so that lines of several workers can be told apart.
std::string Component() {
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? "?" : value;
  };
  return absl::StrCat("worker ", variable("COHOST_GROUP"), "[", variable("COHOST_SLOT"), "].",
                      variable("COHOST_GENERATION"));
}

// Where a build and an installation have it: beside this program.
std::string DefaultShim() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  // Without /proc there is no default, and the error about the shim names an empty path.
  if (error) return "";
  return program.parent_path() / "dotnet/managed/shim/Cohost.Worker.dll";
}

std::string Environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

absl::Status ParseArgument(std::string_view argument, WorkerOptions& options) {
  constexpr std::string_view kOrphanTime = "--orphan-time=";
  constexpr std::string_view kShim = "--dotnet-shim=";
  if (argument.starts_with(kShim)) {
    options.dotnet.shim = argument.substr(kShim.size());
    return absl::OkStatus();
  }
  if (!argument.starts_with(kOrphanTime)) {
    return absl::InvalidArgumentError("unknown argument '" + std::string(argument) + "'");
  }
  COHOST_ASSIGN_OR_RETURN(options.orphan_time,
                          cohost::ParseDuration(argument.substr(kOrphanTime.size())));
  return absl::OkStatus();
}

// Returns only when the worker could not begin.
absl::Status Serve(cohost::Log& log, const WorkerOptions& options) {
  COHOST_ASSIGN_OR_RETURN(cohost::UniqueFd signals, cohost::worker::SetUpProcess());
  const std::string build = cohost::BuildId();
  COHOST_ASSIGN_OR_RETURN(
      cohost::worker::SegmentMap segment,
      cohost::worker::SegmentMap::Open(cohost::UniqueFd(cohost::kSegmentDescriptor), build));
  // Never destroyed: the process ends by EndProcess, whatever still runs.
  auto* const worker = new cohost::worker::Worker(
      segment, cohost::UniqueFd(cohost::kLinkDescriptor), std::move(signals), build, log, options);
  return worker->Run();
}

}  // namespace

int main(int argc, char** argv) {
  WorkerOptions options;
  options.dotnet.shim = DefaultShim();
  options.dotnet.places.environment = Environment("DOTNET_ROOT");
  options.dotnet.diagnostics_folder = Environment("COHOST_DIAGNOSTICS_FOLDER");
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--help") {
      std::fputs(kUsage, stdout);
      return kExitAsAsked;
    }
    if (argument == "--version") {
      std::printf("cohost-worker build %s\n", cohost::BuildId().c_str());
      return kExitAsAsked;
    }
    if (const absl::Status status = ParseArgument(argument, options); !status.ok()) {
      std::fprintf(stderr, "cohost-worker: %s\n%s", std::string(status.message()).c_str(), kUsage);
      return kExitWrongCall;
    }
  }
  if (::fcntl(cohost::kLinkDescriptor, F_GETFD) < 0) {
    std::fputs(kUsage, stderr);
    return kExitWrongCall;
  }
  cohost::Log log(STDERR_FILENO, Component());
  const absl::Status status = Serve(log, options);
  log.Error("the worker cannot begin",
            {{"reason", std::string_view(status.message().data(), status.message().size())}});
  ::_exit(kExitSystemFailed);
}
