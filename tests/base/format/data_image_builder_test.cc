// SPDX-License-Identifier: Apache-2.0
#include "base/format/data_image_builder.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <map>
#include <random>
#include <string>

#include "base/format/data_image.h"
#include "base/sha256.h"
#include "base/system/unique_fd.h"
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

TEST(DataImageBuilder, LongestKeysMakeFencesOfTheirLength) {
  const std::string most(65'534, 'k');
  DataImageBuilder builder("long");
  for (char last = 'a'; last <= 'h'; ++last) builder.Add(most + last, std::string(1, last));
  const std::string file = *builder.Build();
  ASSERT_TRUE(Verify(file).ok());
  const auto image = DataImage::Open(file);
  for (char last = 'a'; last <= 'h'; ++last) {
    EXPECT_EQ(image->Find(most + last), std::string(1, last));
  }
  EXPECT_EQ(image->Find(most), std::nullopt);
  EXPECT_EQ(image->WithPrefix(most).size(), 8u);
}

// The same searches on the map, as slow as they are plain.
void ExpectLikeTheMap(const DataImage& image, const std::map<std::string, std::string>& records,
                      const std::string& text) {
  const auto place = [&records](auto it) {
    return static_cast<uint64_t>(std::distance(records.begin(), it));
  };
  const auto from = records.lower_bound(text);
  const auto to = std::find_if_not(from, records.end(),
                                   [&](const auto& r) { return r.first.starts_with(text); });
  const auto range = image.WithPrefix(text);
  EXPECT_EQ(image.LowerBound(text), place(from));
  EXPECT_EQ(range.begin, place(from));
  EXPECT_EQ(range.end, place(to));
  EXPECT_EQ(image.Find(text).has_value(), records.contains(text));
}

TEST(DataImageBuilder, RandomImagesVerifyAndAnswerLikeAMap) {
  std::mt19937 random(7);
  const auto random_text = [&random] {
    std::string text(random() % 6, '\0');
    for (char& c : text) c = static_cast<char>(random() % 3 == 0 ? 0xff : random() % 4);
    return text;
  };
  for (int round = 0; round < 60; ++round) {
    // From one block of all records to a block for each.
    const size_t longest_value = std::array{40, 400, 4000, 40'000}[round % 4];
    std::map<std::string, std::string> records;
    for (size_t i = random() % 300; i > 0; --i) {
      records[random_text()] = std::string(random() % longest_value, static_cast<char>(random()));
    }
    DataImageBuilder builder("random");
    for (const auto& [key, value] : records) builder.Add(key, value);
    const std::string file = *builder.Build();
    ASSERT_TRUE(Verify(file).ok());
    const auto image = DataImage::Open(file);
    ASSERT_EQ(image->size(), records.size());
    uint64_t number = 0;
    for (const auto& [key, value] : records) {
      EXPECT_EQ(image->Find(key), value);
      EXPECT_EQ(image->At(number++)->key, key);
    }
    for (int i = 0; i < 100; ++i) ExpectLikeTheMap(*image, records, random_text());
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
  const size_t block = 128 + 16;
  const size_t keys = block + 3 * 16;
  std::string unsorted = good;
  std::memcpy(unsorted.data() + keys, "zpple", 5);
  EXPECT_EQ(Verify(Signed(unsorted)).message(), "record 1 is out of order");
  std::string moved_value = good;
  ++moved_value[block];
  EXPECT_EQ(Verify(Signed(moved_value)).message(), "record 0 is not where it must be");
  std::string moved_key = good;
  moved_key[block + 16 + 8] = 1;
  EXPECT_EQ(Verify(Signed(moved_key)).message(), "record 1 is not where it must be");
  std::string padded = good;
  padded.back() = 'x';
  EXPECT_EQ(Verify(Signed(padded)).message(), "data image with non-zero padding");
  std::string padded_keys = good;
  padded_keys[keys + std::strlen("applefigpear")] = 'x';
  EXPECT_EQ(Verify(Signed(padded_keys)).message(), "data image with non-zero padding");
  for (const size_t reserved : {52, 63}) {
    std::string file = good;
    file[reserved] = 1;
    EXPECT_EQ(Verify(Signed(file)).message(), "data image with non-zero reserved bytes");
  }
  std::string longer = good + std::string(8, '\0');
  longer[16] = static_cast<char>(longer.size());
  EXPECT_EQ(Verify(Signed(longer)).message(), "data image with bytes that belong to no record");
  EXPECT_TRUE(Verify(Signed(good)).ok());
}

TEST(VerifyDataImage, RefusesHostileNumbersUnderARightChecksum) {
  const std::string good = Fruit();
  const size_t block = 128 + 16;
  // Magic, version, header size, length, number of records, fence keys, first block, shift, then
  // the fence and the first entry.
  for (const size_t at :
       {size_t{0}, size_t{8}, size_t{12}, size_t{16}, size_t{24}, size_t{32}, size_t{40},
        size_t{48}, size_t{128}, size_t{136}, block, block + 8, block + 12}) {
    for (const uint32_t number : {0u, 1u, 0x7fffffffu, 0x80000000u, 0xfffffff8u, 0xffffffffu}) {
      std::string file = good;
      std::memcpy(file.data() + at, &number, sizeof number);
      if (file == good) continue;
      EXPECT_EQ(Verify(Signed(file)).code(), absl::StatusCode::kDataLoss) << at << " " << number;
      // The upper half of the numbers of 8 bytes.
      file = good;
      std::memcpy(file.data() + at + 4, &number, sizeof number);
      if (file == good) continue;
      EXPECT_EQ(Verify(Signed(file)).code(), absl::StatusCode::kDataLoss) << at << " " << number;
    }
  }
}

TEST(VerifyDataImage, DoesNotTrustFences) {
  DataImageBuilder builder("blocks");
  for (char key = 'a'; key <= 'f'; ++key) builder.Add({key, key}, std::string(10'000, key));
  const std::string good = *builder.Build();  // six blocks
  const size_t fence = 128 + 2 * 16;
  const size_t fence_keys = 128 + 6 * 16;
  ASSERT_TRUE(Verify(Signed(good)).ok());
  ASSERT_EQ(good.substr(fence_keys, 8), std::string("bcdef\0\0\0", 8));
  std::string wrong_key = good;
  wrong_key[fence_keys + 1] = 'b';  // as good for searches, but not the one
  EXPECT_EQ(Verify(Signed(wrong_key)).message(), "fence 2 has a wrong key");
  std::string wrong_end = good;
  ++wrong_end[fence + 8];
  EXPECT_EQ(Verify(Signed(wrong_end)).message(), "fence 2 points to a wrong place");
  std::string wrong_block = good;
  wrong_block[fence] = static_cast<char>(wrong_block[fence] + 8);
  EXPECT_EQ(Verify(Signed(wrong_block)).message(), "fence 2 points to a wrong place");
  std::string padded = good;
  padded[fence_keys + 5] = 'x';
  EXPECT_EQ(Verify(Signed(padded)).message(), "data image with non-zero padding");
}

}  // namespace
}  // namespace cohost
