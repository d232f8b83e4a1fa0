// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "supervisor/ctl/exchange/archive/archive_reader.h"
#include "supervisor/ctl/exchange/archive/archive_writer.h"
#include "tests/support/temporary_folder.h"

namespace cohost::supervisor {

// Two modules, one of them signed, and a data image, as files of a folder, and a deployment of
// three services that use them.
class SampleArchive {
 public:
  SampleArchive();

  // With the files that are to be in it: all, or none.
  ArchiveParts Parts(bool with_files) const;
  // Writes the archive and gives its bytes.
  std::string Bytes(bool with_files) const;
  absl::StatusOr<ArchiveContents> Read(const std::string& bytes, FileSink* sink = nullptr) const;

  const testing::TemporaryFolder folder;
  // Content by hash.
  std::map<std::string, std::string> files;
  std::string catalog, orders, words;  // hashes
  std::string deployment;
};

// Keeps what it gets.
class KeepingSink final : public FileSink {
 public:
  absl::Status Begin(const ArchivedFile& file) override;
  absl::Status Write(std::string_view bytes) override;
  absl::Status End() override;

  std::map<std::string, std::string> files;  // complete ones, by hash
  absl::Status refuses;                      // what Write answers

 private:
  std::string hash_;
  std::string bytes_;
};

}  // namespace cohost::supervisor
