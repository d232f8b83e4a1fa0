// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/publication.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/format/data_image.h"
#include "base/mutex.h"
#include "base/sha256.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/system/file.h"
#include "supervisor/modules/verify/verify_stored_file.h"

namespace cohost::supervisor {

namespace {

// Linux makes page-cache folios as large as the writes that filled them, and a fault maps a whole
// folio: copies written in larger parts cost every worker that touches a page more memory (a cold
// look-up in a 10 MB data image 128 KiB with parts of 64 KiB, 512 KiB with parts of 256 KiB).
constexpr size_t kChunk = 64 * 1024;
// The function that every module defines (worker/sdk/cohost.h).
// A folder that was made but not locked yet may be taken for a dead publisher's, once in a blue
// moon.
constexpr int kStagingAttempts = 3;
// More of them wait for the disk or for each other.
constexpr size_t kMostThreads = 4;
// While its hash is not known.
constexpr char kCopyName[] = "/copy";
// Read once, hashed and written from memory; larger ones are read twice where the store may have
// them.
constexpr Bytes kHeldInMemory = MiB(1);

absl::Status Changed() {
  return absl::AbortedError("it changed while it was read; try again when it is complete");
}

struct Source {
  UniqueFd fd;
  FileStamp stamp;
};

absl::StatusOr<Source> OpenSource(const std::string& path) {
  Source source;
  // Without waiting for the writer of a pipe.
  COHOST_ASSIGN_OR_RETURN(source.fd, OpenFile(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  struct stat status;
  if (::fstat(source.fd.get(), &status) != 0) return ErrnoStatus(errno, "fstat", path);
  if (!S_ISREG(status.st_mode)) return absl::InvalidArgumentError("it is not a regular file");
  source.stamp = FileStamp::Of(status);
  if (source.stamp.size > kMaxStoredFile.count) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "it has ", source.stamp.size, " bytes, more than ", FormatBytes(kMaxStoredFile)));
  }
  return source;
}

// The file behind the descriptor, and the one of that name, are still the one that was opened.
absl::Status CheckUnchanged(const Source& source, const std::string& path) {
  struct stat now;
  struct stat named;
  if (::fstat(source.fd.get(), &now) != 0) return ErrnoStatus(errno, "fstat", path);
  if (::stat(path.c_str(), &named) != 0 || FileStamp::Of(now) != source.stamp ||
      FileStamp::Of(named) != source.stamp) {
    return Changed();
  }
  return absl::OkStatus();
}

// Reads up to the end, which must be after `size` bytes; `sink` gets the parts, which lie in
// `part`.
template <typename Sink>
absl::Status ReadParts(int fd, uint64_t size, std::string& part, Sink sink) {
  part.resize(kChunk);
  for (uint64_t offset = 0;;) {
    const ssize_t n = ::pread(fd, part.data(), part.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "pread", "");
    offset += static_cast<uint64_t>(n);
    if (offset > size || (n == 0 && offset < size)) {
      return Changed();
    }
    if (n == 0) return absl::OkStatus();
    COHOST_RETURN_IF_ERROR(sink(std::string_view(part).substr(0, static_cast<size_t>(n))));
  }
}

absl::StatusOr<std::string> HashOf(int fd, uint64_t size, std::string& buffer) {
  Sha256 sha256;
  COHOST_RETURN_IF_ERROR(ReadParts(fd, size, buffer, [&](std::string_view part) {
    sha256.Update(part);
    return absl::OkStatus();
  }));
  return HexDigest(sha256.Finish());
}

// The cheap part of the check, before anything is copied.
absl::Status CheckSource(const Source& source, StoredKind kind) {
  if (kind == StoredKind::kModule) return VerifyStoredFile(source.fd.get(), kind).status();
  if (kind != StoredKind::kDataImage) return absl::OkStatus();
  unsigned char header[COHOST_DATA_IMAGE_HEADER_SIZE] = {};
  const ssize_t n = ::pread(source.fd.get(), header, sizeof header, 0);
  if (n < 0) return ErrnoStatus(errno, "pread", "");
  const uint64_t length = n < static_cast<ssize_t>(sizeof header) ? 0 : source.stamp.size;
  cohost_data_image image;
  const char* wrong = cohost_data_image_open(header, length, &image);
  return wrong == nullptr ? absl::OkStatus() : absl::InvalidArgumentError(wrong);
}

}  // namespace

absl::StatusOr<Bytes> CheckStoredFile(const std::string& path, const StoredName& name) {
  const absl::StatusOr<UniqueFd> fd = OpenFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  struct stat status;
  if (::lstat(path.c_str(), &status) != 0) return ErrnoStatus(errno, "lstat", path);
  if (!S_ISREG(status.st_mode)) return absl::DataLossError("it is not a regular file");
  COHOST_RETURN_IF_ERROR(fd.status());
  const auto size = static_cast<uint64_t>(status.st_size);
  std::string buffer;
  const absl::StatusOr<std::string> hash = HashOf(fd->get(), size, buffer);
  if (absl::IsAborted(hash.status())) return absl::DataLossError("somebody writes to it");
  COHOST_RETURN_IF_ERROR(hash.status());
  if (*hash != name.hash) return absl::DataLossError("its content is not what its name says");
  return Bytes{size};
}

Publication::~Publication() {
  if (staging_.empty()) return;
  std::error_code error;
  // Ignoring an error: the next Open removes what is left.
  std::filesystem::remove_all(staging_, error);
}

void Publication::HashAhead(const std::vector<std::string>& sources) {
  const size_t threads =
      std::min<size_t>({std::thread::hardware_concurrency(), kMostThreads, sources.size()});
  std::atomic<size_t> next = 0;
  Mutex mutex;
  const auto hash = [&] {
    std::string buffer;
    for (size_t i = next++; i < sources.size(); i = next++) {
      const absl::StatusOr<Source> source = OpenSource(sources[i]);
      if (!source.ok()) continue;
      absl::StatusOr<std::string> content = HashOf(source->fd.get(), source->stamp.size, buffer);
      if (!content.ok() || !CheckUnchanged(*source, sources[i]).ok()) continue;
      MutexLock lock(mutex);
      ahead_[sources[i]] = {source->stamp, *std::move(content)};
    }
  };
  std::vector<std::thread> others;
  try {
    for (size_t i = 1; i < threads; ++i) others.emplace_back(hash);
  } catch (const std::system_error&) {
    // Fewer threads take longer, no more.
  }
  hash();
  for (std::thread& other : others) other.join();
}

absl::StatusOr<Publication::Added> Publication::Add(const std::string& path, StoredKind kind) {
  COHOST_ASSIGN_OR_RETURN(const Source source, OpenSource(path));
  Added added;
  added.stamp = source.stamp;
  const Bytes size{source.stamp.size};
  if (const auto ahead = ahead_.find(path);
      ahead != ahead_.end() && ahead->second.first == source.stamp) {
    const StoredName name{ahead->second.second, kind};
    if (Has(name, size)) {
      added.file = {name.hash, folder_.PathOf(name), size, kind, {}};
      return added;
    }
  }
  if (size.count <= kHeldInMemory.count) {
    COHOST_ASSIGN_OR_RETURN(std::string hash, ReadWhole(source.fd.get(), size));
    COHOST_RETURN_IF_ERROR(CheckUnchanged(source, path));
    COHOST_ASSIGN_OR_RETURN(
        added.file, StageContent({std::move(hash), kind},
                                 std::string_view(content_).substr(0, size.count), &added.is_new));
    return added;
  }
  if (MayHave(kind, size)) {
    COHOST_ASSIGN_OR_RETURN(const std::string hash, HashOf(source.fd.get(), size.count, buffer_));
    const StoredName name{hash, kind};
    if (Has(name, size)) {
      COHOST_RETURN_IF_ERROR(CheckUnchanged(source, path));
      added.file = {hash, folder_.PathOf(name), size, kind, {}};
      return added;
    }
  }
  COHOST_RETURN_IF_ERROR(CheckSource(source, kind));
  COHOST_ASSIGN_OR_RETURN(added.file, Stage(source.fd.get(), source.stamp, kind));
  // Staged or not: a copy of a file that was written meanwhile is no file that anybody meant.
  if (absl::Status unchanged = CheckUnchanged(source, path); !unchanged.ok()) {
    const StoredName name{added.file.hash, kind};
    if (!staged_.empty() && staged_.back().name == name) {
      (void)::unlink(StagedPath(name).c_str());  // ignoring: the folder goes as a whole
      staged_names_.erase(name.ToString());
      staged_.pop_back();
    }
    return unchanged;
  }
  added.is_new = true;
  return added;
}

absl::StatusOr<std::string> Publication::ReadWhole(int source, Bytes size) {
  // One byte more shows a file that grew.
  if (content_.empty()) content_.resize(kHeldInMemory.count + 1);
  Sha256 sha256;
  // In parts that are hashed while the processor's cache has them.
  for (size_t done = 0;;) {
    const size_t part = std::min(kChunk, size.count + 1 - done);
    COHOST_ASSIGN_OR_RETURN(const size_t read, ReadAt(source, done, &content_[done], part));
    done += read;
    if (done > size.count || (read < part && done < size.count)) return Changed();
    if (read > 0) sha256.Update(std::string_view(content_).substr(done - read, read));
    if (read < part) return HexDigest(sha256.Finish());
  }
}

absl::StatusOr<StoredFile> Publication::AddContent(std::string_view content, StoredKind kind) {
  Sha256 sha256;
  sha256.Update(content);
  bool is_new = false;
  return StageContent({HexDigest(sha256.Finish()), kind}, content, &is_new);
}

absl::StatusOr<StoredFile> Publication::StageContent(const StoredName& name,
                                                     std::string_view content, bool* is_new) {
  StoredFile file{name.hash, folder_.PathOf(name), Bytes{content.size()}, name.kind, {}};
  if (Has(name, file.size)) return file;
  COHOST_RETURN_IF_ERROR(MakeStaging());
  const std::string temporary = staging_ + kCopyName;
  COHOST_ASSIGN_OR_RETURN(UniqueFd copy,
                          OpenFile(temporary, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600));
  for (size_t offset = 0; offset < content.size(); offset += kChunk) {
    COHOST_RETURN_IF_ERROR(WriteAll(copy.get(), content.substr(offset, kChunk)));
  }
  COHOST_ASSIGN_OR_RETURN(FileReport report, VerifyStoredFile(copy.get(), name.kind));
  file.warnings = std::move(report.warnings);
  COHOST_RETURN_IF_ERROR(Place(std::move(copy), temporary, name, file.size));
  *is_new = true;
  return file;
}

absl::StatusOr<StoredFile> Publication::Stage(int source, const FileStamp& stamp, StoredKind kind) {
  COHOST_RETURN_IF_ERROR(MakeStaging());
  const std::string temporary = staging_ + kCopyName;
  COHOST_ASSIGN_OR_RETURN(UniqueFd copy,
                          OpenFile(temporary, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600));
  StoredFile file;
  file.kind = kind;
  file.size = Bytes{stamp.size};
  // One copy of the blocks for both where the file system can; else EOPNOTSUPP, EXDEV or EINVAL.
  clones_ = clones_ && ::ioctl(copy.get(), FICLONE, source) == 0;
  if (clones_) {
    COHOST_ASSIGN_OR_RETURN(file.hash, HashOf(copy.get(), stamp.size, buffer_));
  } else {
    // What is hashed is what is written.
    Sha256 sha256;
    COHOST_RETURN_IF_ERROR(ReadParts(source, stamp.size, buffer_, [&](std::string_view part) {
      sha256.Update(part);
      return WriteAll(copy.get(), part);
    }));
    file.hash = HexDigest(sha256.Finish());
  }
  const StoredName name{file.hash, kind};
  file.path = folder_.PathOf(name);
  if (Has(name, file.size)) return file;
  COHOST_ASSIGN_OR_RETURN(FileReport report, VerifyStoredFile(copy.get(), kind));
  file.warnings = std::move(report.warnings);
  COHOST_RETURN_IF_ERROR(Place(std::move(copy), temporary, name, file.size));
  return file;
}

absl::Status Publication::Place(UniqueFd copy, const std::string& temporary, const StoredName& name,
                                Bytes size) {
  if (::fchmod(copy.get(), ModeOf(name.kind)) != 0) return ErrnoStatus(errno, "fchmod", temporary);
  // The disk begins while the next files are read. Ignoring a refusal: Commit waits for all of it.
  (void)::sync_file_range(copy.get(), 0, 0, SYNC_FILE_RANGE_WRITE);
  const std::string staged = StagedPath(name);
  if (::rename(temporary.c_str(), staged.c_str()) != 0) return ErrnoStatus(errno, "rename", staged);
  staged_names_.insert(name.ToString());
  sizes_.emplace(name.kind, size.count);
  if (staged_.size() >= kMostSingleSyncs) copy.Reset();
  staged_.push_back({name, size, std::move(copy)});
  return absl::OkStatus();
}

absl::Status Publication::AddCopy(const StoredName& from, const StoredName& to) {
  const std::string path = folder_.PathOf(from);
  COHOST_ASSIGN_OR_RETURN(const Source source, OpenSource(path));
  COHOST_RETURN_IF_ERROR(MakeStaging());
  const std::string temporary = staging_ + kCopyName;
  COHOST_ASSIGN_OR_RETURN(UniqueFd copy,
                          OpenFile(temporary, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600));
  // Never by cloning: a further copy is there for its links, and clones may share what is wrong.
  Sha256 sha256;
  COHOST_RETURN_IF_ERROR(
      ReadParts(source.fd.get(), source.stamp.size, buffer_, [&](std::string_view part) {
        sha256.Update(part);
        return WriteAll(copy.get(), part);
      }));
  if (HexDigest(sha256.Finish()) != from.hash) {
    return absl::DataLossError(absl::StrCat("'", path, "' is damaged: publish its source again"));
  }
  return Place(std::move(copy), temporary, to, Bytes{source.stamp.size});
}

absl::Status Publication::MakeStaging() {
  if (!staging_.empty()) return absl::OkStatus();
  for (int attempt = 0; attempt < kStagingAttempts; ++attempt) {
    std::string path = absl::StrCat(folder_.path(), "/", StoreFolder::kStaging, "XXXXXX");
    if (::mkdtemp(path.data()) == nullptr) return ErrnoStatus(errno, "mkdtemp", path);
    absl::StatusOr<UniqueFd> fd = OpenFile(path, O_RDONLY | O_DIRECTORY);
    struct stat status;
    if (fd.ok() && ::flock(fd->get(), LOCK_EX | LOCK_NB) == 0 && ::fstat(fd->get(), &status) == 0 &&
        status.st_nlink > 0) {
      staging_ = std::move(path);
      lock_ = *std::move(fd);
      return absl::OkStatus();
    }
  }
  return absl::AbortedError("another program removes what is published here; try again");
}

bool Publication::Has(const StoredName& name, Bytes size) const {
  return staged_names_.contains(name.ToString()) || folder_.Holds(name, size);
}

bool Publication::MayHave(StoredKind kind, Bytes size) {
  if (!sizes_read_) {
    sizes_read_ = true;
    const auto names = folder_.List();
    // Without a list every file is read first: slower, never wrong.
    if (!names.ok()) return true;
    for (const StoredName& name : *names) {
      struct stat status;
      if (::lstat(folder_.PathOf(name).c_str(), &status) != 0) continue;
      sizes_.emplace(name.kind, static_cast<uint64_t>(status.st_size));
    }
  }
  return sizes_.contains({kind, size.count});
}

absl::Status Publication::SyncStaged() const {
  if (staged_.size() > kMostSingleSyncs) {
    if (::syncfs(lock_.get()) != 0) return ErrnoStatus(errno, "syncfs", staging_);
    return absl::OkStatus();
  }
  for (const Staged& staged : staged_) {
    if (::fsync(staged.fd.get()) != 0) return ErrnoStatus(errno, "fsync", StagedPath(staged.name));
  }
  return absl::OkStatus();
}

absl::Status Publication::Commit() {
  if (staged_.empty()) return absl::OkStatus();
  // Content before name, name before use: after a power cut a name has its content or is not there.
  COHOST_RETURN_IF_ERROR(SyncStaged());
  for (const Staged& staged : staged_) {
    const auto admitted = folder_.Admit(StagedPath(staged.name), staged.name, staged.size);
    if (!admitted.ok()) return admitted.status();
  }
  staged_.clear();
  return folder_.Sync();
}

std::string Publication::StagedPath(const StoredName& name) const {
  return absl::StrCat(staging_, "/", name.ToString());
}

}  // namespace cohost::supervisor
