// SPDX-License-Identifier: Apache-2.0
#include "base/format/data_image.h"

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/format/data_image_builder.h"
#include "gtest/gtest.h"
#include "tests/base/format/data_image_in_c.h"

namespace cohost {
namespace {

std::string Fruit() {
  DataImageBuilder builder("fruit");
  builder.Add("pear", "green");
  builder.Add("apple", "red");
  builder.Add("apricot", "orange");
  builder.Add("", "nothing");
  builder.Add("fig", "");
  return *builder.Build();
}

// Several blocks: keys "0000/" to "2999/", values of their own digits.
std::string Numbered() {
  DataImageBuilder builder("numbered");
  for (int i = 0; i < 3000; ++i) {
    const std::string digits = std::to_string(10'000 + i).substr(1);
    builder.Add(digits + "/", digits);
  }
  return *builder.Build();
}

// The single block of Fruit, and the entry of "fig" in it.
constexpr size_t kBlock = 128 + 16;
constexpr size_t kFig = kBlock + 3 * 16;

template <typename Number>
std::string With(std::string file, size_t offset, Number number) {
  std::memcpy(file.data() + offset, &number, sizeof number);
  return file;
}

std::string ProblemOf(const std::string& file) {
  const char* problem = nullptr;
  const bool opened = DataImage::Open(file, &problem).has_value();
  EXPECT_EQ(opened, problem == nullptr);
  return problem == nullptr ? "" : problem;
}

TEST(DataImage, FindsEveryRecordAndNoOther) {
  const std::string file = Fruit();
  const auto image = DataImage::Open(file);
  ASSERT_TRUE(image.has_value());
  EXPECT_EQ(image->size(), 5u);
  EXPECT_EQ(image->name(), "fruit");
  EXPECT_EQ(image->Find("pear"), "green");
  EXPECT_EQ(image->Find("apple"), "red");
  EXPECT_EQ(image->Find("apricot"), "orange");
  EXPECT_EQ(image->Find(""), "nothing");
  EXPECT_EQ(image->Find("fig"), "");
  EXPECT_EQ(image->Find("appl"), std::nullopt);
  EXPECT_EQ(image->Find("apples"), std::nullopt);
  EXPECT_EQ(image->Find("zebra"), std::nullopt);
}

TEST(DataImage, IteratesInOrderOfKeys) {
  const std::string file = Fruit();
  const auto image = DataImage::Open(file);
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < image->size(); ++i) keys.emplace_back(image->At(i)->key);
  EXPECT_EQ(keys, (std::vector<std::string>{"", "apple", "apricot", "fig", "pear"}));
  EXPECT_FALSE(image->At(5).has_value());
}

TEST(DataImage, PrefixesAreRanges) {
  const std::string file = Fruit();
  const auto image = DataImage::Open(file);
  const auto ap = image->WithPrefix("ap");
  EXPECT_EQ(ap.begin, 1u);
  EXPECT_EQ(ap.end, 3u);
  EXPECT_EQ(image->WithPrefix("apricots").size(), 0u);
  EXPECT_EQ(image->WithPrefix("").size(), 5u);
  EXPECT_EQ(image->WithPrefix("pear").size(), 1u);
}

TEST(DataImage, ValuesAreAlignedForNumbers) {
  const std::string file = Fruit();
  const auto image = DataImage::Open(file);
  for (uint64_t i = 0; i < image->size(); ++i) {
    EXPECT_EQ(static_cast<size_t>(image->At(i)->value.data() - file.data()) % 8, 0u);
  }
}

TEST(DataImage, EmptyImageHasNoRecords) {
  const std::string file = *DataImageBuilder("").Build();
  const auto image = DataImage::Open(file);
  ASSERT_TRUE(image.has_value());
  EXPECT_TRUE(image->empty());
  EXPECT_EQ(image->Find("a"), std::nullopt);
  EXPECT_EQ(image->WithPrefix("").size(), 0u);
  EXPECT_EQ(DataImage().Find("a"), std::nullopt);
}

TEST(DataImage, ARefusedImageHasNoRecords) {
  cohost_data_image image = {nullptr, 5, 7, 3};
  EXPECT_NE(cohost_data_image_open("short", 5, &image), nullptr);
  EXPECT_EQ(image.count, 0u);
  cohost_data_record record;
  EXPECT_EQ(cohost_data_image_find(&image, "a", 1, &record), 0);
}

TEST(DataImage, RefusesEveryTruncation) {
  const std::string file = Fruit();
  for (size_t length = 0; length < file.size(); ++length) {
    EXPECT_FALSE(DataImage::Open(std::string_view(file).substr(0, length)).has_value()) << length;
  }
  EXPECT_EQ(ProblemOf(file + "x"), "data image with a wrong length");
}

TEST(DataImage, RefusesWrongHeaders) {
  const std::string file = Fruit();
  EXPECT_EQ(ProblemOf(With<char>(file, 0, 'X')), "not a data image");
  EXPECT_EQ(ProblemOf(With<uint32_t>(file, 8, 2)), "data image of another format version");
  EXPECT_EQ(ProblemOf(With<uint32_t>(file, 12, 64)), "data image with a wrong header size");
  EXPECT_EQ(ProblemOf(With<uint64_t>(file, 24, ~0ull)), "data image with more records than bytes");
  EXPECT_EQ(ProblemOf(With<uint32_t>(file, 48, 13)), "data image with too large blocks");
  const std::string wrong_offsets = "data image with wrong table offsets";
  EXPECT_EQ(ProblemOf(With<uint64_t>(file, 24, 0)), wrong_offsets);
  EXPECT_EQ(ProblemOf(With<uint64_t>(file, 32, 0)), wrong_offsets);
  EXPECT_EQ(ProblemOf(With<uint64_t>(file, 40, 0)), wrong_offsets);
  EXPECT_EQ(ProblemOf(With<uint64_t>(file, 40, kBlock + 1)), wrong_offsets);
  EXPECT_EQ(ProblemOf(With<uint64_t>(file, 40, file.size())), wrong_offsets);
  EXPECT_EQ(ProblemOf(With<uint64_t>(file, 40, file.size() + 8)), wrong_offsets);
  EXPECT_EQ(ProblemOf(With<uint64_t>(file, 40, ~7ull)), wrong_offsets);
  EXPECT_EQ(ProblemOf(With<uint32_t>(file, 48, 0)), wrong_offsets);
}

TEST(DataImage, AnswersHostileRecordsAsAbsent) {
  const std::string good = Fruit();
  EXPECT_EQ(DataImage::Open(good)->At(3)->key, "fig");
  for (const std::string& file :
       {With<uint64_t>(good, kFig, ~0ull - 2), With<uint64_t>(good, kFig, good.size() + 1),
        With<uint32_t>(good, kFig + 8, ~0u), With<uint32_t>(good, kFig + 8, 0),
        With<uint32_t>(good, kFig + 12, ~0u)}) {
    EXPECT_FALSE(DataImage::Open(file)->At(3).has_value());
    EXPECT_EQ(DataImage::Open(file)->Find("fig"), std::nullopt);
    EXPECT_EQ(DataImage::Open(file)->Find("apple"), "red");
  }
}

TEST(DataImage, AnswersHostileBlocksAsAbsent) {
  const std::string good = Fruit();
  for (const uint64_t offset : {~uint64_t{0}, good.size() + 1, good.size(), good.size() - 79}) {
    const std::string file = With<uint64_t>(good, 128, offset);
    EXPECT_FALSE(DataImage::Open(file)->At(3).has_value()) << offset;
    EXPECT_EQ(DataImage::Open(file)->Find("fig"), std::nullopt) << offset;
  }
}

TEST(DataImage, AnswersHostileFencesAsAbsent) {
  const std::string good = Numbered();
  uint64_t blocks = 0;  // between the header and the fence keys
  std::memcpy(&blocks, good.data() + 32, sizeof blocks);
  blocks = (blocks - 128) / 16;
  ASSERT_GT(blocks, 4u);
  const size_t middle_end = 128 + (1 + (blocks - 1) / 2) * 16 + 8;  // the first that a search reads
  for (const uint64_t end : {~uint64_t{0}, good.size() + 1, size_t{0}}) {
    const std::string file = With<uint64_t>(good, middle_end, end);
    const auto image = DataImage::Open(file);
    EXPECT_EQ(image->Find("1234/"), std::nullopt) << end;
    EXPECT_EQ(image->WithPrefix("12").size(), 0u) << end;
    EXPECT_EQ(image->At(1234)->key, "1234/") << end;
  }
}

TEST(DataImage, SearchesAcrossBlocks) {
  const std::string file = Numbered();
  const auto image = DataImage::Open(file);
  for (uint64_t i = 0; i < 3000; ++i) {
    const std::string digits = std::to_string(10'000 + i).substr(1);
    ASSERT_EQ(image->At(i)->key, digits + "/");
    ASSERT_EQ(image->Find(digits + "/"), digits);
    ASSERT_EQ(image->LowerBound(digits), i);
    ASSERT_EQ(image->LowerBound(digits + "0"), i + 1);
    ASSERT_EQ(image->WithPrefix(digits).size(), 1u);
  }
  const auto thousand = image->WithPrefix("1");
  EXPECT_EQ(thousand.begin, 1000u);
  EXPECT_EQ(thousand.end, 2000u);
  EXPECT_EQ(image->WithPrefix("").size(), 3000u);
  EXPECT_EQ(image->LowerBound("3"), 3000u);
}

// Under the address sanitizer a read outside of the exactly sized buffer ends the test.
TEST(DataImage, SurvivesDamagedBytesAnywhere) {
  const std::string good = Fruit();
  std::mt19937 random(1);
  size_t opened = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<char> file(good.begin(), good.end());
    for (int i = 0; i < 4; ++i) file[random() % file.size()] = static_cast<char>(random());
    const auto image = DataImage::Open({file.data(), file.size()});
    if (!image.has_value()) continue;
    ++opened;
    size_t bytes = 0;
    for (uint64_t i = 0; i < image->size(); ++i) {
      if (const auto record = image->At(i)) bytes += std::string(record->value).size();
    }
    EXPECT_LE(bytes, image->size() * file.size());
    EXPECT_LE(image->WithPrefix("ap").end, image->size());
    (void)image->Find("fig");  // any answer is right, the search has to end
  }
  EXPECT_GT(opened, 100u);
}

TEST(DataImage, SurvivesDamagedFencesAndBlocks) {
  const std::string good = Numbered();
  std::mt19937 random(2);
  for (int round = 0; round < 300; ++round) {
    std::vector<char> file(good.begin(), good.end());
    for (int i = 0; i < 3; ++i) file[128 + random() % 256] = static_cast<char>(random());
    for (int i = 0; i < 300; ++i) {
      file[128 + random() % (file.size() - 128)] = static_cast<char>(random());
    }
    const auto image = DataImage::Open({file.data(), file.size()});
    ASSERT_TRUE(image.has_value());
    for (uint64_t i = 0; i < image->size(); i += 7) {
      const std::string digits = std::to_string(10'000 + i).substr(1);
      size_t bytes = 0;
      if (const auto record = image->At(i)) bytes += std::string(record->key).size();
      if (const auto value = image->Find(digits + "/")) bytes += std::string(*value).size();
      EXPECT_LE(bytes, 2 * file.size());
      EXPECT_LE(image->WithPrefix(digits.substr(0, 2)).end, image->size());
    }
  }
}

TEST(DataImage, ReadsTheSameFromC) {
  const std::string file = Fruit();
  EXPECT_EQ(std::string(1, cohost_test_first_byte_in_c(file.data(), file.size(), "apricot")), "o");
  EXPECT_EQ(cohost_test_first_byte_in_c(file.data(), file.size(), "grape"), 0);
  EXPECT_EQ(cohost_test_first_byte_in_c(file.data(), 100, "apricot"), -1);
}

}  // namespace
}  // namespace cohost
