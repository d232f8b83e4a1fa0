// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/exchange/archive/archive_writer.h"

#include <fcntl.h>

#include <filesystem>
#include <fstream>

#include "base/system/file.h"
#include "gtest/gtest.h"
#include "tests/supervisor/ctl/exchange/archive/sample_archive.h"

namespace cohost::supervisor {
namespace {

TEST(ArchiveWriter, TheSameDeploymentGivesTheSameBytes) {
  const SampleArchive sample;
  EXPECT_EQ(sample.Bytes(true), sample.Bytes(true));
  EXPECT_LT(sample.Bytes(false).size(), sample.Bytes(true).size());
}

TEST(ArchiveWriter, AFileThatIsNotWhatItsNameSaysIsRefused) {
  const SampleArchive sample;
  const UniqueFd fd = *OpenFile(sample.folder / "out", O_RDWR | O_CREAT, 0600);
  for (const std::string& content :
       {std::string("orderz"), std::string("order"), std::string("orders and more")}) {
    std::ofstream(sample.folder / sample.orders) << content;
    EXPECT_EQ(WriteArchive(sample.Parts(true), fd.get()).code(), absl::StatusCode::kDataLoss)
        << content;
  }
  std::filesystem::remove(sample.folder / sample.orders);
  EXPECT_EQ(WriteArchive(sample.Parts(true), fd.get()).code(), absl::StatusCode::kNotFound);
}

TEST(ArchiveWriter, AFullDiskIsAnError) {
  const SampleArchive sample;
  const UniqueFd fd = *OpenFile("/dev/full", O_WRONLY);
  EXPECT_EQ(WriteArchive(sample.Parts(true), fd.get()).code(),
            absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace cohost::supervisor
