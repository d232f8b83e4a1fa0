// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/module_store.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/format/data_image.h"
#include "base/format/data_image_builder.h"
#include "base/sha256.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/system/file.h"
#include "base/system/unique_fd.h"
#include "supervisor/modules/verify/elf_file.h"

namespace cohost::supervisor {

namespace {

constexpr char kTemporary[] = ".publish-";
constexpr char kIndexName[] = "/index";
constexpr Bytes kMaxIndex = MiB(16);
// Linux makes page-cache folios as large as the writes that filled them, and a fault maps a whole
// folio: copies written in larger parts cost every worker that touches a page more memory (a cold
// look-up in a 10 MB data image 128 KiB with parts of 64 KiB, 512 KiB with parts of 256 KiB).
constexpr size_t kChunk = 64 * 1024;
// A file changed so lately may change again without another time stamp (the kernel's clock for them
// ticks every 4 to 10 ms), so its hash is not remembered.
constexpr int64_t kSettledNs = 50'000'000;

std::string_view Extension(StoredKind kind) { return kind == StoredKind::kModule ? ".so" : ".img"; }

// A file without a name to keep: removed unless it was renamed.
class TemporaryFile {
 public:
  static absl::StatusOr<TemporaryFile> Create(const std::string& folder) {
    std::string path = absl::StrCat(folder, "/", kTemporary, "XXXXXX");
    const int fd = ::mkostemp(path.data(), O_CLOEXEC);
    if (fd < 0) return ErrnoStatus(errno, "mkostemp", path);
    return TemporaryFile(UniqueFd(fd), std::move(path));
  }
  TemporaryFile(TemporaryFile&& other) noexcept
      : fd_(std::move(other.fd_)), path_(std::exchange(other.path_, "")) {}
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  ~TemporaryFile() {
    // Ignoring ENOENT after a rename; what is left otherwise goes at the next Open.
    if (!path_.empty()) (void)::unlink(path_.c_str());
  }

  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }

 private:
  TemporaryFile(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  UniqueFd fd_;
  std::string path_;
};

struct Source {
  UniqueFd fd;
  FileStamp stamp;
};

absl::StatusOr<FileStamp> StampOf(int fd, const std::string& path) {
  struct stat status;
  if (::fstat(fd, &status) != 0) return ErrnoStatus(errno, "fstat", path);
  if (!S_ISREG(status.st_mode)) return absl::InvalidArgumentError("it is not a regular file");
  return FileStamp::Of(status);
}

absl::StatusOr<Source> OpenSource(const std::string& path) {
  Source source;
  // Without waiting for the writer of a pipe.
  COHOST_ASSIGN_OR_RETURN(source.fd, OpenFile(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  COHOST_ASSIGN_OR_RETURN(source.stamp, StampOf(source.fd.get(), path));
  if (source.stamp.size > kMaxStoredFile.count) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "it has ", source.stamp.size, " bytes, more than ", FormatBytes(kMaxStoredFile)));
  }
  return source;
}

// Reads up to the end; `sink` gets the parts.
template <typename Sink>
absl::Status ReadParts(int fd, const std::string& path, Sink sink) {
  std::string part(kChunk, '\0');
  for (uint64_t offset = 0;;) {
    const ssize_t n = ::pread(fd, part.data(), part.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "pread", path);
    if (n == 0) return absl::OkStatus();
    offset += static_cast<uint64_t>(n);
    if (offset > kMaxStoredFile.count) return absl::AbortedError("it grew while it was read");
    COHOST_RETURN_IF_ERROR(sink(std::string_view(part).substr(0, static_cast<size_t>(n))));
  }
}

absl::Status Copy(int from, int to, const std::string& path) {
  // One copy of the blocks for both where the file system can; else EOPNOTSUPP, EXDEV or EINVAL.
  if (::ioctl(to, FICLONE, from) == 0) return absl::OkStatus();
  return ReadParts(from, path, [to](std::string_view part) { return WriteAll(to, part); });
}

// The cheap part of the check, before anything is copied.
absl::Status CheckSource(const Source& source, StoredKind kind) {
  if (kind == StoredKind::kModule) {
    return CheckSharedObject(source.fd.get(), kModuleEntryPoint).status();
  }
  unsigned char header[COHOST_DATA_IMAGE_HEADER_SIZE] = {};
  const ssize_t n = ::pread(source.fd.get(), header, sizeof header, 0);
  if (n < 0) return ErrnoStatus(errno, "pread", "");
  const uint64_t length = n < static_cast<ssize_t>(sizeof header) ? 0 : source.stamp.size;
  cohost_data_image image;
  const char* wrong = cohost_data_image_open(header, length, &image);
  return wrong == nullptr ? absl::OkStatus() : absl::InvalidArgumentError(wrong);
}

absl::StatusOr<std::vector<std::string>> CheckCopy(int fd, StoredKind kind) {
  if (kind == StoredKind::kModule) return CheckSharedObject(fd, kModuleEntryPoint);
  const absl::Status status = VerifyDataImage(fd);
  if (absl::IsDataLoss(status)) return absl::InvalidArgumentError(status.message());
  COHOST_RETURN_IF_ERROR(status);
  return std::vector<std::string>();
}

// The file behind the descriptor, and the one of that name, are still the one that was opened.
absl::Status CheckUnchanged(const Source& source, const std::string& path) {
  struct stat now;
  struct stat named;
  if (::fstat(source.fd.get(), &now) != 0) return ErrnoStatus(errno, "fstat", path);
  if (::stat(path.c_str(), &named) != 0 || FileStamp::Of(now) != source.stamp ||
      FileStamp::Of(named) != source.stamp) {
    return absl::AbortedError("it changed while it was read; try again when it is complete");
  }
  return absl::OkStatus();
}

bool IsSettled(const FileStamp& stamp) {
  struct timespec now;
  if (::clock_gettime(CLOCK_REALTIME, &now) != 0) return false;
  const int64_t now_ns = int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  return stamp.changed_ns + kSettledNs < now_ns;
}

// "HASH.so" or "HASH.img".
std::optional<std::pair<std::string, StoredKind>> ParseName(const std::string& name) {
  for (const StoredKind kind : {StoredKind::kModule, StoredKind::kDataImage}) {
    if (name.size() == 64 + Extension(kind).size() && name.ends_with(Extension(kind)) &&
        name.find_first_not_of("0123456789abcdef") == 64) {
      return std::make_pair(name.substr(0, 64), kind);
    }
  }
  return std::nullopt;
}

absl::StatusOr<std::vector<std::string>> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  auto entry = std::filesystem::directory_iterator(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    names.push_back(entry->path().filename());
  }
  if (error) return ErrnoStatus(error.value(), "readdir", folder);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ModuleStore>> ModuleStore::Open(std::string folder,
                                                               std::vector<std::string>* notices) {
  COHOST_RETURN_IF_ERROR(MakeFolders(folder, 0755));
  COHOST_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(folder));
  for (const std::string& name : names) {
    if (!name.starts_with(kTemporary)) continue;
    const std::string path = absl::StrCat(folder, "/", name);
    if (::unlink(path.c_str()) != 0) return ErrnoStatus(errno, "unlink", path);
  }
  SourceIndex index;
  const auto text = ReadRegularFile(folder + kIndexName, kMaxIndex);
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
  return std::unique_ptr<ModuleStore>(new ModuleStore(std::move(folder), std::move(index)));
}

absl::StatusOr<StoredFile> ModuleStore::Publish(const std::string& source, StoredKind kind) {
  struct stat status;
  if (::stat(source.c_str(), &status) == 0) {
    const FileStamp stamp = FileStamp::Of(status);
    std::optional<std::string> hash;
    {
      MutexLock lock(mutex_);
      hash = index_.Find(source, kind, stamp);
    }
    if (hash.has_value()) {
      StoredFile known{*hash, PathOf(*hash, kind), Bytes{stamp.size}, kind, {}};
      if (Holds(known)) return known;
    }
  }
  FileStamp stamp;
  auto file = CopyIn(source, kind, &stamp);
  if (!file.ok()) {
    return Annotate(file.status(), absl::StrCat(AsAbsl(StoredKindName(kind)), " '", source, "'"));
  }
  if (IsSettled(stamp)) {
    MutexLock lock(mutex_);
    index_changed_ |= index_.Remember(source, {stamp, file->hash, kind});
  }
  return file;
}

absl::StatusOr<StoredFile> ModuleStore::CopyIn(const std::string& path, StoredKind kind,
                                               FileStamp* stamp) const {
  COHOST_ASSIGN_OR_RETURN(const Source source, OpenSource(path));
  COHOST_RETURN_IF_ERROR(CheckSource(source, kind));
  COHOST_ASSIGN_OR_RETURN(const TemporaryFile copy, TemporaryFile::Create(folder_));
  COHOST_RETURN_IF_ERROR(Copy(source.fd.get(), copy.fd(), path));
  COHOST_RETURN_IF_ERROR(CheckUnchanged(source, path));
  *stamp = source.stamp;
  return Admit(copy.fd(), copy.path(), kind, Bytes{source.stamp.size});
}

absl::StatusOr<StoredFile> ModuleStore::Admit(int fd, const std::string& temporary, StoredKind kind,
                                              Bytes size) const {
  StoredFile file;
  file.kind = kind;
  file.size = size;
  COHOST_ASSIGN_OR_RETURN(file.warnings, CheckCopy(fd, kind));
  Sha256 sha256;
  uint64_t length = 0;
  COHOST_RETURN_IF_ERROR(ReadParts(fd, temporary, [&](std::string_view part) {
    sha256.Update(part);
    length += part.size();
    return absl::OkStatus();
  }));
  if (length != size.count) return absl::AbortedError("it changed while it was read");
  file.hash = HexDigest(sha256.Finish());
  file.path = PathOf(file.hash, kind);
  if (Holds(file)) return file;
  if (::fchmod(fd, kind == StoredKind::kModule ? 0555 : 0444) != 0) {
    return ErrnoStatus(errno, "fchmod", temporary);
  }
  // Content before name, name before use: after a power cut a name has its content or is not there.
  if (::fsync(fd) != 0) return ErrnoStatus(errno, "fsync", temporary);
  if (::rename(temporary.c_str(), file.path.c_str()) != 0) {
    return ErrnoStatus(errno, "rename", file.path);
  }
  COHOST_RETURN_IF_ERROR(SyncFolder(folder_));
  return file;
}

absl::Status ModuleStore::SaveIndex() {
  std::string text;
  {
    MutexLock lock(mutex_);
    if (!index_changed_) return absl::OkStatus();
    text = index_.Format();
    index_changed_ = false;
  }
  absl::Status status = WriteFileAtomically(folder_ + kIndexName, text, 0644);
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
  COHOST_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(folder_));
  std::vector<ListedFile> files;
  MutexLock lock(mutex_);
  for (const std::string& name : names) {
    const auto parsed = ParseName(name);
    if (!parsed.has_value()) continue;
    ListedFile listed;
    listed.file.hash = parsed->first;
    listed.file.kind = parsed->second;
    listed.file.path = absl::StrCat(folder_, "/", name);
    struct stat status;
    if (::stat(listed.file.path.c_str(), &status) != 0) continue;  // gone since the names were read
    listed.file.size = Bytes{static_cast<uint64_t>(status.st_size)};
    listed.source = index_.SourceOf(listed.file.hash);
    for (const auto& [service, hashes] : uses_) {
      if (std::find(hashes.begin(), hashes.end(), listed.file.hash) != hashes.end()) {
        listed.services.push_back(service);
      }
    }
    files.push_back(std::move(listed));
  }
  return files;
}

bool ModuleStore::Holds(const StoredFile& file) const {
  struct stat status;
  return ::stat(file.path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         static_cast<uint64_t>(status.st_size) == file.size.count;
}

std::string ModuleStore::PathOf(const std::string& hash, StoredKind kind) const {
  return absl::StrCat(folder_, "/", hash, AsAbsl(Extension(kind)));
}

}  // namespace cohost::supervisor
