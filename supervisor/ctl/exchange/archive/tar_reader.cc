// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/exchange/archive/tar_reader.h"

#include <archive.h>
#include <archive_entry.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/strings.h"

namespace cohost::supervisor {
namespace {

constexpr size_t kBuffer = 256 * 1024;

// Why an entry is not a plain file; null when it is one.
const char* NotPlain(archive_entry* entry) {
  if (archive_entry_pathname(entry) == nullptr) return "has no name that can be read";
  if (archive_entry_hardlink(entry) != nullptr || archive_entry_symlink(entry) != nullptr) {
    return "is a link";
  }
  if (archive_entry_filetype(entry) != AE_IFREG) return "is no regular file";
  if (archive_entry_sparse_count(entry) != 0) return "is a sparse file";
  if (archive_entry_size_is_set(entry) == 0 || archive_entry_size(entry) < 0) return "has no size";
  return nullptr;
}

}  // namespace

void TarReader::Closer::operator()(archive* reader) const {
  // Ignoring the result: only memory is given back, the descriptor is the caller's.
  (void)archive_read_free(reader);
}

absl::StatusOr<TarReader> TarReader::Open(int fd) {
  if (lseek(fd, 0, SEEK_SET) != 0) return ErrnoStatus(errno, "lseek", "");
  TarReader reader(archive_read_new());
  if (reader.archive_ == nullptr) return absl::ResourceExhaustedError("no memory for reading");
  // Only this format and no filter: the fewer readers, the less a hostile file can reach.
  if (archive_read_support_format_tar(reader.archive_.get()) != ARCHIVE_OK ||
      archive_read_open_fd(reader.archive_.get(), fd, kBuffer) != ARCHIVE_OK) {
    return reader.Damaged();
  }
  return reader;
}

absl::Status TarReader::Damaged() const {
  const char* reason = archive_error_string(archive_.get());
  return absl::DataLossError(reason == nullptr ? "it cannot be read" : reason);
}

absl::StatusOr<std::optional<TarReader::Entry>> TarReader::Next() {
  archive_entry* entry = nullptr;
  const int result = archive_read_next_header(archive_.get(), &entry);
  if (result == ARCHIVE_EOF) return std::nullopt;
  // A warning too: what we wrote gives none.
  if (result != ARCHIVE_OK) return Damaged();
  if (const char* problem = NotPlain(entry); problem != nullptr) {
    return absl::DataLossError(absl::StrCat("an entry ", problem));
  }
  size_ = static_cast<uint64_t>(archive_entry_size(entry));
  return Entry{archive_entry_pathname(entry), size_};
}

absl::Status TarReader::Read(const std::function<absl::Status(std::string_view)>& take) {
  uint64_t read = 0;
  while (true) {
    const void* bytes = nullptr;
    size_t size = 0;
    la_int64_t offset = 0;
    const int result = archive_read_data_block(archive_.get(), &bytes, &size, &offset);
    if (result == ARCHIVE_EOF) break;
    if (result != ARCHIVE_OK) return Damaged();
    // A hole, or more than there was to be.
    if (offset != static_cast<la_int64_t>(read) || size > size_ - read) break;
    read += size;
    COHOST_RETURN_IF_ERROR(take({static_cast<const char*>(bytes), size}));
  }
  if (read == size_) return absl::OkStatus();
  return absl::DataLossError("an entry is not as long as it says");
}

}  // namespace cohost::supervisor
