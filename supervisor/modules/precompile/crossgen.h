// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "supervisor/modules/precompile/process_runner.h"

namespace cohost::supervisor {

// .NET's compiler of IL to machine code, ready to run by the identity that it was found for.
struct Crossgen {
  std::string id;                    // "crossgen2 10.0.12": names it in records and in the cache
  std::vector<std::string> command;  // the program, and what comes before its own arguments
};

struct CrossgenOptions {
  // The folder of a crossgen2, or its program; empty: it is searched and restored.
  std::string configured{};
  // Where NuGet keeps packages; empty: not looked at.
  std::string nuget_packages{};
  // The dotnet program, for restoring and for compilers that are .NET programs; empty: neither.
  std::string dotnet{};
  // Whether it may be had from a package source.
  bool may_restore = true;
  // STATE/precompile: ours, made when it is needed. A NuGet.Config in it counts for the restore.
  std::string folder{};
  // Of the programs; HOME is replaced.
  std::vector<std::string> environment{};
  ProcessIdentity identity{};
  absl::Duration restore_limit = absl::Minutes(5);
};

// Finds the crossgen2 for a version of the framework: the configured one; else the one of the
// package Microsoft.NETCore.App.Crossgen2.RID, which is looked for in FOLDER/crossgen2-VERSION (a
// copy made before), then in NuGet's folder, and then obtained by an ordinary `dotnet restore` of a
// project that names it, in FOLDER/restore-VERSION. Packages are copied, since NuGet's files belong
// to who restored them and may be executed by nobody else.
//
// An answer is remembered, also a failure: a host without a network asks once. One thread at a
// time, which may wait for minutes. The runner outlives it.
class CrossgenFinder {
 public:
  CrossgenFinder(ProcessRunner& runner, CrossgenOptions options)
      : runner_(runner), options_(std::move(options)) {}

  // `version` of the framework: "10.0.12". NOT_FOUND with the remedy when there is none;
  // applications then run without precompiled code of ours. CANCELLED is not remembered.
  absl::StatusOr<Crossgen> Find(const std::string& version);

 private:
  absl::StatusOr<Crossgen> Search(const std::string& version);
  absl::StatusOr<Crossgen> Configured() const;
  absl::Status Copy(const std::string& package, const std::string& to) const;
  absl::StatusOr<std::string> Restore(const std::string& version);
  // Of a folder with crossgen2 or crossgen2.dll.
  absl::StatusOr<Crossgen> In(const std::string& folder, const std::string& id) const;

  ProcessRunner& runner_;
  const CrossgenOptions options_;
  std::map<std::string, absl::StatusOr<Crossgen>> answers_;  // by version
};

// Of this machine: "linux-x64".
std::string RuntimeIdentifier();

// The project file of the restore. `version` has letters, digits, "." and "-" only.
std::string RestoreProject(const std::string& version);

// What to compile, and what with.
struct CompileJob {
  std::string input{};
  std::string output{};
  std::vector<std::string> reference_folders{};  // all *.dll in them; the first of a name counts
  std::string instruction_set{};                 // empty: the compiler's default
};

// The options that shape the code, as they stand in records: "--targetos:linux --targetarch:x64
// -O".
std::string CompileFlags(const std::string& instruction_set);
// The compiler's own arguments.
std::vector<std::string> CompileArguments(const CompileJob& job);

}  // namespace cohost::supervisor
