// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "supervisor/config/deployment.h"
#include "supervisor/dotnet/installation.h"
#include "supervisor/modules/module_store.h"
#include "supervisor/modules/precompile/crossgen.h"
#include "supervisor/modules/precompile/precompiler.h"
#include "supervisor/modules/precompile/process_runner.h"
#include "supervisor/modules/tree/tree_manifest.h"

namespace cohost::supervisor {

class ApplicationCompiler;

// Who compiles what is published, and how; null: IL stays.
struct Compiling {
  ApplicationCompiler* compiler = nullptr;
  PrecompileMode mode = PrecompileMode::kCompile;
};

// A tree as it is to be laid out.
struct CompiledApplication {
  TreeManifest manifest;
  // Lines for the operator.
  std::vector<std::string> notices;
};

// Gives the applications of a host machine code for what they bring as IL, when they are published:
// the compiler is found or restored, what it makes is kept in the store, and whatever goes wrong
// leaves the application as it was published, with a line that says so. Of a tree the outcome is
// the same as long as compiler, framework and what the compiler could do are the same, and so is
// its id. One thread at a time, which may wait for minutes; the parts outlive it.
class ApplicationCompiler {
 public:
  struct Settings {
    Precompilation precompilation = Precompilation::kRestore;
    std::string crossgen;  // Host::crossgen
    std::string state_dir;
    std::string dotnet_root;
    // Whom compilers run as.
    ProcessIdentity identity;
    friend bool operator==(const Settings&, const Settings&) = default;
  };

  static constexpr absl::Duration kLimit = absl::Minutes(10);

  ApplicationCompiler(ModuleStore& store, ProcessRunner& runner) : store_(store), runner_(runner) {}

  // Before each deployment, also of one service: it has kLimit for all that it compiles. A compiler
  // that was not found is looked for again when the settings are other ones.
  void Configure(Settings settings);

  // `app` is the main assembly's name in the tree, whose runtimeconfig.json says which of the
  // installed frameworks it gets. CANCELLED when the supervisor ends; other errors are of the store
  // or the disk.
  absl::StatusOr<CompiledApplication> Compile(const TreeManifest& manifest, const std::string& app,
                                              const DotnetInstallation& dotnet,
                                              PrecompileMode mode);

 private:
  absl::StatusOr<Crossgen> FindCompiler(const std::string& version, PrecompileMode mode);

  ModuleStore& store_;
  ProcessRunner& runner_;
  Settings settings_;
  std::unique_ptr<CrossgenFinder> finder_;  // null until it is configured
  std::unique_ptr<CrossgenFinder> known_;   // what is there already: it copies and runs nothing
  std::unique_ptr<Precompiler> precompiler_;
  // Of the deployment under way.
  SteadyTime deadline_;
  // Versions for which it was said that there is no compiler.
  std::set<std::string> told_;
};

}  // namespace cohost::supervisor
