// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/sha256.h"
#include "base/system/unique_fd.h"
#include "supervisor/ctl/exchange/archive/archive_reader.h"

namespace cohost::supervisor {

// Lays files of an import into a folder: HASH.so or HASH.img, read-only, with HASH.so.sig beside it
// when it is signed. Each appears whole or not at all. What is there already with the right content
// is left; with another one that is FAILED_PRECONDITION, since somebody else uses the name. Ended
// without Keep, everything that was laid is gone again, the folder too when it was made for it. One
// thread at a time; blocks on the disk.
class ModuleFolder final : public FileSink {
 public:
  // Makes the folder, an absolute path, when there is none.
  static absl::StatusOr<std::unique_ptr<ModuleFolder>> Open(std::string path);
  ~ModuleFolder() override;
  ModuleFolder(const ModuleFolder&) = delete;
  ModuleFolder& operator=(const ModuleFolder&) = delete;

  // FileSink
  absl::Status Begin(const ArchivedFile& file) override;
  absl::Status Write(std::string_view bytes) override;
  absl::Status End() override;

  // From a file that this host has. DATA_LOSS when it is not what the name says.
  absl::Status Copy(const ArchivedFile& file, const std::string& from);
  // Instead of signatures that may be there.
  absl::Status LaySignatures(const ArchivedFile& file, const std::string& text);
  // Until everything is on the disk.
  absl::Status Sync() const;
  void Keep();

  std::string PathOf(const ArchivedFile& file) const;

 private:
  struct Signatures {
    std::string path;
    std::optional<std::string> before;  // unset: there were none
  };
  explicit ModuleFolder(std::string path) : path_(std::move(path)) {}
  void Undo();

  // Set in the constructor, never changed.
  const std::string path_;
  // Of the calling thread.
  bool made_ = false;
  std::vector<std::string> laid_;
  std::vector<Signatures> signatures_;
  // Of the file under way. No descriptor: it is there already.
  const ArchivedFile* file_ = nullptr;
  std::string temporary_;
  UniqueFd fd_;
};

}  // namespace cohost::supervisor
