// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/tree/tree_manifest.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "base/sha256.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cohost::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::string kHashA(64, 'a');
const std::string kHashB(64, 'b');
const std::string kHashC(64, 'c');

TreeEntry File(const std::string& path, const std::string& hash = kHashA) {
  return {.path = path,
          .mode = 0444,
          .kind = StoredKind::kAssembly,
          .placing = Placing::kLink,
          .size = Bytes{12},
          .source_hash = hash,
          .stored_hash = hash};
}
TreeEntry Of(TreeEntry::Type type, const std::string& path, const std::string& target = "") {
  return {.path = path, .type = type, .target = target};
}
TreeSeed Seed(const std::string& path) {
  return {.path = path, .mode = 0555, .size = Bytes{7}, .hash = kHashC};
}

constexpr auto kFolder = TreeEntry::Type::kFolder;
constexpr auto kLink = TreeEntry::Type::kLink;
constexpr auto kDataFile = TreeEntry::Type::kDataFile;
constexpr auto kDataFolder = TreeEntry::Type::kDataFolder;

TreeManifest Example() {
  TreeEntry compiled = File("lib/b c.dll");
  compiled.stored_hash = kHashB;
  auto manifest = TreeManifest::Create(
      {File("z\n.json"), compiled, Of(kFolder, "empty"), Of(kLink, "lib/l.so", "../z\n.json"),
       Of(kDataFile, "app.db"), Of(kDataFolder, "uploads")},
      {Seed("uploads/x"), Seed("app.db"), {.path = "uploads/new", .is_folder = true}});
  EXPECT_TRUE(manifest.ok()) << manifest.status();
  return *std::move(manifest);
}

const std::string kExampleText =
    "cohost-tree 1\n"
    "data-file app.db\n"
    "folder empty\n"
    "file lib/b%20c.dll 444 assembly link 12 " +
    kHashA + " " + kHashB +
    "\n"
    "link lib/l.so ../z%0A.json\n"
    "data-folder uploads\n"
    "file z%0A.json 444 assembly link 12 " +
    kHashA + " " + kHashA +
    "\n"
    "seed app.db 555 7 " +
    kHashC +
    "\n"
    "seed-folder uploads/new\n"
    "seed uploads/x 555 7 " +
    kHashC + "\n";

TEST(TreeManifest, HasOneText) {
  const TreeManifest manifest = Example();
  EXPECT_EQ(manifest.Format(), kExampleText);
  const auto parsed = TreeManifest::Parse(kExampleText);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->entries(), manifest.entries());
  EXPECT_EQ(parsed->seeds(), manifest.seeds());
  EXPECT_EQ(parsed->Format(), kExampleText);
}

TEST(TreeManifest, ItsIdIsTheHashOfItsText) {
  Sha256 hash;
  hash.Update(kExampleText);
  EXPECT_EQ(Example().id(), HexDigest(hash.Finish()));
  EXPECT_EQ(TreeManifest::Parse(kExampleText)->id(), Example().id());
  EXPECT_EQ(TreeManifest().id(), TreeManifest::Create({}, {})->id());
  EXPECT_NE(TreeManifest().id(), Example().id());
}

TEST(TreeManifest, FindsEntriesByPath) {
  const TreeManifest manifest = Example();
  ASSERT_NE(manifest.Find("lib/b c.dll"), nullptr);
  EXPECT_EQ(manifest.Find("lib/b c.dll")->stored_hash, kHashB);
  EXPECT_EQ(manifest.Find("lib"), nullptr);
  EXPECT_EQ(manifest.Find("zz"), nullptr);
  EXPECT_EQ(TreeManifest().Find("a"), nullptr);
}

TEST(TreeManifest, NamesTheStoredFilesThatItNeeds) {
  EXPECT_THAT(Example().StoredHashes(), ElementsAre(kHashA, kHashB, kHashC));
  EXPECT_THAT(TreeManifest().StoredHashes(), IsEmpty());
  // What a precompiled image was made of, too.
  TreeEntry compiled = File("a.dll", kHashB);
  compiled.stored_hash = kHashC;
  EXPECT_THAT(TreeManifest::Create({compiled}, {})->StoredHashes(), ElementsAre(kHashB, kHashC));
}

TEST(TreeManifest, RefusesEntriesThatDoNotFitTogether) {
  const auto code = [](std::vector<TreeEntry> entries, std::vector<TreeSeed> seeds = {}) {
    return TreeManifest::Create(std::move(entries), std::move(seeds)).status().code();
  };
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(code({File("a"), File("a")}), kInvalid);
  EXPECT_EQ(code({File("a"), File("a/b")}), kInvalid);
  // Other paths may lie between the two.
  EXPECT_EQ(code({File("a"), File("a.txt"), File("a/b/c")}), kInvalid);
  EXPECT_EQ(code({Of(kFolder, "a"), File("a/b")}), kInvalid);
  EXPECT_EQ(code({Of(kDataFolder, "a"), File("a/b")}), kInvalid);
  EXPECT_EQ(code({File("../a")}), kInvalid);
  EXPECT_EQ(code({File("/a")}), kInvalid);
  EXPECT_EQ(code({Of(kLink, "a", "../b")}), kInvalid);
  EXPECT_EQ(code({Of(kLink, "a", "/b")}), kInvalid);
  EXPECT_EQ(code({File("a", "ab")}), kInvalid);
  EXPECT_EQ(code({File("a", std::string(64, 'A'))}), kInvalid);
  TreeEntry writable = File("a");
  writable.mode = 0644;
  EXPECT_EQ(code({writable}), kInvalid);
  EXPECT_EQ(code({}, {Seed("a")}), kInvalid);
  EXPECT_EQ(code({File("a")}, {Seed("a")}), kInvalid);
  EXPECT_EQ(code({Of(kDataFolder, "a")}, {Seed("a")}), kInvalid);
  EXPECT_EQ(code({Of(kDataFolder, "a")}, {Seed("a/b"), Seed("a/b/c")}), kInvalid);
  EXPECT_EQ(code({Of(kDataFolder, "a")}, {Seed("a/b"), Seed("a/c")}), absl::StatusCode::kOk);
}

TEST(TreeManifest, RefusesTextsThatItDoesNotWrite) {
  const std::string file = " 444 assembly link 12 " + kHashA + " " + kHashA + "\n";
  const std::string first = "cohost-tree 1\n";
  for (const std::string& text : {
           std::string(),
           std::string("cohost-tree 1"),
           std::string("cohost-tree 2\n"),
           std::string("\n"),
           first + "file a" + file + "\n",
           first + "file a" + file + "file a" + file,
           first + "file b" + file + "file a" + file,
           first + "file /a" + file,
           first + "file ../a" + file,
           first + "file a//b" + file,
           first + "file a%2Fb" + file,
           first + "file a%00b" + file,
           first + "file a%0ab" + file,
           first + std::string("file a\0b", 8) + file,
           first + "file  a" + file,
           first + "file a 444 assembly link 012 " + kHashA + " " + kHashA + "\n",
           first + "file a 444 assembly link -1 " + kHashA + " " + kHashA + "\n",
           first + "file a 444 assembly link 99999999999999999999 " + kHashA + " " + kHashA + "\n",
           first + "file a 644 assembly link 1 " + kHashA + " " + kHashA + "\n",
           first + "file a 444 toy link 1 " + kHashA + " " + kHashA + "\n",
           first + "file a 444 assembly move 1 " + kHashA + " " + kHashA + "\n",
           first + "file a 444 assembly link 1 " + kHashA + "\n",
           first + "file a 444 assembly link 1 " + kHashA + " " + kHashA + " x\n",
           first + "file a 444 assembly link 1 " + kHashA + " " + kHashA + " \n",
           first + "file a 444 assembly link 1 " + kHashA + " " + std::string(64, 'A') + "\n",
           first + "folder a\r\n",
           first + "folder\n",
           first + "folder a b\n",
           first + "link a\n",
           first + "link a ../b\n",
           first + "link a b/../../../etc\n",
           first + "device a\n",
           first + "data-file a\nseed a 444 1\n",
           first + "seed-folder a\ndata-folder a\n",
           first + "seed a 444 1 " + kHashA + "\n",
       }) {
    const auto manifest = TreeManifest::Parse(text);
    EXPECT_EQ(manifest.status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(TreeManifest, CutTextsAreRefused) {
  for (size_t length = 0; length < kExampleText.size(); ++length) {
    const auto manifest = TreeManifest::Parse(kExampleText.substr(0, length));
    // Cut between lines it is another manifest, with another id.
    if (manifest.ok()) {
      EXPECT_EQ(kExampleText[length - 1], '\n');
      EXPECT_NE(manifest->id(), Example().id());
    }
  }
}

TEST(TreeManifest, WhatIsReadFromDamagedTextsIsWrittenTheSame) {
  std::mt19937 random(/*seed=*/4);
  for (int round = 0; round < 20'000; ++round) {
    std::string text = kExampleText;
    for (unsigned i = 0; i <= random() % 3; ++i) {
      text[random() % text.size()] = static_cast<char>(random());
    }
    if (const auto manifest = TreeManifest::Parse(text); manifest.ok()) {
      EXPECT_EQ(manifest->Format(), text);
    }
  }
}

TEST(TreeManifest, HoldsALimitedNumberOfEntries) {
  std::vector<TreeEntry> entries;
  for (size_t i = 0; i < kMaxTreeEntries; ++i) entries.push_back(File(std::to_string(i)));
  const auto full = TreeManifest::Create(entries, {});
  ASSERT_TRUE(full.ok()) << full.status();
  EXPECT_THAT(full->entries(), SizeIs(kMaxTreeEntries));
  std::string text = full->Format();
  EXPECT_TRUE(TreeManifest::Parse(text).ok());
  text += "folder zzz\n";
  EXPECT_EQ(TreeManifest::Parse(text).status().code(), absl::StatusCode::kResourceExhausted);
  entries.push_back(File("zzz"));
  EXPECT_EQ(TreeManifest::Create(entries, {}).status().code(),
            absl::StatusCode::kResourceExhausted);
  const std::string huge(kMaxManifestText.count + 1, 'x');
  EXPECT_EQ(TreeManifest::Parse(huge).status().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace cohost::supervisor
