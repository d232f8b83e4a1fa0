// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/verify/library_cache.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cohost::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

#if defined(__x86_64__)
constexpr uint32_t kKind = 0x0303;
#else
constexpr uint32_t kKind = 0x0a03;
#endif

struct Entry {
  uint32_t kind;
  std::string name;
  std::string path;
};

std::string Cache(const std::vector<Entry>& entries) {
  const auto number = [](uint32_t value) {
    return std::string(reinterpret_cast<const char*>(&value), sizeof value);
  };
  std::string strings;
  std::string table;
  for (const Entry& entry : entries) {
    const auto name_at = static_cast<uint32_t>(48 + 24 * entries.size() + strings.size());
    strings += entry.name + '\0';
    strings += entry.path + '\0';
    table += number(entry.kind) + number(name_at) +
             number(name_at + static_cast<uint32_t>(entry.name.size()) + 1) + std::string(12, '\0');
  }
  return "glibc-ld.so.cache1.1" + number(static_cast<uint32_t>(entries.size())) +
         number(static_cast<uint32_t>(strings.size())) + std::string(20, '\0') + table + strings;
}

TEST(LibraryCache, FindsLibrariesOfThisMachineInOrder) {
  const LibraryCache cache(Cache({{kKind, "liba.so.1", "/x/liba.so.1"},
                                  {0x1, "liba.so.1", "/x32/liba.so.1"},
                                  {kKind, "libb.so.1", "/x/libb.so.1"},
                                  {kKind, "liba.so.1", "/y/liba.so.1"}}));
  EXPECT_THAT(cache.Find("liba.so.1"), ElementsAre("/x/liba.so.1", "/y/liba.so.1"));
  EXPECT_THAT(cache.Find("libb.so.1"), ElementsAre("/x/libb.so.1"));
  EXPECT_THAT(cache.Find("libb.so"), IsEmpty());
  EXPECT_THAT(cache.Find(""), IsEmpty());
}

TEST(LibraryCache, ReadsTheOneOfThisHost) {
  std::ifstream file("/etc/ld.so.cache", std::ios::binary);
  const LibraryCache cache(std::string(std::istreambuf_iterator<char>(file), {}));
  EXPECT_THAT(cache.Find("libc.so.6"), ElementsAre(::testing::EndsWith("/libc.so.6")));
}

TEST(LibraryCache, OtherFormatsHaveNoEntries) {
  const std::string good = Cache({{kKind, "liba.so.1", "/x/liba.so.1"}});
  for (const std::string& content :
       {std::string(), std::string("ld.so-1.7.0"), "x" + good, good.substr(0, 47)}) {
    EXPECT_THAT(LibraryCache(content).Find("liba.so.1"), IsEmpty());
  }
}

TEST(LibraryCache, SkipsEntriesThatLeaveTheFile) {
  const std::string good = Cache({{kKind, "liba.so.1", "/x/liba.so.1"}});
  for (const size_t field : {52, 56}) {  // name, path
    for (const uint32_t offset : {0xffffffffu, 0x7fffffffu, static_cast<uint32_t>(good.size())}) {
      std::string content = good;
      std::memcpy(content.data() + field, &offset, sizeof offset);
      EXPECT_THAT(LibraryCache(content).Find("liba.so.1"), IsEmpty());
    }
  }
  std::string many = good;
  const uint32_t count = 0xffffffff;
  std::memcpy(many.data() + 20, &count, sizeof count);
  EXPECT_THAT(LibraryCache(many).Find("liba.so.1"), ElementsAre("/x/liba.so.1"));
  // Without the zero byte at its end the path may be cut.
  EXPECT_THAT(LibraryCache(good.substr(0, good.size() - 1)).Find("liba.so.1"), IsEmpty());
  EXPECT_THAT(LibraryCache(Cache({{kKind, "liba.so.1", "x/liba.so.1"}})).Find("liba.so.1"),
              IsEmpty());
}

}  // namespace
}  // namespace cohost::supervisor
