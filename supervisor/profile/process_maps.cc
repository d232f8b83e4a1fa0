// SPDX-License-Identifier: Apache-2.0
#include "supervisor/profile/process_maps.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/strings.h"

namespace cohost::supervisor {
namespace {

struct Field {
  std::string_view key;
  Bytes Mapping::*value;
};
constexpr std::array kFields = {
    Field{"Rss", &Mapping::resident},
    Field{"Pss", &Mapping::pss},
    Field{"Shared_Clean", &Mapping::shared_clean},
    Field{"Shared_Dirty", &Mapping::shared_dirty},
    Field{"Private_Clean", &Mapping::private_clean},
    Field{"Private_Dirty", &Mapping::private_dirty},
    Field{"Anonymous", &Mapping::anonymous},
};
constexpr uint32_t kAllFields = (1U << kFields.size()) - 1;

// More than any machine has; so many mappings of this size still add up below 2^64.
constexpr uint64_t kMostKilobytes = uint64_t{8} << 30;
static_assert(SmapsParser::kMostMappings <= (~uint64_t{0} >> 10) / kMostKilobytes);

absl::Status Malformed(std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("smaps: ", AsAbsl(what)));
}

// Takes a number off the front of `text`.
template <typename Number>
bool TakeNumber(std::string_view& text, int base, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end == text.data()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

bool TakeText(std::string_view& text, std::string_view expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(expected.size());
  return true;
}

// One letter of the permissions: the given one, or '-'.
bool TakeFlag(std::string_view& text, char letter, bool& flag) {
  if (text.empty() || (text.front() != letter && text.front() != '-')) return false;
  flag = text.front() == letter;
  text.remove_prefix(1);
  return true;
}

bool TakeSharing(std::string_view& text, bool& shared) {
  if (text.empty() || (text.front() != 'p' && text.front() != 's')) return false;
  shared = text.front() == 's';
  text.remove_prefix(1);
  return true;
}

std::string_view WithoutBlanks(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return text;
}

}  // namespace

std::optional<Mapping> ParseMappingLine(std::string_view line) {
  Mapping out;
  const bool read = TakeNumber(line, 16, out.begin) && TakeText(line, "-") &&
                    TakeNumber(line, 16, out.end) && TakeText(line, " ") &&
                    TakeFlag(line, 'r', out.readable) && TakeFlag(line, 'w', out.writable) &&
                    TakeFlag(line, 'x', out.executable) && TakeSharing(line, out.shared) &&
                    TakeText(line, " ") && TakeNumber(line, 16, out.offset) &&
                    TakeText(line, " ") && TakeNumber(line, 16, out.file.device_major) &&
                    TakeText(line, ":") && TakeNumber(line, 16, out.file.device_minor) &&
                    TakeText(line, " ") && TakeNumber(line, 10, out.file.inode) &&
                    (line.empty() || line.front() == ' ') && out.begin < out.end;
  if (!read) return std::nullopt;
  // Without an inode there is no file, whatever the device says.
  if (out.file.inode == 0) out.file = {};
  out.path = WithoutBlanks(line);
  return out;
}

absl::Status SmapsParser::Feed(std::string_view part) {
  while (!part.empty()) {
    const size_t end = part.find('\n');
    if (rest_.size() + std::min(end, part.size()) > kLongestLine) {
      return Malformed(absl::StrCat("a line of more than ", kLongestLine, " bytes"));
    }
    if (end == std::string_view::npos) {
      rest_ += part;
      return absl::OkStatus();
    }
    absl::Status taken;
    if (rest_.empty()) {
      taken = TakeLine(part.substr(0, end));
    } else {
      rest_ += part.substr(0, end);
      taken = TakeLine(rest_);
      rest_.clear();
    }
    if (!taken.ok()) return taken;
    part.remove_prefix(end + 1);
  }
  return absl::OkStatus();
}

absl::Status SmapsParser::Finish() {
  if (!rest_.empty()) return Malformed("the text ends inside a line");
  if (mappings_ == 0) return Malformed("no mapping");
  return EndMapping();
}

absl::Status SmapsParser::TakeLine(std::string_view line) {
  // Fields begin with a capital letter, addresses with a digit or a small one.
  if (!line.empty() && line.front() >= 'A' && line.front() <= 'Z') return TakeField(line);
  return BeginMapping(line);
}

absl::Status SmapsParser::BeginMapping(std::string_view line) {
  if (mappings_ > 0) {
    if (absl::Status ended = EndMapping(); !ended.ok()) return ended;
  }
  if (mappings_ >= kMostMappings) {
    return absl::ResourceExhaustedError(
        absl::StrCat("smaps: more than ", kMostMappings, " mappings"));
  }
  std::optional<Mapping> mapping = ParseMappingLine(line);
  if (!mapping) return Malformed(absl::StrCat("no mapping: '", AsAbsl(line.substr(0, 80)), "'"));
  mapping_ = *std::move(mapping);
  if (mapping_.file.inode == 0 && mapping_.path.empty() && mapping_.begin == last_end_) {
    mapping_.follows = last_file_;
  }
  ++mappings_;
  seen_ = 0;
  return absl::OkStatus();
}

absl::Status SmapsParser::TakeField(std::string_view line) {
  if (mappings_ == 0) return Malformed("a field without a mapping");
  const std::string_view key = line.substr(0, line.find(':'));
  const auto* const field = std::find_if(kFields.begin(), kFields.end(),
                                         [key](const Field& known) { return known.key == key; });
  if (field == kFields.end()) return absl::OkStatus();
  std::string_view value = line.substr(std::min(key.size() + 1, line.size()));
  value = WithoutBlanks(value);
  uint64_t kilobytes = 0;
  if (!TakeNumber(value, 10, kilobytes) || value != " kB") {
    return Malformed(absl::StrCat("no size: '", AsAbsl(line.substr(0, 80)), "'"));
  }
  if (kilobytes > std::min((mapping_.end - mapping_.begin) / 1024, kMostKilobytes)) {
    return Malformed(absl::StrCat(AsAbsl(key), " is larger than its mapping"));
  }
  mapping_.*field->value = KiB(kilobytes);
  seen_ |= 1U << (field - kFields.begin());
  return absl::OkStatus();
}

absl::Status SmapsParser::EndMapping() {
  if (seen_ != kAllFields) return Malformed("a figure of a mapping is missing");
  sink_(mapping_);
  last_end_ = mapping_.end;
  last_file_ = mapping_.file;
  return absl::OkStatus();
}

void ProcessMaps::Add(const Mapping& mapping) {
  ++mappings;
  resident.count += mapping.resident.count;
  pss.count += mapping.pss.count;
  private_bytes.count += mapping.private_clean.count + mapping.private_dirty.count;
  anonymous.count += mapping.anonymous.count;
  if (mapping.follows.inode != 0) {
    files[mapping.follows].following.count += mapping.anonymous.count;
  }
  if (mapping.file.inode == 0) return;
  if (mapping.shared && mapping.writable) {
    shared_memory.count += mapping.resident.count;
    return;
  }
  FileMemory& file = files[mapping.file];
  if (file.path.empty()) file.path = mapping.path;
  file.resident.count += mapping.resident.count;
  file.pss.count += mapping.pss.count;
  // A written page can be shared too, with a child that was forked later; it counts as relocated
  // alone, so that the parts stay all of it.
  const uint64_t relocated = std::min(mapping.anonymous.count, mapping.resident.count);
  const uint64_t of_file = mapping.resident.count - relocated;
  const uint64_t shared =
      std::min(mapping.shared_clean.count + mapping.shared_dirty.count, of_file);
  file.relocated.count += relocated;
  file.shared.count += shared;
  file.private_clean.count += of_file - shared;
}

void RaiseFilePages(const ProcessMaps& maps, FilePages& files) {
  for (const auto& [identity, file] : maps.files) {
    uint64_t& pages = files[identity];
    pages = std::max(pages, file.file_bytes());
  }
}

}  // namespace cohost::supervisor
