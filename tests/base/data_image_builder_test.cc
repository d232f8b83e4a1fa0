// SPDX-License-Identifier: Apache-2.0
#include "base/data_image_builder.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <random>
#include <string>

#include "base/data_image.h"
#include "base/sha256.h"
#include "base/unique_fd.h"
#include "gtest/gtest.h"

namespace cohost {
namespace {

absl::Status Verify(const std::string& file) {
  const UniqueFd fd(::memfd_create("image", MFD_CLOEXEC));
  EXPECT_EQ(::write(fd.get(), file.data(), file.size()), static_cast<ssize_t>(file.size()));
  return VerifyDataImage(fd.get());
}

// Makes the checksum right again, so that a test reaches what lies behind it.
std::string Signed(std::string file) {
  std::memset(file.data() + 64, 0, 32);
  Sha256 sha256;
  sha256.Update(file);
  const Sha256Digest digest = sha256.Finish();
  std::memcpy(file.data() + 64, digest.data(), digest.size());
  return file;
}

std::string Fruit() {
  DataImageBuilder builder("fruit");
  builder.Add("pear", "green");
  builder.Add("apple", "red");
  builder.Add("fig", "");
  return *builder.Build();
}

TEST(Sha256, MatchesTheStandardsExamples) {
  Sha256 empty;
  EXPECT_EQ(HexDigest(empty.Finish()),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  Sha256 abc;
  abc.Update("a");
  abc.Update("bc");
  EXPECT_EQ(HexDigest(abc.Finish()),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(DataImageBuilder, SameRecordsGiveTheSameBytes) {
  DataImageBuilder other("fruit");
  other.Add("fig", "");
  other.Add("apple", "red");
  other.Add("pear", "green");
  EXPECT_EQ(*other.Build(), Fruit());
}

TEST(DataImageBuilder, RefusesDuplicatesAndWhatIsTooLong) {
  DataImageBuilder twice("x");
  twice.Add("a", "1");
  twice.Add("a", "2");
  EXPECT_EQ(twice.Build().status().code(), absl::StatusCode::kAlreadyExists);
  DataImageBuilder long_key("x");
  long_key.Add(std::string(65536, 'k'), "");
  EXPECT_EQ(long_key.Build().status().code(), absl::StatusCode::kInvalidArgument);
  DataImageBuilder longest_key("x");
  longest_key.Add(std::string(65535, 'k'), "v");
  EXPECT_TRUE(Verify(*longest_key.Build()).ok());
  EXPECT_EQ(DataImageBuilder(std::string(33, 'n')).Build().status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(DataImageBuilder, RandomImagesVerifyAndAnswerLikeAMap) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::map<std::string, std::string> records;
    for (size_t i = random() % 300; i > 0; --i) {
      std::string key(random() % 6, '\0');
      for (char& c : key) c = static_cast<char>(random() % 3 == 0 ? 0xff : random() % 4);
      records[key] = std::string(random() % 40, static_cast<char>(random()));
    }
    DataImageBuilder builder("random");
    for (const auto& [key, value] : records) builder.Add(key, value);
    const std::string file = *builder.Build();
    ASSERT_TRUE(Verify(file).ok());
    const auto image = DataImage::Open(file);
    ASSERT_EQ(image->size(), records.size());
    for (const auto& [key, value] : records) EXPECT_EQ(image->Find(key), value);
    const std::string prefix(1, '\xff');
    const auto range = image->WithPrefix(prefix);
    size_t expected = 0;
    for (const auto& [key, value] : records) expected += key.starts_with(prefix);
    EXPECT_EQ(range.size(), expected);
  }
}

TEST(DataImageBuilder, LargeImagesCrossTheReadersWindows) {
  DataImageBuilder builder("large");
  for (int i = 0; i < 40'000; ++i) builder.Add("key/" + std::to_string(i), std::to_string(i * 7));
  const std::string file = *builder.Build();
  EXPECT_TRUE(Verify(file).ok());
  EXPECT_EQ(DataImage::Open(file)->Find("key/31999"), "223993");
}

TEST(VerifyDataImage, RefusesEveryFlippedByte) {
  const std::string good = Fruit();
  ASSERT_TRUE(Verify(good).ok());
  for (size_t i = 0; i < good.size(); ++i) {
    std::string file = good;
    file[i] = static_cast<char>(file[i] ^ 0x10);
    EXPECT_EQ(Verify(file).code(), absl::StatusCode::kDataLoss) << i;
  }
}

TEST(VerifyDataImage, RefusesEveryTruncation) {
  const std::string good = Fruit();
  for (size_t length = 0; length < good.size(); ++length) {
    EXPECT_EQ(Verify(good.substr(0, length)).code(), absl::StatusCode::kDataLoss) << length;
  }
}

TEST(VerifyDataImage, DoesNotTrustAChecksumOfWrongContent) {
  const std::string good = Fruit();
  const size_t keys = 128 + 3 * 24;
  std::string unsorted = good;
  std::memcpy(unsorted.data() + keys, "zpple", 5);
  EXPECT_EQ(Verify(Signed(unsorted)).message(), "record 1 is out of order");
  std::string moved = good;
  moved[128] = static_cast<char>(moved[128] + 1);
  EXPECT_EQ(Verify(Signed(moved)).message(), "record 0 is not where it must be");
  std::string padded = good;
  padded.back() = 'x';
  EXPECT_EQ(Verify(Signed(padded)).message(), "data image with non-zero padding");
  std::string reserved = good;
  reserved[56] = 1;
  EXPECT_EQ(Verify(Signed(reserved)).message(), "data image with non-zero reserved bytes");
  std::string longer = good + std::string(8, '\0');
  longer[16] = static_cast<char>(longer.size());
  EXPECT_EQ(Verify(Signed(longer)).message(), "data image with bytes that belong to no record");
  EXPECT_TRUE(Verify(Signed(good)).ok());
}

}  // namespace
}  // namespace cohost
