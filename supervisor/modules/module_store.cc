// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/module_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/system/file.h"

namespace cohost::supervisor {

namespace {

constexpr char kIndexName[] = "index";
constexpr char kIndexTemporary[] = "index.";  // WriteFileAtomically's, with six characters more
// Another process may be writing its own just now.
constexpr absl::Duration kOldTemporary = absl::Minutes(1);
constexpr Bytes kMaxIndex = MiB(16);
// A file changed so lately may change again without another time stamp (the kernel's clock for them
// ticks every 4 to 10 ms), so its hash is not remembered.
constexpr int64_t kSettledNs = 50'000'000;
// Further copies of one content; with most_links each, more than any host has services.
constexpr uint32_t kMostCopies = 1000;

bool IsSettled(const FileStamp& stamp) {
  struct timespec now;
  if (::clock_gettime(CLOCK_REALTIME, &now) != 0) return false;
  const int64_t now_ns = int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  return stamp.changed_ns + kSettledNs < now_ns;
}

absl::Status InContext(const absl::Status& status, const std::string& source, StoredKind kind) {
  return Annotate(status, absl::StrCat(AsAbsl(StoredKindName(kind)), " '", source, "'"));
}

// Not the store's files, and known.
bool IsOurOwn(const std::string& name) {
  return name == kIndexName || name == StoreFolder::kDamaged || name == "signatures" ||
         name == "derived" || name.starts_with(StoreFolder::kStaging) ||
         name.starts_with(kIndexTemporary);
}

// Those of an index that was being written when its process died.
absl::Status RemoveOldTemporaries(const std::string& folder) {
  COHOST_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(folder));
  for (const std::string& name : names) {
    if (!name.starts_with(kIndexTemporary)) continue;
    const std::string path = absl::StrCat(folder, "/", name);
    struct stat status;
    if (::lstat(path.c_str(), &status) != 0 ||
        absl::TimeFromTimespec(status.st_mtim) > absl::Now() - kOldTemporary) {
      continue;
    }
    if (::unlink(path.c_str()) != 0) return ErrnoStatus(errno, "unlink", path);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<ModuleStore>> ModuleStore::Open(StoreOptions options,
                                                               std::vector<std::string>* notices) {
  COHOST_ASSIGN_OR_RETURN(StoreFolder folder, StoreFolder::Open(options.folder));
  COHOST_RETURN_IF_ERROR(RemoveOldTemporaries(folder.path()));
  SourceIndex index;
  const auto text = ReadRegularFile(absl::StrCat(folder.path(), "/", kIndexName), kMaxIndex);
  if (text.ok()) {
    size_t skipped = 0;
    index = SourceIndex::Parse(*text, &skipped);
    if (skipped > 0) {
      notices->push_back(absl::StrCat("the module store's index has ", skipped,
                                      " lines that make no sense; their files are read again"));
    }
  } else if (!absl::IsNotFound(text.status())) {
    notices->push_back(
        absl::StrCat("the module store's index cannot be read, so all files are "
                     "read again: ",
                     text.status().message()));
  }
  return std::unique_ptr<ModuleStore>(
      new ModuleStore(std::move(options), std::move(folder), std::move(index)));
}

std::optional<StoredFile> ModuleStore::Known(const std::string& source, StoredKind kind) const {
  struct stat status;
  if (::stat(source.c_str(), &status) != 0) return std::nullopt;
  const FileStamp stamp = FileStamp::Of(status);
  std::optional<std::string> hash;
  {
    MutexLock lock(mutex_);
    hash = index_.Find(source, kind, stamp);
  }
  if (!hash.has_value()) return std::nullopt;
  const StoredName name{*hash, kind};
  if (!folder_.Holds(name, Bytes{stamp.size})) return std::nullopt;
  return StoredFile{*hash, folder_.PathOf(name), Bytes{stamp.size}, kind, {}};
}

void ModuleStore::Batch::ReadAhead(const std::vector<std::pair<std::string, StoredKind>>& sources) {
  std::vector<std::string> unknown;
  for (const auto& [source, kind] : sources) {
    if (!store_.Known(source, kind)) unknown.push_back(source);
  }
  if (unknown.size() > 1) publication_.HashAhead(unknown);
}

absl::StatusOr<StoredFile> ModuleStore::Batch::Add(const std::string& source, StoredKind kind) {
  if (auto known = store_.Known(source, kind)) return *std::move(known);
  auto added = publication_.Add(source, kind);
  if (!added.ok()) return InContext(added.status(), source, kind);
  if (IsSettled(added->stamp)) {
    read_.emplace_back(source, SourceIndex::Entry{added->stamp, added->file.hash, kind});
  }
  return std::move(added->file);
}

absl::Status ModuleStore::Batch::Commit() {
  COHOST_RETURN_IF_ERROR(publication_.Commit());
  MutexLock lock(store_.mutex_);
  for (auto& [source, entry] : read_) {
    store_.index_changed_ |= store_.index_.Remember(source, std::move(entry));
  }
  read_.clear();
  return absl::OkStatus();
}

absl::StatusOr<StoredFile> ModuleStore::Publish(const std::string& source, StoredKind kind) {
  Batch batch(*this);
  COHOST_ASSIGN_OR_RETURN(StoredFile file, batch.Add(source, kind));
  if (absl::Status status = batch.Commit(); !status.ok()) return InContext(status, source, kind);
  return file;
}

absl::StatusOr<StoredFile> ModuleStore::PublishContent(std::string_view content, StoredKind kind) {
  Publication publication(folder_);
  COHOST_ASSIGN_OR_RETURN(StoredFile file, publication.AddContent(content, kind));
  COHOST_RETURN_IF_ERROR(publication.Commit());
  return file;
}

absl::StatusOr<StoredFile> ModuleStore::Find(const std::string& hash, StoredKind kind) const {
  const StoredName name{hash, kind};
  struct stat status;
  // The hash may come from a file or a person.
  if (StoredName::Parse(name.ToString()) != name ||
      ::lstat(folder_.PathOf(name).c_str(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return absl::NotFoundError(absl::StrCat("the module store has no ",
                                            AsAbsl(StoredKindName(kind)), " ", hash,
                                            " any more: deploy its source again"));
  }
  return StoredFile{
      hash, folder_.PathOf(name), Bytes{static_cast<uint64_t>(status.st_size)}, kind, {}};
}

absl::Status ModuleStore::Link(const StoredFile& file, const std::string& path) {
  StoredName name{file.hash, file.kind};
  for (; name.copy <= kMostCopies; ++name.copy) {
    struct stat status;
    const std::string from = folder_.PathOf(name);
    if (::lstat(from.c_str(), &status) != 0) {
      if (errno != ENOENT || name.copy == 1) return ErrnoStatus(errno, "lstat", from);
      Publication publication(folder_);
      COHOST_RETURN_IF_ERROR(publication.AddCopy({file.hash, file.kind}, name));
      COHOST_RETURN_IF_ERROR(publication.Commit());
    } else if (status.st_nlink >= options_.most_links) {
      continue;
    }
    if (::link(from.c_str(), path.c_str()) == 0) return absl::OkStatus();
    // The file system's own limit may be lower, and others make links too.
    if (errno != EMLINK) return ErrnoStatus(errno, "link", path);
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("'", file.path, "' has as many links as a file may have, ", kMostCopies,
                   " times: remove trees that nobody uses"));
}

absl::Status ModuleStore::SaveIndex() {
  std::string text;
  {
    MutexLock lock(mutex_);
    if (!index_changed_) return absl::OkStatus();
    text = index_.Format();
    index_changed_ = false;
  }
  absl::Status status =
      WriteFileAtomically(absl::StrCat(folder_.path(), "/", kIndexName), text, 0644);
  if (!status.ok()) {
    MutexLock lock(mutex_);
    index_changed_ = true;
  }
  return status;
}

void ModuleStore::SetUses(const std::string& service, std::vector<std::string> hashes) {
  MutexLock lock(mutex_);
  if (hashes.empty()) {
    uses_.erase(service);
  } else {
    uses_[service] = std::move(hashes);
  }
}

absl::StatusOr<std::vector<ListedFile>> ModuleStore::List() const {
  COHOST_ASSIGN_OR_RETURN(const std::vector<StoredName> names, folder_.List());
  std::vector<ListedFile> files;
  std::map<std::string, std::string> sources;
  std::map<std::string, std::vector<std::string>> services;  // by hash
  {
    MutexLock lock(mutex_);
    sources = index_.SourcesByHash();
    for (const auto& [service, hashes] : uses_) {
      for (const std::string& hash : std::set<std::string>(hashes.begin(), hashes.end())) {
        services[hash].push_back(service);
      }
    }
  }
  std::map<std::pair<std::string, StoredKind>, std::vector<std::string>> copies;
  for (const StoredName& name : names) {
    if (name.copy != 1) copies[{name.hash, name.kind}].push_back(folder_.PathOf(name));
  }
  for (const StoredName& name : names) {
    if (name.copy != 1) continue;
    ListedFile listed;
    listed.file.hash = name.hash;
    listed.file.kind = name.kind;
    listed.file.path = folder_.PathOf(name);
    struct stat status;
    if (::lstat(listed.file.path.c_str(), &status) != 0)
      continue;  // gone since the names were read
    listed.file.size = Bytes{static_cast<uint64_t>(status.st_size)};
    listed.published = absl::TimeFromTimespec(status.st_mtim);
    listed.copies = std::move(copies[{name.hash, name.kind}]);
    if (const auto source = sources.find(name.hash); source != sources.end()) {
      listed.source = source->second;
    }
    if (const auto users = services.find(name.hash); users != services.end()) {
      listed.services = users->second;
    }
    files.push_back(std::move(listed));
  }
  return files;
}

absl::StatusOr<StoreCheck> ModuleStore::Check() {
  StoreCheck check;
  COHOST_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(folder_.path()));
  std::set<std::string> whole;
  for (const std::string& text : names) {
    const auto name = StoredName::Parse(text);
    if (!name.has_value()) {
      if (!IsOurOwn(text)) check.foreign.push_back(text);
      continue;
    }
    const absl::StatusOr<Bytes> size = CheckStoredFile(folder_.PathOf(*name), *name);
    if (absl::IsNotFound(size.status())) continue;  // collected meanwhile
    if (absl::IsDataLoss(size.status())) {
      COHOST_ASSIGN_OR_RETURN(const std::string aside, folder_.SetAside(text));
      check.damaged.push_back(absl::StrCat(aside, ": ", size.status().message()));
      continue;
    }
    COHOST_RETURN_IF_ERROR(size.status());
    ++check.files;
    check.size.count += size->count;
    if (name->copy == 1) whole.insert(name->hash);
  }
  MutexLock lock(mutex_);
  check.forgotten = index_.Retain([&](const std::string& hash) { return whole.contains(hash); });
  index_changed_ |= check.forgotten > 0;
  return check;
}

absl::StatusOr<StoreCollection> ModuleStore::Collect(const std::set<std::string>& keep,
                                                     absl::Duration least_age) {
  StoreCollection collection;
  const absl::Time newest = absl::Now() - least_age;
  COHOST_ASSIGN_OR_RETURN(const std::vector<StoredName> names, folder_.List());
  for (const StoredName& name : names) {
    if (keep.contains(name.hash)) continue;
    const std::string path = folder_.PathOf(name);
    struct stat status;
    if (::lstat(path.c_str(), &status) != 0 || status.st_nlink > 1) continue;
    // Of the inode's last change: renaming it into the store was one.
    if (absl::TimeFromTimespec(status.st_ctim) > newest) {
      ++collection.young;
      continue;
    }
    if (::unlink(path.c_str()) != 0) return ErrnoStatus(errno, "unlink", path);
    const Bytes size{static_cast<uint64_t>(status.st_size)};
    collection.removed.push_back({name.hash, path, size, name.kind, {}});
    collection.freed.count += size.count;
  }
  if (collection.removed.empty()) return collection;
  std::set<std::string> removed;
  for (const StoredFile& file : collection.removed) removed.insert(file.hash);
  {
    MutexLock lock(mutex_);
    index_changed_ |=
        index_.Retain([&](const std::string& hash) { return !removed.contains(hash); }) > 0;
  }
  COHOST_RETURN_IF_ERROR(folder_.Sync());
  return collection;
}

}  // namespace cohost::supervisor
