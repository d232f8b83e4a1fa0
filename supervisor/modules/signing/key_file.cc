// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/signing/key_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status.h"
#include "base/system/file.h"

namespace cohost::supervisor {
namespace {

struct KeyText {
  std::string pem;
  mode_t mode = 0;
};

// Content and mode of the same file.
absl::StatusOr<KeyText> ReadKeyText(const std::string& path) {
  COHOST_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  struct stat info {};
  if (fstat(fd.get(), &info) != 0) return ErrnoStatus(errno, "fstat", path);
  if (!S_ISREG(info.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat("key '", path, "': not a regular file"));
  }
  KeyText text;
  text.mode = info.st_mode & 07777;
  text.pem.resize(kMaxKeyFile.count + 1);
  size_t length = 0;
  while (length < text.pem.size()) {
    const ssize_t got = read(fd.get(), text.pem.data() + length, text.pem.size() - length);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(errno, "read", path);
    if (got == 0) break;
    length += static_cast<size_t>(got);
  }
  if (length > kMaxKeyFile.count) {
    return absl::ResourceExhaustedError(
        absl::StrCat("key '", path, "': longer than ", FormatBytes(kMaxKeyFile)));
  }
  text.pem.resize(length);
  return text;
}

absl::Status WrongMode(const std::string& path, const char* what, mode_t mode, const char* remedy) {
  return absl::FailedPreconditionError(absl::StrFormat(
      "key '%s': others may %s it (mode %04o); run `chmod %s %s`", path, what, mode, remedy, path));
}

absl::Status WriteNewFile(const std::string& path, const std::string& content, mode_t mode) {
  COHOST_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, O_WRONLY | O_CREAT | O_EXCL, mode));
  const auto fill = [&]() -> absl::Status {
    // Not less than asked because of the umask.
    if (fchmod(fd.get(), mode) != 0) return ErrnoStatus(errno, "fchmod", path);
    COHOST_RETURN_IF_ERROR(Annotate(WriteAll(fd.get(), content), path));
    if (fsync(fd.get()) != 0) return ErrnoStatus(errno, "fsync", path);
    return absl::OkStatus();
  };
  absl::Status filled = fill();
  // Ignoring a failed unlink: the first error says more.
  if (!filled.ok()) (void)unlink(path.c_str());
  return filled;
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

absl::Status NotOverwritten(const absl::Status& status, const std::string& path) {
  if (!absl::IsAlreadyExists(status)) return status;
  return absl::AlreadyExistsError(
      absl::StrCat("'", path,
                   "' is there already, and a key is never overwritten: take another "
                   "name, or move it away"));
}

}  // namespace

absl::StatusOr<PublicKey> ReadPublicKey(const std::string& path) {
  COHOST_ASSIGN_OR_RETURN(const KeyText text, ReadKeyText(path));
  if ((text.mode & S_IWOTH) != 0) return WrongMode(path, "write", text.mode, "o-w");
  absl::StatusOr<PublicKey> key = PublicKey::Parse(text.pem);
  if (!key.ok()) return Annotate(key.status(), absl::StrCat("key '", path, "'"));
  return key;
}

absl::StatusOr<PrivateKey> ReadPrivateKey(const std::string& path) {
  COHOST_ASSIGN_OR_RETURN(KeyText text, ReadKeyText(path));
  absl::StatusOr<PrivateKey> key = PrivateKey::Parse(text.pem);
  WipeSecret(text.pem);
  if (!key.ok()) return Annotate(key.status(), absl::StrCat("key '", path, "'"));
  if ((text.mode & 077) != 0) return WrongMode(path, "read or change", text.mode, "600");
  return key;
}

absl::StatusOr<PublicKey> WriteNewKey(const std::string& name) {
  const std::string secret_path = name + ".key";
  const std::string public_path = name + ".pub";
  COHOST_ASSIGN_OR_RETURN(const PrivateKey key, PrivateKey::Generate());
  // The public one first: if the second fails, no secret lies around.
  if (absl::Status written = WriteNewFile(public_path, key.public_key().ToPem(), 0644);
      !written.ok()) {
    return NotOverwritten(written, public_path);
  }
  std::string secret = key.ToPem();
  absl::Status written = WriteNewFile(secret_path, secret, 0600);
  WipeSecret(secret);
  if (!written.ok()) {
    // Ignoring a failed unlink: the first error says more.
    (void)unlink(public_path.c_str());
    return NotOverwritten(written, secret_path);
  }
  COHOST_RETURN_IF_ERROR(SyncFolder(FolderOf(name)));
  return key.public_key();
}

}  // namespace cohost::supervisor
