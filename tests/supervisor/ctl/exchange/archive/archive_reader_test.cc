// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/exchange/archive/archive_reader.h"

#include <fcntl.h>

#include <string>

#include "absl/strings/str_format.h"
#include "base/system/file.h"
#include "gtest/gtest.h"
#include "supervisor/ctl/exchange/archive/tar_writer.h"
#include "tests/supervisor/ctl/exchange/archive/sample_archive.h"

namespace cohost::supervisor {
namespace {

constexpr size_t kBlock = 512;

// Whether reading gives what the sample has, files and all.
void ExpectSame(const absl::StatusOr<ArchiveContents>& contents, const KeepingSink& sink,
                const SampleArchive& sample) {
  ASSERT_TRUE(contents.ok()) << contents.status();
  const ArchiveParts parts = sample.Parts(true);
  EXPECT_EQ(contents->head.hostname, parts.head.hostname);
  EXPECT_EQ(contents->head.revision, parts.head.revision);
  EXPECT_EQ(contents->deployment, parts.deployment);
  EXPECT_EQ(contents->list.uses, parts.list.uses);
  EXPECT_EQ(contents->signatures, parts.signatures);
  EXPECT_EQ(sink.files, sample.files);
}

// Gives the header that begins at `at` its right sum.
void FixSum(std::string& bytes, size_t at) {
  bytes.replace(at + 148, 8, 8, ' ');
  unsigned sum = 0;
  for (size_t i = at; i < at + kBlock; ++i) sum += static_cast<unsigned char>(bytes[i]);
  bytes.replace(at + 148, 7, absl::StrFormat("%06o", sum) + std::string(1, '\0'));
}

// Where the header of this entry begins.
size_t HeaderOf(const std::string& bytes, const std::string& name) {
  for (size_t at = 0; at < bytes.size(); at += kBlock) {
    if (bytes.compare(at, name.size() + 1, name + std::string(1, '\0')) == 0) return at;
  }
  ADD_FAILURE() << name;
  return 0;
}

TEST(ArchiveReader, ReadsBackWhatWasWritten) {
  const SampleArchive sample;
  KeepingSink sink;
  ExpectSame(sample.Read(sample.Bytes(true), &sink), sink, sample);
}

TEST(ArchiveReader, WithoutFilesTheListSaysSo) {
  const SampleArchive sample;
  KeepingSink sink;
  const auto contents = sample.Read(sample.Bytes(false), &sink);
  ASSERT_TRUE(contents.ok()) << contents.status();
  EXPECT_TRUE(sink.files.empty());
  for (const ArchivedFile& file : contents->list.files) EXPECT_FALSE(file.included);
  EXPECT_EQ(contents->signatures.size(), 1u);
}

TEST(ArchiveReader, EveryCutIsRefused) {
  const SampleArchive sample;
  const std::string bytes = sample.Bytes(true);
  // The last file in the order of hashes, its padding and the two blocks of zeros.
  const std::string& last = sample.files.rbegin()->second;
  const size_t end = bytes.size() - 2 * kBlock - (kBlock - last.size() % kBlock) % kBlock;
  for (size_t length = 0; length < bytes.size(); ++length) {
    KeepingSink sink;
    const auto contents = sample.Read(bytes.substr(0, length), &sink);
    if (length < end) {
      EXPECT_EQ(contents.status().code(), absl::StatusCode::kDataLoss) << length;
    } else if (contents.ok()) {
      ExpectSame(contents, sink, sample);
    }
  }
}

TEST(ArchiveReader, EveryChangedByteIsRefusedOrMeansNothing) {
  const SampleArchive sample;
  const std::string bytes = sample.Bytes(true);
  size_t refused = 0;
  for (size_t at = 0; at < bytes.size(); ++at) {
    const int change = at % 2 == 0 ? 0x01 : 0x90;
    std::string other = bytes;
    other[at] = static_cast<char>(other[at] ^ change);
    KeepingSink sink;
    const auto contents = sample.Read(other, &sink);
    if (contents.ok()) {
      ExpectSame(contents, sink, sample);
    } else {
      ++refused;
    }
  }
  // All but paddings and fields that nobody looks at.
  EXPECT_GT(refused, bytes.size() / 2);
}

TEST(ArchiveReader, LinksAndFoldersAreRefusedWhereverTheyStand) {
  const SampleArchive sample;
  const std::string bytes = sample.Bytes(true);
  for (const std::string& name :
       {std::string("cohost-export"), std::string("deployment.yaml"), std::string("files"),
        SignaturesEntry(sample.catalog), "modules/" + sample.words + ".img"}) {
    for (const char type : {'1', '2', '3', '4', '5', '6'}) {
      std::string other = bytes;
      const size_t at = HeaderOf(bytes, name);
      other[at + 156] = type;
      other.replace(at + 157, 11, "/etc/passwd");
      FixSum(other, at);
      EXPECT_EQ(sample.Read(other).status().code(), absl::StatusCode::kDataLoss) << name << type;
    }
  }
}

TEST(ArchiveReader, AnotherNameIsRefused) {
  const SampleArchive sample;
  const std::string bytes = sample.Bytes(true);
  const std::string module = "modules/" + sample.orders + ".so";
  for (const std::string& name : {"../" + sample.orders + ".so", "/" + module,
                                  "modules/../" + sample.orders + ".so", "./" + module}) {
    std::string other = bytes;
    const size_t at = HeaderOf(bytes, module);
    other.replace(at, 100, name + std::string(100 - name.size(), '\0'));
    FixSum(other, at);
    EXPECT_EQ(sample.Read(other).status().code(), absl::StatusCode::kDataLoss) << name;
  }
}

TEST(ArchiveReader, HugeSizesAreRefusedAtOnce) {
  const SampleArchive sample;
  const std::string bytes = sample.Bytes(true);
  for (const std::string& name :
       {std::string("cohost-export"), std::string("deployment.yaml"), std::string("files"),
        SignaturesEntry(sample.catalog), "modules/" + sample.words + ".img"}) {
    std::string other = bytes;
    const size_t at = HeaderOf(bytes, name);
    other.replace(at + 124, 11, "77777777777");
    FixSum(other, at);
    EXPECT_EQ(sample.Read(other).status().code(), absl::StatusCode::kDataLoss) << name;
  }
}

TEST(ArchiveReader, NothingMayComeAfterTheLastFile) {
  const SampleArchive sample;
  const std::string bytes = sample.Bytes(true);
  const std::string path = sample.folder / "more";
  const UniqueFd fd = *OpenFile(path, O_RDWR | O_CREAT, 0600);
  ASSERT_TRUE(
      WriteAll(fd.get(), std::string_view(bytes).substr(0, bytes.size() - 2 * kBlock)).ok());
  TarWriter tar(fd.get(), absl::UnixEpoch());
  ASSERT_TRUE(tar.Add("modules/more.so", "x").ok());
  ASSERT_TRUE(tar.Finish().ok());
  EXPECT_EQ(ReadArchive(fd.get(), nullptr).status().code(), absl::StatusCode::kDataLoss);
}

TEST(ArchiveReader, AnotherFormatVersionSaysSo) {
  const SampleArchive sample;
  const UniqueFd fd = *OpenFile(sample.folder / "later", O_RDWR | O_CREAT, 0600);
  TarWriter tar(fd.get(), absl::UnixEpoch());
  ASSERT_TRUE(tar.Add("cohost-export", "cohost-export 2\n").ok());
  ASSERT_TRUE(tar.Finish().ok());
  EXPECT_EQ(ReadArchive(fd.get(), nullptr).status().code(), absl::StatusCode::kUnimplemented);
}

TEST(ArchiveReader, AnErrorOfTheSinkIsGivenBackAsItIs) {
  const SampleArchive sample;
  KeepingSink sink;
  sink.refuses = absl::ResourceExhaustedError("full");
  EXPECT_EQ(sample.Read(sample.Bytes(true), &sink).status().code(),
            absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace cohost::supervisor
