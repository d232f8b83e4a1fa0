// SPDX-License-Identifier: Apache-2.0
//
// cohost-supervisor: all policy and all protocols of a host. The keeper (cohostd) starts it, with
// its socket as descriptor 3, and starts the next one when it ends.
#include <malloc.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>

#include <CLI/CLI.hpp>

#include "absl/synchronization/mutex.h"
#include "base/units.h"
#include "base/version.h"
#include "supervisor/capabilities.h"
#include "supervisor/supervisor.h"

namespace cohost::supervisor {
namespace {

int Complain(int exit_code, const std::string& message) {
  fprintf(stderr, "cohost: %s\n", message.c_str());
  return exit_code;
}

bool StartedByKeeper() {
  struct stat status {};
  return fstat(kKeeperSocket, &status) == 0 && S_ISSOCK(status.st_mode);
}

// A descriptor for every listener, three for every worker, and more: the soft limit is only for
// programs that still call select().
void RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  // Ignoring a refusal: the old limit stays, and what does not fit into it says so.
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

std::string BesideThisProgram(const std::string& name) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? name : (self.parent_path() / name).string();
}

// cohost-worker is installed beside this program; in the build tree it is in another package.
std::string DefaultWorker() {
  std::string beside = BesideThisProgram("cohost-worker");
  if (access(beside.c_str(), X_OK) == 0) return beside;
  std::string built = BesideThisProgram("../worker/cohost-worker");
  return access(built.c_str(), X_OK) == 0 ? built : beside;
}

// Snapshots and metrics pages of a large host are megabytes that live for a moment on different
// threads: given back at once, not kept by an arena of each thread.
void TuneAllocator() {
  (void)mallopt(M_ARENA_MAX, 2);
  (void)mallopt(M_TRIM_THRESHOLD, 256 << 10);
}

int Main(int argc, char** argv) {
  TuneAllocator();
  // gRPC's locks; Debian's Abseil looks for cycles in their order at every one of them.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  SupervisorOptions options;
  options.version = kVersion;
  std::string file = "/etc/cohost/cohost.yaml";
  std::string runtime_dir;
  std::string state_dir;
  std::string drain_limit = "60s";
  CLI::App app("The supervisor of a Cohost host; started by cohostd.");
  app.set_version_flag("--version", std::string("cohost-supervisor ") + kVersion);
  app.add_option("--config,deployment", file, "the deployment file");
  app.add_option("--port-offset", options.load_options.port_offset,
                 "added to every TCP port but 0");
  app.add_option("--runtime-dir", runtime_dir, "instead of host.runtime_dir");
  app.add_option("--state-dir", state_dir, "instead of host.state_dir");
  app.add_option("--worker", options.worker_program, "path of cohost-worker");
  app.add_option("--drain-limit", drain_limit, "for all workers together, at the end");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 1;
  }
  if (!StartedByKeeper()) {
    return Complain(1, "cohost-supervisor is started by cohostd, not by hand: run cohostd");
  }
  const auto limit = ParseDuration(drain_limit);
  if (!limit.ok()) return Complain(1, "--drain-limit: " + std::string(limit.status().message()));
  options.drain_limit = *limit;
  options.deployment_file = std::filesystem::absolute(file).string();
  if (!runtime_dir.empty()) {
    options.load_options.runtime_dir = std::filesystem::absolute(runtime_dir).string();
  }
  if (!state_dir.empty()) {
    options.load_options.state_dir = std::filesystem::absolute(state_dir).string();
  }
  if (options.worker_program.empty()) options.worker_program = DefaultWorker();
  signal(SIGPIPE, SIG_IGN);
  RaiseDescriptorLimit();
  if (absl::Status kept = KeepNeededCapabilities(); !kept.ok()) {
    return Complain(2, std::string(kept.message()));
  }
  return Supervisor(std::move(options)).Run();
}

}  // namespace
}  // namespace cohost::supervisor

int main(int argc, char** argv) { return cohost::supervisor::Main(argc, argv); }
