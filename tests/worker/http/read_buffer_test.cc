// SPDX-License-Identifier: Apache-2.0
#include "worker/http/read_buffer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace cohost::worker {
namespace {

void Fill(ReadBuffer& buffer, std::string_view bytes) {
  while (!bytes.empty()) {
    const std::span<char> room = buffer.Prepare(1000);
    const size_t count = std::min(room.size(), bytes.size());
    std::memcpy(room.data(), bytes.data(), count);
    buffer.Commit(count);
    bytes.remove_prefix(count);
  }
}

TEST(ReadBuffer, KeepsBytesTogetherAsItGrows) {
  ReadBuffer buffer;
  std::string all;
  for (int i = 0; i < 1000; ++i) all += std::to_string(i);
  Fill(buffer, all);
  EXPECT_EQ(buffer.view(), all);
  buffer.Consume(100);
  Fill(buffer, "tail");
  EXPECT_EQ(buffer.view(), all.substr(100) + "tail");
}

TEST(ReadBuffer, MovesWhatIsLeftToTheFront) {
  ReadBuffer buffer;
  Fill(buffer, std::string(512, 'a'));
  buffer.Consume(500);
  EXPECT_EQ(buffer.Prepare(1000).size(), 500u) << "no memory is taken for that";
  EXPECT_EQ(buffer.view(), std::string(12, 'a'));
}

TEST(ReadBuffer, GivesMemoryBackWhenEmpty) {
  ReadBuffer buffer;
  Fill(buffer, std::string(3000, 'a'));
  buffer.Release();
  EXPECT_EQ(buffer.view().size(), 3000u);
  buffer.Consume(3000);
  EXPECT_GT(buffer.Prepare(1).size(), 512u);
  buffer.Release();
  EXPECT_EQ(buffer.Prepare(1).size(), 512u);
}

}  // namespace
}  // namespace cohost::worker
