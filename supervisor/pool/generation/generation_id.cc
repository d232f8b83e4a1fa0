// SPDX-License-Identifier: Apache-2.0
#include "supervisor/pool/generation/generation_id.h"

#include <algorithm>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/strings.h"

namespace cohost::supervisor {
namespace {

constexpr std::string_view kVersionLine = "version 1";

std::string Path(std::string_view prefix, const GenerationId& id) {
  return absl::StrCat(AsAbsl(prefix), id.group, "/", id.slot, "/", id.number);
}

absl::Status Bad(absl::string_view line) {
  return absl::InvalidArgumentError(absl::StrCat("held entry: bad line '", line, "'"));
}

absl::Status DecodeLine(absl::string_view line, GenerationRecord& record) {
  const std::pair<absl::string_view, absl::string_view> words =
      absl::StrSplit(line, absl::MaxSplits(' ', 1));
  const auto& [word, value] = words;
  if (word == "started") {
    int64_t nanoseconds = 0;
    if (!absl::SimpleAtoi(value, &nanoseconds)) return Bad(line);
    record.started = absl::FromUnixNanos(nanoseconds);
  } else if (word == "fingerprint") {
    if (!absl::SimpleAtoi(value, &record.fingerprint)) return Bad(line);
  } else if (word == "reason") {
    uint32_t number = 0;
    if (!absl::SimpleAtoi(value, &number) || number >= kRecycleReasons) return Bad(line);
    record.reason = static_cast<RecycleReason>(number);
  } else if (word == "exit") {
    record.last_exit = std::string(value.substr(0, kMaxExitText));
  } else if (word == "blamed") {
    const std::pair<absl::string_view, absl::string_view> numbers = absl::StrSplit(value, ' ');
    uint64_t id = 0;
    uint64_t revision = 0;
    if (!absl::SimpleAtoi(numbers.first, &id) || !absl::SimpleAtoi(numbers.second, &revision) ||
        record.blamed.size() == kMaxBlamed) {
      return Bad(line);
    }
    record.blamed[id] = revision;
  }
  return absl::OkStatus();
}

}  // namespace

std::string GenerationId::ProcessName() const { return Path(kProcessPrefix, *this); }
std::string GenerationId::HoldName() const { return Path(kHoldPrefix, *this); }

absl::StatusOr<GenerationId> ParseGenerationId(std::string_view name) {
  const std::vector<absl::string_view> parts = absl::StrSplit(AsAbsl(name), '/');
  GenerationId id;
  if (parts.size() != 4 || (parts[0] != "worker" && parts[0] != "link") || parts[1].empty() ||
      !absl::SimpleAtoi(parts[2], &id.slot) || !absl::SimpleAtoi(parts[3], &id.number) ||
      id.number == 0) {
    return absl::InvalidArgumentError(absl::StrCat("'", AsAbsl(name), "' does not name a worker"));
  }
  id.group = std::string(parts[1]);
  return id;
}

std::string EncodeGenerationRecord(const GenerationRecord& record) {
  std::string blob = absl::StrCat(AsAbsl(kVersionLine), "\n",                           //
                                  "started ", absl::ToUnixNanos(record.started), "\n",  //
                                  "fingerprint ", record.fingerprint, "\n",             //
                                  "reason ", static_cast<uint32_t>(record.reason), "\n");
  if (!record.last_exit.empty()) {
    std::string line = record.last_exit.substr(0, kMaxExitText);
    std::replace(line.begin(), line.end(), '\n', ' ');
    absl::StrAppend(&blob, "exit ", line, "\n");
  }
  size_t count = 0;
  for (const auto& [id, revision] : record.blamed) {
    if (++count > kMaxBlamed) break;
    absl::StrAppend(&blob, "blamed ", id, " ", revision, "\n");
  }
  return blob;
}

absl::StatusOr<GenerationRecord> DecodeGenerationRecord(std::string_view blob) {
  const std::vector<absl::string_view> lines = absl::StrSplit(AsAbsl(blob), '\n');
  if (AsStd(lines.front()) != kVersionLine) return Bad(lines.front().substr(0, 40));
  GenerationRecord record;
  for (size_t i = 1; i < lines.size(); ++i) {
    const absl::Status decoded = DecodeLine(lines[i], record);
    if (!decoded.ok()) return decoded;
  }
  return record;
}

}  // namespace cohost::supervisor
