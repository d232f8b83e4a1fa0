// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/precompile/precompiler.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/system/file.h"
#include "base/system/unique_fd.h"
#include "supervisor/modules/tree/folder_removal.h"
#include "supervisor/modules/tree/folder_walk.h"
#include "supervisor/modules/verify/assembly_file.h"

namespace cohost::supervisor {

namespace {

constexpr char kCacheName[] = "/cache";
constexpr char kSession[] = "run-";
constexpr Bytes kMaxCache = MiB(64);

bool HasCode(const std::string& path) {
  return !absl::EndsWithIgnoreCase(path, ".resources.dll") && !absl::StartsWith(path, "ref/") &&
         !absl::StartsWith(path, "refs/");
}

absl::StatusOr<AssemblyInfo> ReadAssemblyAt(const std::string& path) {
  COHOST_ASSIGN_OR_RETURN(const UniqueFd fd,
                          OpenFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  return ReadAssembly(fd.get());
}

std::string LastLine(const std::string& output) {
  const std::string text(absl::StripAsciiWhitespace(output));
  return text.substr(text.rfind('\n') + 1).substr(0, 300);
}

uint32_t AtOnce(uint32_t configured) {
  if (configured > 0) return configured;
  return std::max(1U, std::thread::hardware_concurrency() / 2);
}

}  // namespace

// One source, however often it is in the tree.
struct Precompiler::Work {
  std::string path;  // the first that has it
  StoredFile source;
  AssemblyName name;
  DerivedRecord record;          // its stored hash once it is known
  std::string input;             // the source under its own name
  std::string image;             // where the compiler puts it
  bool is_made = false;          // it is there, and checked
  bool is_known = false;         // the store has it
  std::string failure;           // why it stays IL
  bool remember_failure = true;  // the same would happen again
  bool is_left = false;          // nobody was asked to compile it
};

// The folder of one Precompile: references by their names, and a folder for what comes out.
class Precompiler::Session {
 public:
  static absl::StatusOr<Session> Make(const PrecompilerOptions& options) {
    Session session;
    COHOST_RETURN_IF_ERROR(MakeFolders(options.folder, 0755));
    COHOST_ASSIGN_OR_RETURN(session.parent_, OpenFile(options.folder, O_RDONLY | O_DIRECTORY));
    session.path_ = absl::StrCat(options.folder, "/", kSession, "XXXXXX");
    if (::mkdtemp(session.path_.data()) == nullptr) {
      return ErrnoStatus(errno, "mkdtemp", std::exchange(session.path_, ""));
    }
    if (::chmod(session.path_.c_str(), 0755) != 0) {
      return ErrnoStatus(errno, "chmod", session.path_);
    }
    COHOST_RETURN_IF_ERROR(MakeFolders(session.references(), 0755));
    COHOST_RETURN_IF_ERROR(MakeFolders(session.path_ + "/in", 0755));
    COHOST_RETURN_IF_ERROR(MakeFolders(session.out(), 0700));
    const uid_t uid = options.identity.uid.value_or(static_cast<uid_t>(-1));
    const gid_t gid = options.identity.gid.value_or(static_cast<gid_t>(-1));
    if (::chown(session.out().c_str(), uid, gid) != 0) {
      return ErrnoStatus(errno, "chown", session.out());
    }
    return session;
  }
  Session(Session&& other) noexcept
      : parent_(std::move(other.parent_)), path_(std::exchange(other.path_, "")) {}
  Session& operator=(Session&&) = delete;
  ~Session() {
    if (path_.empty()) return;
    // Ignoring an error: the next Precompiler removes what is left.
    (void)RemoveBelow(parent_.get(), NameOf(path_));
  }

  // Gives the application's assemblies, which the store names by hash, the names that the compiler
  // finds references by. Those at the top are what an application loads; of others the first of a
  // name.
  absl::Status AddReferences(const TreeManifest& manifest, const ModuleStore& store) {
    std::set<std::string> names;
    for (const bool top : {true, false}) {
      for (const TreeEntry& entry : manifest.entries()) {
        const std::string name = NameOf(entry.path);
        if (entry.type != TreeEntry::Type::kFile || entry.kind != StoredKind::kAssembly ||
            FolderOf(entry.path).empty() != top || !HasCode(entry.path) ||
            !absl::EndsWith(name, ".dll") || !names.insert(name).second) {
          continue;
        }
        COHOST_ASSIGN_OR_RETURN(const StoredFile file, store.Find(entry.source_hash, entry.kind));
        COHOST_RETURN_IF_ERROR(AddName(file, absl::StrCat(references(), "/", name)));
      }
    }
    return absl::OkStatus();
  }
  // Gives a source its name alone in a folder, and the image a place.
  absl::Status AddInput(Work& work, size_t number) const {
    const std::string folder = absl::StrCat(path_, "/in/", number);
    COHOST_RETURN_IF_ERROR(MakeFolders(folder, 0755));
    COHOST_RETURN_IF_ERROR(AddName(work.source, absl::StrCat(folder, "/", NameOf(work.path))));
    work.input = absl::StrCat(folder, "/", NameOf(work.path));
    work.image = absl::StrCat(out(), "/", number, ".dll");
    return absl::OkStatus();
  }

  std::string references() const { return path_ + "/references"; }
  std::string out() const { return path_ + "/out"; }

 private:
  Session() = default;
  static absl::Status AddName(const StoredFile& file, const std::string& path) {
    if (::symlink(file.path.c_str(), path.c_str()) == 0) return absl::OkStatus();
    return ErrnoStatus(errno, "symlink", path);
  }

  UniqueFd parent_;
  std::string path_;
};

Precompiler::Precompiler(ModuleStore& store, ProcessRunner& runner, PrecompilerOptions options)
    : store_(store), runner_(runner), options_(std::move(options)), records_(store.folder()) {
  // Without a cache, or with one that cannot be read, everything is compiled once more.
  if (auto text = ReadRegularFile(options_.folder + kCacheName, kMaxCache); text.ok()) {
    cache_ = PrecompileCache::Parse(*text);
  }
  const auto folder = OpenFile(options_.folder, O_RDONLY | O_DIRECTORY);
  if (!folder.ok()) return;  // there was none yet
  WalkLimits top;
  top.enter = [](const std::string&) { return false; };
  const auto walk = WalkFolder(folder->get(), top);
  if (!walk.ok()) return;
  for (const WalkedEntry& entry : walk->entries) {
    // Ignoring an error: it costs disk space only, and is tried again.
    if (entry.path.starts_with(kSession)) (void)RemoveBelow(folder->get(), entry.path);
  }
}

absl::StatusOr<Precompiler::Code> Precompiler::CodeOf(const StoredFile& file) {
  if (const auto known = codes_.find(file.hash); known != codes_.end()) return known->second;
  COHOST_ASSIGN_OR_RETURN(AssemblyInfo assembly, ReadAssemblyAt(file.path));
  return codes_[file.hash] = {std::move(assembly.name), assembly.is_ready_to_run};
}

absl::StatusOr<std::vector<Precompiler::Work>> Precompiler::FindWork(const TreeManifest& manifest,
                                                                     const DerivedRecord& like,
                                                                     uint32_t& published) {
  std::vector<Work> all;
  std::set<std::string> seen;
  for (const TreeEntry& entry : manifest.entries()) {
    if (entry.type != TreeEntry::Type::kFile || entry.kind != StoredKind::kAssembly ||
        !HasCode(entry.path) || !seen.insert(entry.source_hash).second) {
      continue;
    }
    Work work;
    work.path = entry.path;
    COHOST_ASSIGN_OR_RETURN(work.source, store_.Find(entry.source_hash, entry.kind));
    const absl::StatusOr<Code> code = CodeOf(work.source);
    // The store took it, so it says nothing that stops a deployment.
    if (!code.ok()) continue;
    if (code->is_ready_to_run) {
      ++published;
      continue;
    }
    work.name = code->name;
    work.record = like;
    work.record.source_hash = entry.source_hash;
    all.push_back(std::move(work));
  }
  return all;
}

absl::StatusOr<bool> Precompiler::HasIl(const TreeManifest& manifest) {
  uint32_t published = 0;
  COHOST_ASSIGN_OR_RETURN(const std::vector<Work> work, FindWork(manifest, {}, published));
  return !work.empty();
}

bool Precompiler::TakeKnown(Work& work) {
  const auto known = cache_.Find(work.record);
  if (!known.has_value()) return false;
  if (known->stored_hash.empty()) {
    work.failure = known->reason;
    return true;
  }
  DerivedRecord expected = work.record;
  expected.stored_hash = known->stored_hash;
  const auto record = records_.Find(known->stored_hash);
  if (!record.ok() || *record != expected ||
      !store_.Find(known->stored_hash, StoredKind::kAssembly).ok()) {
    return false;
  }
  work.record = std::move(expected);
  work.is_known = true;
  return true;
}

namespace {

// What the compiler left in place of an image; OK: a regular file of its own that is one.
absl::Status CheckImage(const std::string& path, const AssemblyName& source) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return ErrnoStatus(errno, "lstat", path);
  // The store reads with our permissions.
  if (!S_ISREG(status.st_mode) || status.st_nlink != 1) {
    return absl::InvalidArgumentError("what it made is no file of its own");
  }
  COHOST_ASSIGN_OR_RETURN(const AssemblyInfo image, ReadAssemblyAt(path));
  if (!image.is_ready_to_run) return absl::InvalidArgumentError("what it made has no code");
  if (image.name != source) {
    return absl::InvalidArgumentError(
        absl::StrCat("what it made is '", image.name.name, "' instead of '", source.name, "'"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Precompiled> Precompiler::Precompile(const TreeManifest& manifest,
                                                    const Crossgen& crossgen,
                                                    const PrecompileTarget& target,
                                                    PrecompileMode mode, SteadyTime deadline) {
  DerivedRecord like;
  like.compiler = crossgen.id;
  like.framework = target.framework;
  like.flags = CompileFlags(target.instruction_set);
  Precompiled result;
  COHOST_ASSIGN_OR_RETURN(std::vector<Work> all, FindWork(manifest, like, result.published));
  std::vector<Work*> open;
  for (Work& work : all) {
    if (!TakeKnown(work)) open.push_back(&work);
  }
  result.cached = static_cast<uint32_t>(
      std::count_if(all.begin(), all.end(), [](const Work& work) { return work.is_known; }));
  if (mode == PrecompileMode::kKnownOnly) {
    result.left = static_cast<uint32_t>(open.size());
    for (Work* work : open) work->is_left = true;
  } else if (!open.empty()) {
    COHOST_ASSIGN_OR_RETURN(Session session, Session::Make(options_));
    COHOST_RETURN_IF_ERROR(session.AddReferences(manifest, store_));
    for (size_t i = 0; i < open.size(); ++i) {
      COHOST_RETURN_IF_ERROR(session.AddInput(*open[i], i));
    }
    COHOST_RETURN_IF_ERROR(CompileAll(open, session, crossgen, target, deadline));
    COHOST_RETURN_IF_ERROR(Keep(open));
    result.compiled = static_cast<uint32_t>(
        std::count_if(open.begin(), open.end(), [](const Work* work) { return work->is_known; }));
  }
  return Finish(manifest, all, std::move(result));
}

absl::Status Precompiler::CompileAll(const std::vector<Work*>& open, const Session& session,
                                     const Crossgen& crossgen, const PrecompileTarget& target,
                                     SteadyTime deadline) {
  std::atomic<size_t> next = 0;
  std::atomic<bool> cancelled = false;
  const auto work = [&] {
    for (size_t i = next++; i < open.size() && !cancelled; i = next++) {
      if (!CompileOne(*open[i], session, crossgen, target, deadline).ok()) cancelled = true;
    }
  };
  // This thread is one of them.
  const size_t count = std::min<size_t>(AtOnce(options_.parallel), open.size());
  std::vector<std::thread> threads;
  for (size_t i = 1; i < count; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  return cancelled ? absl::CancelledError("the supervisor ends") : absl::OkStatus();
}

// Fails only when nothing more is to be compiled.
absl::Status Precompiler::CompileOne(Work& work, const Session& session, const Crossgen& crossgen,
                                     const PrecompileTarget& target, SteadyTime deadline) {
  const absl::Duration left = deadline - SystemClock().Steady();
  if (left <= absl::ZeroDuration()) {
    work.failure = "there was no time left for it";
    work.remember_failure = false;
    return absl::OkStatus();
  }
  CompileJob job{.input = work.input,
                 .output = work.image,
                 .reference_folders = target.folders,
                 .instruction_set = target.instruction_set};
  job.reference_folders.push_back(session.references());
  RunRequest request{.purpose = "crossgen2",
                     .program = crossgen.command[0],
                     .arguments = {crossgen.command.begin() + 1, crossgen.command.end()},
                     .environment = options_.environment,
                     .identity = options_.identity,
                     .memory = options_.memory,
                     .limit = std::min(options_.limit, left)};
  for (std::string& argument : CompileArguments(job)) {
    request.arguments.push_back(std::move(argument));
  }
  const auto run = runner_.Run(request);
  if (absl::IsCancelled(run.status())) return run.status();
  // Machines differ in what they have left at a time; sources do not.
  work.remember_failure = false;
  if (!run.ok()) {
    work.failure = std::string(run.status().message());
  } else if (run->signal.has_value() || !run->exit_code.has_value()) {
    work.failure = absl::StrCat("the compiler was killed by signal ", run->signal.value_or(0),
                                run->out_of_memory ? ", for memory" : "");
  } else if (*run->exit_code != 0) {
    work.failure = absl::StrCat("exit code ", *run->exit_code, ": ", LastLine(run->output));
    // 126 and 127: nice(1) and others could not execute it.
    work.remember_failure = *run->exit_code < 126;
  } else if (absl::Status image = CheckImage(work.image, work.name); !image.ok()) {
    work.failure = std::string(image.message());
    work.remember_failure = absl::IsInvalidArgument(image);
  } else {
    work.is_made = true;
  }
  return absl::OkStatus();
}

absl::Status Precompiler::Keep(const std::vector<Work*>& open) {
  ModuleStore::Batch batch(store_);
  for (Work* work : open) {
    if (!work->is_made) continue;
    const auto stored = batch.Add(work->image, StoredKind::kAssembly);
    if (absl::IsInvalidArgument(stored.status())) {
      work->is_made = false;
      work->failure = std::string(stored.status().message());
      continue;
    }
    COHOST_RETURN_IF_ERROR(stored.status());
    work->record.stored_hash = stored->hash;
  }
  COHOST_RETURN_IF_ERROR(batch.Commit());
  for (Work* work : open) {
    if (work->is_made) {
      COHOST_RETURN_IF_ERROR(records_.Keep(work->record));
      cache_.Remember(work->record, {work->record.stored_hash, ""});
      work->is_known = true;
    } else if (work->remember_failure) {
      cache_.Remember(work->record, {"", work->failure});
    }
  }
  return WriteFileAtomically(options_.folder + kCacheName, cache_.Format(), 0644);
}

absl::StatusOr<Precompiled> Precompiler::Finish(const TreeManifest& manifest,
                                                const std::vector<Work>& all,
                                                Precompiled result) const {
  std::map<std::string, StoredFile> images;  // by source
  for (const Work& work : all) {
    if (work.is_known) {
      COHOST_ASSIGN_OR_RETURN(StoredFile image,
                              store_.Find(work.record.stored_hash, StoredKind::kAssembly));
      images.emplace(work.source.hash, std::move(image));
    } else if (!work.is_left && ++result.failed <= kMostNotices) {
      result.notices.push_back(
          absl::StrCat("'", work.path, "' is not precompiled: ", work.failure));
    }
  }
  if (result.failed > kMostNotices) {
    result.notices.push_back(
        absl::StrCat(result.failed - kMostNotices, " more assemblies are not precompiled"));
  }
  std::vector<TreeEntry> entries = manifest.entries();
  for (TreeEntry& entry : entries) {
    if (entry.type != TreeEntry::Type::kFile || entry.kind != StoredKind::kAssembly) continue;
    const auto image = images.find(entry.source_hash);
    if (image == images.end()) continue;
    entry.stored_hash = image->second.hash;
    entry.size = image->second.size;
  }
  COHOST_ASSIGN_OR_RETURN(result.manifest,
                          TreeManifest::Create(std::move(entries), manifest.seeds()));
  return result;
}

}  // namespace cohost::supervisor
