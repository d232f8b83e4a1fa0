// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

struct archive;

namespace cohost::supervisor {

// Reads the regular files of a tar archive, one after the other; nothing else may be in it. This is
// where libarchive is met, which reads hostile headers; names are only read, never used as paths.
// One thread at a time; the descriptor outlives it.
class TarReader {
 public:
  struct Entry {
    std::string name;
    uint64_t size = 0;
  };

  // From the beginning of the file.
  static absl::StatusOr<TarReader> Open(int fd);

  // The next file; nothing at the end. DATA_LOSS for what is no tar archive, is cut or damaged, and
  // for links, folders, devices and sparse files.
  absl::StatusOr<std::optional<Entry>> Next();
  // The content of the file that Next gave, in parts; once. An error of `take` ends it. DATA_LOSS
  // when it is not exactly as long as Next said.
  absl::Status Read(const std::function<absl::Status(std::string_view)>& take);

 private:
  struct Closer {
    void operator()(archive* reader) const;
  };
  explicit TarReader(archive* reader) : archive_(reader) {}
  absl::Status Damaged() const;

  std::unique_ptr<archive, Closer> archive_;
  uint64_t size_ = 0;  // of the file that Next gave
};

}  // namespace cohost::supervisor
