// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/system/unique_fd.h"
#include "gtest/gtest.h"

namespace cohost::supervisor {

// A file with that content and no name.
inline UniqueFd MemoryFile(std::string_view content) {
  UniqueFd fd(::memfd_create("file", MFD_CLOEXEC));
  EXPECT_EQ(::write(fd.get(), content.data(), content.size()),
            static_cast<ssize_t>(content.size()));
  return fd;
}

// The content with `value` at `offset`.
template <typename Value>
std::string With(std::string content, size_t offset, Value value) {
  EXPECT_LE(offset + sizeof value, content.size());
  std::memcpy(content.data() + offset, &value, sizeof value);
  return content;
}

// The content with every `from` replaced by `to`, which may be shorter: texts in tables end with a
// zero byte.
inline std::string Replaced(std::string content, std::string_view from, std::string to) {
  EXPECT_LE(to.size(), from.size());
  to.resize(from.size(), '\0');
  int count = 0;
  for (size_t at = 0; (at = content.find(from, at)) != std::string::npos; at += from.size()) {
    content.replace(at, from.size(), to);
    ++count;
  }
  EXPECT_GT(count, 0) << from;
  return content;
}

// Where the first program header of that type lies.
inline size_t SegmentAt(const std::string& content, uint32_t type) {
  Elf64_Ehdr header;
  std::memcpy(&header, content.data(), sizeof header);
  for (size_t i = 0; i < header.e_phnum; ++i) {
    const size_t at = header.e_phoff + i * sizeof(Elf64_Phdr);
    uint32_t found = 0;
    std::memcpy(&found, content.data() + at, sizeof found);
    if (found == type) return at;
  }
  ADD_FAILURE() << "no segment of type " << type;
  return 0;
}

// Where the first entry of the dynamic table with that tag lies.
inline size_t DynamicAt(const std::string& content, int64_t tag) {
  Elf64_Phdr segment;
  std::memcpy(&segment, content.data() + SegmentAt(content, PT_DYNAMIC), sizeof segment);
  for (size_t at = segment.p_offset; at < segment.p_offset + segment.p_filesz;
       at += sizeof(Elf64_Dyn)) {
    int64_t found = 0;
    std::memcpy(&found, content.data() + at, sizeof found);
    if (found == tag) return at;
  }
  ADD_FAILURE() << "no dynamic entry " << tag;
  return 0;
}

}  // namespace cohost::supervisor
