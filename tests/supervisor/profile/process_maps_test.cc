// SPDX-License-Identifier: Apache-2.0
#include "supervisor/profile/process_maps.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace cohost::supervisor {
namespace {

// As Linux 6 prints it; figures in kB.
struct Figures {
  int rss = 0;
  int pss = 0;
  int shared_clean = 0;
  int private_clean = 0;
  int private_dirty = 0;
  int anonymous = 0;
};
std::string Block(const std::string& header, const Figures& figures) {
  return absl::StrCat(
      header,
      "\nSize:                999 kB\nKernelPageSize:        4 kB\nRss:            ", figures.rss,
      " kB\nPss:             ", figures.pss, " kB\nPss_Dirty:       0 kB\n",
      "Shared_Clean:    ", figures.shared_clean, " kB\nShared_Dirty:           0 kB\n",
      "Private_Clean:   ", figures.private_clean, " kB\nPrivate_Dirty:   ", figures.private_dirty,
      " kB\nReferenced:      8 kB\nAnonymous:       ", figures.anonymous,
      " kB\nTHPeligible:           0\nVmFlags: rd ex mr mw me \n");
}

constexpr char kText[] = "7f0000000000-7f0000100000 r-xp 00000000 fe:01 1234 /store/aa.so";
constexpr char kData[] = "7f0000100000-7f0000104000 rw-p 00100000 fe:01 1234 /store/aa.so";
constexpr char kBss[] = "7f0000104000-7f0000108000 rw-p 00000000 00:00 0 ";

std::string Module() {
  return Block(kText, {.rss = 800, .pss = 200, .shared_clean = 700, .private_clean = 100}) +
         Block(kData,
               {.rss = 16, .pss = 14, .shared_clean = 4, .private_dirty = 12, .anonymous = 12}) +
         Block(kBss, {.rss = 8, .pss = 8, .private_dirty = 8, .anonymous = 8});
}

absl::StatusOr<std::vector<Mapping>> Parse(const std::string& text, size_t part = 1 << 20) {
  std::vector<Mapping> mappings;
  SmapsParser parser([&](const Mapping& mapping) { mappings.push_back(mapping); });
  for (size_t at = 0; at < text.size(); at += part) {
    if (absl::Status fed = parser.Feed(std::string_view(text).substr(at, part)); !fed.ok()) {
      return fed;
    }
  }
  if (absl::Status end = parser.Finish(); !end.ok()) return end;
  return mappings;
}

absl::StatusCode CodeOf(const std::string& text) { return Parse(text).status().code(); }

std::string Replace(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(SmapsParser, ReadsEveryFigureOfAMapping) {
  const auto mappings = Parse(Module());
  ASSERT_TRUE(mappings.ok()) << mappings.status();
  ASSERT_EQ(mappings->size(), 3u);
  const Mapping& text = (*mappings)[0];
  EXPECT_EQ(text.begin, 0x7f0000000000u);
  EXPECT_EQ(text.end, 0x7f0000100000u);
  EXPECT_TRUE(text.readable && !text.writable && text.executable && !text.shared);
  EXPECT_EQ(text.file, (FileIdentity{0xfe, 1, 1234}));
  EXPECT_EQ(text.path, "/store/aa.so");
  EXPECT_EQ(text.resident, KiB(800));
  EXPECT_EQ(text.pss, KiB(200));
  EXPECT_EQ(text.shared_clean, KiB(700));
  EXPECT_EQ(text.private_clean, KiB(100));
  EXPECT_EQ(text.anonymous, KiB(0));
  const Mapping& data = (*mappings)[1];
  EXPECT_TRUE(data.writable);
  EXPECT_EQ(data.offset, 0x100000u);
  EXPECT_EQ(data.private_dirty, KiB(12));
  EXPECT_EQ(data.anonymous, KiB(12));
}

TEST(SmapsParser, WhatFollowsAFileWithoutAGapIsToldAndNothingElse) {
  EXPECT_EQ((*Parse(Module()))[2].follows, (FileIdentity{0xfe, 1, 1234}));
  EXPECT_EQ((*Parse(Module()))[1].follows, FileIdentity{}) << "it has a file of its own";
  const std::string gap =
      Replace(Module(), "7f0000104000-7f0000108000", "7f0000105000-7f0000108000");
  EXPECT_EQ((*Parse(gap))[2].follows, FileIdentity{});
  const std::string named = Replace(Module(), "00:00 0 ", "00:00 0 [heap]");
  EXPECT_EQ((*Parse(named))[2].follows, FileIdentity{});
  // Behind .bss comes nobody's.
  const std::string more = Module() + Block("7f0000108000-7f0000109000 ---p 00000000 00:00 0 ", {});
  EXPECT_EQ((*Parse(more))[3].follows, FileIdentity{});
}

TEST(SmapsParser, PartsOfAnySizeGiveTheSame) {
  const std::string text = Module();
  const auto whole = Parse(text);
  for (const size_t part : {1u, 2u, 7u, 64u, 1000u}) {
    const auto parts = Parse(text, part);
    ASSERT_TRUE(parts.ok()) << part << ": " << parts.status();
    ASSERT_EQ(parts->size(), whole->size());
    for (size_t i = 0; i < whole->size(); ++i) {
      EXPECT_EQ((*parts)[i].begin, (*whole)[i].begin) << part;
      EXPECT_EQ((*parts)[i].path, (*whole)[i].path) << part;
      EXPECT_EQ((*parts)[i].pss, (*whole)[i].pss) << part;
      EXPECT_EQ((*parts)[i].follows, (*whole)[i].follows) << part;
    }
  }
}

TEST(SmapsParser, AnyPathIsOnlyAPath) {
  for (const std::string path : {"/a b/c  d.so (deleted)", "/Rss: 9 kB", "/a\\012b", "[heap]",
                                 "[anon: Pss: 1 kB]", "\xff\xfe"}) {
    const auto mappings = Parse(Block("1000-2000 rw-s 00000000 00:05 7    " + path, {}));
    ASSERT_TRUE(mappings.ok()) << path << mappings.status();
    EXPECT_EQ(mappings->at(0).path, path);
    EXPECT_TRUE(mappings->at(0).shared);
  }
  // An address as large as there is: that of vsyscall.
  const auto last =
      Parse(Block("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]", {}));
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_EQ(last->at(0).path, "[vsyscall]");
}

TEST(SmapsParser, UnknownFieldsAreLeftOut) {
  EXPECT_TRUE(Parse(Block(kText, {}) + "Future_Field:  many\nNoColon\nProtectionKey:  0\n").ok());
}

TEST(SmapsParser, CutTextIsRefusedWhereverItEnds) {
  const std::string text = Block(kText, {.rss = 4, .pss = 4, .private_clean = 4});
  const size_t complete = text.find("Anonymous:       0 kB\n") + 22;
  for (size_t length = 0; length < complete; ++length) {
    EXPECT_EQ(CodeOf(text.substr(0, length)), absl::StatusCode::kInvalidArgument) << length;
  }
  EXPECT_TRUE(Parse(text.substr(0, complete)).ok());
  // The second mapping ends before its figures.
  EXPECT_EQ(CodeOf(text + kData + "\n"), absl::StatusCode::kInvalidArgument);
}

TEST(SmapsParser, HostileTextIsRefused) {
  for (const std::string header :
       {"2000-1000 r-xp 0 00:00 0", "1000-1000 r-xp 0 00:00 0", "1000 2000 r-xp 0 00:00 0",
        "1000-2000 rwx 0 00:00 0", "1000-2000 qwxp 0 00:00 0", "1000-2000 r-xz 0 00:00 0",
        "1000-2000 r-xp 0 0000 0", "1000-2000 r-xp 0 00:00 -1", "1000-2000 r-xp 0 00:00 9x",
        "1000-2000 r-xp 0 00:00", "-2000 r-xp 0 00:00 0", "", " ",
        "10000000000000000-2 r-xp 0 00:00 0", "1000-2000 r-xp 0 1ffffffff:00 0",
        "1000-2000 r-xp 0 00:00 99999999999999999999"}) {
    EXPECT_EQ(CodeOf(Block(header, {})), absl::StatusCode::kInvalidArgument) << header;
  }
  const std::string text = Block(kText, {.rss = 800});
  for (const std::string value :
       {"-800 kB", "800 MB", "800", "0x10 kB", "99999999999999999999 kB", "1025 kB", " kB"}) {
    EXPECT_EQ(CodeOf(Replace(text, "800 kB", value)), absl::StatusCode::kInvalidArgument) << value;
  }
  EXPECT_EQ(CodeOf(Replace(text, "Pss: ", "Psss: ")), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeOf("Rss: 4 kB\n" + text), absl::StatusCode::kInvalidArgument);
  // A mapping as large as all addresses does not make its figures believable.
  EXPECT_EQ(CodeOf(Block("0-ffffffffffffffff r-xp 0 00:00 0", {}) + "Rss: 9007199254740992 kB\n"),
            absl::StatusCode::kInvalidArgument);
}

TEST(SmapsParser, ALineWithoutAnEndIsRefusedAtItsLimit) {
  SmapsParser parser([](const Mapping&) {});
  const std::string part(1024, 'a');
  absl::Status status;
  size_t fed = 0;
  while (status.ok() && fed < 100 * part.size()) {
    status = parser.Feed(part);
    fed += part.size();
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_LE(fed, SmapsParser::kLongestLine + 2 * part.size());
  // The longest path that there can be is none too many.
  EXPECT_TRUE(Parse(Block("1000-2000 r-xp 0 00:05 7 /" + std::string(4 * 4095, 'x'), {})).ok());
}

TEST(SmapsParser, MoreMappingsThanAProcessCanHaveAreRefused) {
  size_t taken = 0;
  SmapsParser parser([&taken](const Mapping&) { ++taken; });
  const std::string block = Block("1000-2000 rw-p 0 00:00 0", {});
  absl::Status status;
  for (size_t i = 0; i <= SmapsParser::kMostMappings && status.ok(); ++i)
    status = parser.Feed(block);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(taken, SmapsParser::kMostMappings);
}

ProcessMaps Sum(const std::string& text) {
  ProcessMaps maps;
  const auto mappings = Parse(text);
  EXPECT_TRUE(mappings.ok()) << mappings.status();
  for (const Mapping& mapping : *mappings) maps.Add(mapping);
  return maps;
}

TEST(ProcessMaps, AFilesPartsAreAllThatIsResidentOfIt) {
  const ProcessMaps maps =
      Sum(Module() + Block("8f0000000000-8f0000100000 rw-p 0 00:00 0 ",
                           {.rss = 40, .pss = 40, .private_dirty = 40, .anonymous = 40}));
  EXPECT_EQ(maps.mappings, 4u);
  EXPECT_EQ(maps.resident, KiB(864));
  EXPECT_EQ(maps.pss, KiB(262));
  EXPECT_EQ(maps.private_bytes, KiB(160));
  EXPECT_EQ(maps.anonymous, KiB(60));
  ASSERT_EQ(maps.files.size(), 1u);
  const FileMemory& file = maps.files.at({0xfe, 1, 1234});
  EXPECT_EQ(file,
            (FileMemory{"/store/aa.so", KiB(816), KiB(704), KiB(100), KiB(12), KiB(214), KiB(8)}));
  EXPECT_EQ(file.resident.count,
            file.shared.count + file.private_clean.count + file.relocated.count);
}

TEST(ProcessMaps, WrittenPagesThatAForkedChildSharesStayRelocated) {
  std::string text =
      Block(kData, {.rss = 16, .pss = 10, .shared_clean = 0, .private_dirty = 4, .anonymous = 16});
  text = Replace(text, "Shared_Dirty:           0 kB", "Shared_Dirty:          12 kB");
  const ProcessMaps maps = Sum(text);
  const FileMemory& file = maps.files.begin()->second;
  EXPECT_EQ(file.relocated, KiB(16));
  EXPECT_EQ(file.shared, KiB(0));
  EXPECT_EQ(file.private_clean, KiB(0));
}

}  // namespace
}  // namespace cohost::supervisor
