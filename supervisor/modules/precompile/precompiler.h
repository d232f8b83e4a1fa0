// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/units.h"
#include "supervisor/modules/module_store.h"
#include "supervisor/modules/precompile/crossgen.h"
#include "supervisor/modules/precompile/precompile_cache.h"
#include "supervisor/modules/precompile/process_runner.h"
#include "supervisor/modules/signing/derived_record.h"
#include "supervisor/modules/tree/tree_manifest.h"
#include "supervisor/modules/verify/assembly_file.h"

namespace cohost::supervisor {

// What an application is compiled for.
struct PrecompileTarget {
  std::string framework;             // as in records: "Microsoft.NETCore.App 10.0.12"
  std::vector<std::string> folders;  // with its assemblies; one of System.Private.CoreLib first
  std::string instruction_set;       // empty: the compiler's default
};

struct PrecompilerOptions {
  std::string folder{};  // STATE/precompile
  // At once; 0: half of the cores, at least one.
  uint32_t parallel = 0;
  // Each.
  absl::Duration limit = absl::Minutes(2);
  Bytes memory = GiB(2);
  std::vector<std::string> environment{};
  // Compilers read what applications bring: not for root.
  ProcessIdentity identity{};
};

enum class PrecompileMode {
  kCompile,
  kKnownOnly,  // runs no compiler: images that were made before, IL for the rest
};

struct Precompiled {
  // The same tree, with stored hashes of precompiled images where there are some.
  TreeManifest manifest;
  // Different assemblies with code, each in one of these:
  uint32_t published = 0;  // came with machine code
  uint32_t compiled = 0;   // now
  uint32_t cached = 0;     // before
  uint32_t failed = 0;     // stay IL, now or as before
  uint32_t left = 0;       // kKnownOnly: IL until somebody compiles them
  // Lines for the operator: what failed and why.
  std::vector<std::string> notices;
};

// Compiles the assemblies of a tree that have IL only, each for itself (assemblies that share
// nothing of their code can be shared by services that differ in others), and puts the images into
// the store with a record of what they were made of. What cannot be compiled stays as it is: slower
// to start, otherwise the same. Translations (*.resources.dll) and reference assemblies (ref/,
// refs/) have no code.
//
// What the compiler leaves is hostile: it is checked like any assembly, must be precompiled, and
// must have the name of its source. One thread at a time, which may wait for minutes; store and
// runner outlive it.
class Precompiler {
 public:
  // Lines about single assemblies in Precompiled::notices.
  static constexpr size_t kMostNotices = 10;
  static constexpr SteadyTime kNoDeadline{INT64_MAX};

  Precompiler(ModuleStore& store, ProcessRunner& runner, PrecompilerOptions options);

  // Whether there is anything to compile: an assembly with IL only.
  absl::StatusOr<bool> HasIl(const TreeManifest& manifest);

  // What does not begin before the deadline stays IL for this time, and what runs then is ended.
  // CANCELLED when the supervisor ends; other errors are of the store or the disk.
  absl::StatusOr<Precompiled> Precompile(const TreeManifest& manifest, const Crossgen& crossgen,
                                         const PrecompileTarget& target,
                                         PrecompileMode mode = PrecompileMode::kCompile,
                                         SteadyTime deadline = kNoDeadline);

 private:
  struct Work;
  class Session;
  // What of a source decides whether it is compiled.
  struct Code {
    AssemblyName name;
    bool is_ready_to_run = false;
  };

  // Read once: many services bring the same files, and each is asked about twice.
  absl::StatusOr<Code> CodeOf(const StoredFile& file);

  // The IL of a tree; `published` gets how many others have machine code already.
  absl::StatusOr<std::vector<Work>> FindWork(const TreeManifest& manifest,
                                             const DerivedRecord& like, uint32_t& published);
  // From the cache, when all that it says is still true.
  bool TakeKnown(Work& work);
  // Runs compilers for all, some at a time.
  absl::Status CompileAll(const std::vector<Work*>& open, const Session& session,
                          const Crossgen& crossgen, const PrecompileTarget& target,
                          SteadyTime deadline);
  absl::Status CompileOne(Work& work, const Session& session, const Crossgen& crossgen,
                          const PrecompileTarget& target, SteadyTime deadline);
  // Puts the images into the store, then their records, then the cache.
  absl::Status Keep(const std::vector<Work*>& open);
  absl::StatusOr<Precompiled> Finish(const TreeManifest& manifest, const std::vector<Work>& all,
                                     Precompiled result) const;

  ModuleStore& store_;
  ProcessRunner& runner_;
  const PrecompilerOptions options_;
  const DerivedRecords records_;
  PrecompileCache cache_;
  std::map<std::string, Code> codes_;  // by hash
};

}  // namespace cohost::supervisor
