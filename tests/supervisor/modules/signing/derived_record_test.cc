// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/signing/derived_record.h"

#include <fstream>
#include <string>

#include "gtest/gtest.h"
#include "supervisor/modules/signing/content_hash.h"
#include "tests/support/temporary_folder.h"

namespace cohost::supervisor {
namespace {

using testing::TemporaryFolder;

DerivedRecord Record() {
  return {std::string(64, 'a'), std::string(64, 'b'), "crossgen2 8.0.1",
          "Microsoft.NETCore.App 8.0.1", "-O --targetarch x64"};
}

// A stored file with what its hash says.
StoredFile Stored(const TemporaryFolder& folder) {
  StoredFile file;
  file.path = folder / "stored";
  std::ofstream(file.path) << "compiled";
  file.hash = HashOfFile(file.path).value();
  file.kind = StoredKind::kModule;
  return file;
}

TEST(DerivedRecord, ReadsBackWhatWasWritten) {
  DerivedRecord record = Record();
  EXPECT_EQ(ParseDerivedRecord(FormatDerivedRecord(record).value()).value(), record);
  record.flags.clear();
  EXPECT_EQ(ParseDerivedRecord(FormatDerivedRecord(record).value()).value(), record);
}

TEST(DerivedRecord, ATornRecordGivesNoTrustWhereverItEnds) {
  const std::string text = FormatDerivedRecord(Record()).value();
  for (size_t length = 0; length < text.size(); ++length) {
    EXPECT_EQ(ParseDerivedRecord(text.substr(0, length)).status().code(),
              absl::StatusCode::kDataLoss)
        << length;
  }
  EXPECT_FALSE(ParseDerivedRecord(text + "more").ok());
  EXPECT_FALSE(ParseDerivedRecord(text + "\n").ok());
}

TEST(DerivedRecord, AnotherVersionOrAnotherOrderIsUnreadable) {
  const std::string text = FormatDerivedRecord(Record()).value();
  EXPECT_FALSE(ParseDerivedRecord("cohost-derived 2" + text.substr(16)).ok());
  const size_t source = text.find("source");
  const size_t stored = text.find("stored");
  const size_t compiler = text.find("compiler");
  EXPECT_FALSE(ParseDerivedRecord(text.substr(0, source) + text.substr(stored, compiler - stored) +
                                  text.substr(source, stored - source) + text.substr(compiler))
                   .ok());
}

TEST(DerivedRecord, AFieldIsOneLineOfBoundedLength) {
  for (const std::string& bad :
       {std::string("a\nb"), std::string("a\0b", 3), std::string("\x7f"), std::string(1025, 'x')}) {
    DerivedRecord record = Record();
    record.flags = bad;
    EXPECT_EQ(FormatDerivedRecord(record).status().code(), absl::StatusCode::kInvalidArgument);
  }
  DerivedRecord record = Record();
  record.source_hash = "../../etc/passwd";
  EXPECT_FALSE(FormatDerivedRecord(record).ok());
}

TEST(DerivedRecords, AreFoundByTheHashOfTheStoredFile) {
  const TemporaryFolder folder;
  const DerivedRecords records(folder.path());
  EXPECT_EQ(records.Find(Record().stored_hash).status().code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(records.Keep(Record()).ok());
  EXPECT_EQ(records.Find(Record().stored_hash).value(), Record());
  DerivedRecord other = Record();
  other.compiler = "crossgen2 8.0.2";
  ASSERT_TRUE(records.Keep(other).ok());
  EXPECT_EQ(DerivedRecords(folder.path()).Find(Record().stored_hash).value(), other);
  EXPECT_TRUE(records.Forget(Record().stored_hash).ok());
  EXPECT_TRUE(records.Forget(Record().stored_hash).ok());
  EXPECT_EQ(records.Find(Record().stored_hash).status().code(), absl::StatusCode::kNotFound);
}

TEST(DerivedRecords, ARecordUnderAnotherNameIsNone) {
  const TemporaryFolder folder;
  const DerivedRecords records(folder.path());
  ASSERT_TRUE(records.Keep(Record()).ok());
  const std::string other(64, 'c');
  std::ofstream(records.PathOf(other)) << FormatDerivedRecord(Record()).value();
  EXPECT_EQ(records.Find(other).status().code(), absl::StatusCode::kDataLoss);
  std::ofstream(records.PathOf(std::string(64, 'd'))) << std::string(100'000, 'x');
  EXPECT_EQ(records.Find(std::string(64, 'd')).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(records.Find("../derived/" + other).status().code(), absl::StatusCode::kNotFound);
}

TEST(DerivedRecords, AStoredFileIsReadAgainBeforeItsRecordIsTrusted) {
  const TemporaryFolder folder;
  const DerivedRecords records(folder.path());
  const StoredFile file = Stored(folder);
  EXPECT_EQ(records.Verify(file).status().code(), absl::StatusCode::kNotFound);
  DerivedRecord record = Record();
  record.stored_hash = file.hash;
  ASSERT_TRUE(records.Keep(record).ok());
  EXPECT_EQ(records.Verify(file).value(), record);
  std::ofstream(file.path) << "Compiled";
  EXPECT_EQ(records.Verify(file).status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace cohost::supervisor
