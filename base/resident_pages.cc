// SPDX-License-Identifier: Apache-2.0
#include "base/resident_pages.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

#include "base/unique_fd.h"

namespace cohost {
namespace {

// Some 1,500 mappings.
constexpr size_t kLongestSmaps = 1 << 20;

std::optional<std::string> ReadSmaps() {
  const UniqueFd file(open("/proc/self/smaps", O_RDONLY | O_CLOEXEC));
  std::string text;
  char buffer[16384];
  while (file.valid() && text.size() <= kLongestSmaps) {
    const ssize_t count = read(file.get(), buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    if (count == 0) return text;
    text.append(buffer, static_cast<size_t>(count));
  }
  return std::nullopt;
}

struct Mapping {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  bool wanted = false;  // of a file, and not writable
};

// "55d0c0a00000-55d0c0a20000 r-xp 00001000 fe:00 1234   /usr/bin/x"; nothing for other lines.
std::optional<Mapping> ParseHead(const std::string& line) {
  Mapping mapping;
  char* end = nullptr;
  mapping.begin = std::strtoull(line.c_str(), &end, 16);
  if (end == line.c_str() || *end != '-') return std::nullopt;
  const char* const second = end + 1;
  mapping.end = std::strtoull(second, &end, 16);
  if (end == second || *end != ' ' || mapping.end <= mapping.begin) return std::nullopt;
  const std::string_view rest(end + 1);
  if (rest.size() < 4) return std::nullopt;
  mapping.wanted = rest[0] == 'r' && rest[1] == '-' && rest.find(" /") != std::string_view::npos;
  return mapping;
}

}  // namespace

std::vector<std::pair<uintptr_t, uintptr_t>> CleanMappings(std::string_view smaps) {
  std::vector<std::pair<uintptr_t, uintptr_t>> clean;
  std::optional<Mapping> mapping;
  while (!smaps.empty()) {
    const size_t length = smaps.find('\n');
    const std::string line(smaps.substr(0, length));
    smaps = length == std::string_view::npos ? std::string_view() : smaps.substr(length + 1);
    if (const std::optional<Mapping> head = ParseHead(line); head) {
      mapping = head;
    } else if (mapping && mapping->wanted && line.rfind("Anonymous:", 0) == 0 &&
               std::strtoull(line.c_str() + 10, nullptr, 10) == 0) {
      clean.emplace_back(mapping->begin, mapping->end);
    }
  }
  return clean;
}

void ReleaseStartupPages() {
  if (const std::optional<std::string> smaps = ReadSmaps(); smaps) {
    for (const auto& [begin, end] : CleanMappings(*smaps)) {
      // Ignoring a refusal: the pages stay mapped, which costs memory and nothing else.
      (void)madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
    }
  }
  malloc_trim(0);
}

}  // namespace cohost
