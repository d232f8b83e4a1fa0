// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/verify/library_cache.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace cohost::supervisor {

namespace {

constexpr std::string_view kMagic = "glibc-ld.so.cache1.1";
constexpr size_t kHeaderSize = 48;
constexpr size_t kCountOffset = 20;
constexpr size_t kEntrySize = 24;

// Libraries for glibc and this machine.
#if defined(__x86_64__)
constexpr uint32_t kKind = 0x0303;
#elif defined(__aarch64__)
constexpr uint32_t kKind = 0x0a03;
#endif

uint32_t NumberAt(const std::string& content, size_t offset) {
  uint32_t number = 0;
  std::memcpy(&number, content.data() + offset, sizeof number);
  return number;
}

}  // namespace

LibraryCache::LibraryCache(std::string content) : content_(std::move(content)) {
  if (content_.size() < kHeaderSize || !std::string_view(content_).starts_with(kMagic)) return;
  count_ = std::min<size_t>(NumberAt(content_, kCountOffset),
                            (content_.size() - kHeaderSize) / kEntrySize);
}

std::string_view LibraryCache::StringAt(uint64_t offset) const {
  if (offset >= content_.size()) return {};
  const std::string_view rest = std::string_view(content_).substr(offset);
  const size_t end = rest.find('\0');
  return end == std::string_view::npos ? std::string_view() : rest.substr(0, end);
}

std::vector<std::string> LibraryCache::Find(std::string_view name) const {
  std::vector<std::string> paths;
  if (name.empty()) return paths;
  for (size_t i = 0; i < count_; ++i) {
    const size_t at = kHeaderSize + i * kEntrySize;
    if (NumberAt(content_, at) != kKind || StringAt(NumberAt(content_, at + 4)) != name) continue;
    const std::string_view path = StringAt(NumberAt(content_, at + 8));
    if (path.starts_with('/')) paths.emplace_back(path);
  }
  return paths;
}

}  // namespace cohost::supervisor
