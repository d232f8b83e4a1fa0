// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/exchange/archive/archive_head.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/strings.h"
#include "supervisor/ctl/exchange/archive/field.h"
#include "supervisor/modules/signing/content_hash.h"

namespace cohost::supervisor {
namespace {

constexpr std::string_view kFirstLine = "cohost-export 1";
constexpr char kTimeFormat[] = "%Y-%m-%dT%H:%M:%SZ";

// The value of the next line, which must have this name.
absl::StatusOr<std::string_view> TakeValue(std::string_view& text, std::string_view name) {
  COHOST_ASSIGN_OR_RETURN(const std::string_view line, TakeLine(text));
  const auto fields = SplitFields(line);
  if (fields.size() != 2 || fields[0] != name) {
    return absl::InvalidArgumentError(absl::StrCat("there is no line '", AsAbsl(name), "'"));
  }
  return fields[1];
}

absl::StatusOr<std::string> TakeText(std::string_view& text, std::string_view name) {
  COHOST_ASSIGN_OR_RETURN(const std::string_view value, TakeValue(text, name));
  return UnescapeField(value);
}

absl::StatusOr<std::string> TakeHash(std::string_view& text, std::string_view name) {
  COHOST_ASSIGN_OR_RETURN(const std::string_view value, TakeValue(text, name));
  if (!IsContentHash(value)) {
    return absl::InvalidArgumentError(absl::StrCat("'", AsAbsl(name), "' is no SHA-256"));
  }
  return std::string(value);
}

absl::StatusOr<absl::Time> TakeTime(std::string_view& text) {
  COHOST_ASSIGN_OR_RETURN(const std::string_view value, TakeValue(text, "time"));
  absl::Time time;
  std::string error;
  if (!absl::ParseTime(kTimeFormat, AsAbsl(value), absl::UTCTimeZone(), &time, &error) ||
      absl::FormatTime(kTimeFormat, time, absl::UTCTimeZone()) != value) {
    return absl::InvalidArgumentError("'time' is no time");
  }
  return time;
}

}  // namespace

std::string FormatArchiveHead(const ArchiveHead& head) {
  std::string text = absl::StrCat(
      AsAbsl(kFirstLine), "\nhost-version ", EscapeField(head.host_version), "\nhostname ",
      EscapeField(head.hostname), "\ntime ",
      absl::FormatTime(kTimeFormat, head.time, absl::UTCTimeZone()), "\nrevision ", head.revision,
      "\ndeployment ", head.deployment_hash, "\nfiles ", head.files_hash, "\n");
  absl::StrAppend(&text, "check ", HashOf(text), "\n");
  return text;
}

absl::StatusOr<ArchiveHead> ParseArchiveHead(std::string_view text) {
  const std::string_view whole = text;
  COHOST_ASSIGN_OR_RETURN(const std::string_view first, TakeLine(text));
  if (first != kFirstLine) {
    const bool is_other = first.substr(0, kHeadEntry.size()) == kHeadEntry;
    return is_other ? absl::UnimplementedError(
                          "it has another format; read it with the version of cohostctl that "
                          "belongs to the host that wrote it, or a later one")
                    : absl::InvalidArgumentError("it does not begin as one");
  }
  ArchiveHead head;
  COHOST_ASSIGN_OR_RETURN(head.host_version, TakeText(text, "host-version"));
  COHOST_ASSIGN_OR_RETURN(head.hostname, TakeText(text, "hostname"));
  COHOST_ASSIGN_OR_RETURN(head.time, TakeTime(text));
  COHOST_ASSIGN_OR_RETURN(const std::string_view revision, TakeValue(text, "revision"));
  COHOST_ASSIGN_OR_RETURN(head.revision, ParseNumber(revision));
  COHOST_ASSIGN_OR_RETURN(head.deployment_hash, TakeHash(text, "deployment"));
  COHOST_ASSIGN_OR_RETURN(head.files_hash, TakeHash(text, "files"));
  const std::string_view above = whole.substr(0, whole.size() - text.size());
  COHOST_ASSIGN_OR_RETURN(const std::string check, TakeHash(text, "check"));
  if (!text.empty()) return absl::InvalidArgumentError("it goes on after 'check'");
  if (check != HashOf(above)) return absl::InvalidArgumentError("it was changed or damaged");
  return head;
}

}  // namespace cohost::supervisor
