// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <limits.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "base/strings.h"

namespace cohost {
namespace {

// A pipe takes up to PIPE_BUF bytes whole or not at all. Longer lines could be torn by a full pipe
// or mixed with others', so they are cut to it.
constexpr size_t kLongestLine = PIPE_BUF;
// Kept free for `,"dropped":18446744073709551615,"cut":true}` and the newline.
constexpr size_t kReserve = 64;

std::string_view LevelName(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
  }
  return "unknown";
}

// Length of the UTF-8 sequence at the front of `text`, 0 when it is none (overlong forms,
// surrogates and code points beyond U+10FFFF included).
size_t SequenceLength(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto follows = [&](size_t i, unsigned low, unsigned high) {
    return i < text.size() && byte(i) >= low && byte(i) <= high;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return follows(1, 0x80, 0xbf) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const unsigned low = first == 0xe0 ? 0xa0 : 0x80;
    const unsigned high = first == 0xed ? 0x9f : 0xbf;
    return follows(1, low, high) && follows(2, 0x80, 0xbf) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const unsigned low = first == 0xf0 ? 0x90 : 0x80;
    const unsigned high = first == 0xf4 ? 0x8f : 0xbf;
    return follows(1, low, high) && follows(2, 0x80, 0xbf) && follows(3, 0x80, 0xbf) ? 4 : 0;
  }
  return 0;
}

void AppendEscaped(std::string& line, std::string_view sequence) {
  const char c = sequence[0];
  if (c == '"' || c == '\\') {
    line += {'\\', c};
  } else if (c == '\n') {
    line += "\\n";
  } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
    std::array<char, 8> escaped;
    std::snprintf(escaped.data(), escaped.size(), "\\u%04x", static_cast<unsigned>(c));
    line += escaped.data();
  } else {
    line += sequence;
  }
}

// Appends `text` as a JSON string; false when the line ended before it did.
bool AppendString(std::string& line, std::string_view text) {
  line += '"';
  bool whole = true;
  while (!text.empty()) {
    if (line.size() + 8 > kLongestLine - kReserve) {
      whole = false;
      break;
    }
    const size_t length = SequenceLength(text);
    if (length == 0) {
      line += "\xef\xbf\xbd";  // U+FFFD
      text.remove_prefix(1);
      continue;
    }
    AppendEscaped(line, text.substr(0, length));
    text.remove_prefix(length);
  }
  line += '"';
  return whole;
}

bool AppendField(std::string& line, const LogField& field) {
  // A number needs up to 32 bytes; a key that does not fit leaves the whole field out.
  if (line.size() + field.key.size() * 6 + 40 > kLongestLine - kReserve) return false;
  line += ',';
  bool whole = AppendString(line, field.key);
  line += ':';
  if (const auto* text = std::get_if<std::string_view>(&field.value)) {
    whole = AppendString(line, *text) && whole;
  } else if (const auto* integer = std::get_if<int64_t>(&field.value)) {
    absl::StrAppend(&line, *integer);
  } else if (const auto* number = std::get_if<double>(&field.value)) {
    // JSON knows neither infinity nor NaN.
    if (std::isfinite(*number)) {
      absl::StrAppend(&line, *number);
    } else {
      line += "null";
    }
  } else {
    line += std::get<bool>(field.value) ? "true" : "false";
  }
  return whole;
}

void AppendTime(std::string& line) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  tm parts{};
  gmtime_r(&now.tv_sec, &parts);
  std::array<char, 80> text;
  std::snprintf(text.data(), text.size(), "%04d-%02d-%02dT%02d:%02d:%02d.%06ldZ",
                parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min,
                parts.tm_sec, now.tv_nsec / 1000);
  line += text.data();
}

// False when the line would have waited, or the descriptor takes nothing any more.
bool WriteWithoutWaiting(int fd, std::string_view line) {
  // The descriptor is often shared with whoever started us, so it is not made non-blocking: a pipe
  // that polls writable takes PIPE_BUF bytes without waiting.
  pollfd ready{fd, POLLOUT, 0};
  if (poll(&ready, 1, 0) != 1 || (ready.revents & POLLOUT) == 0) return false;
  ssize_t written = 0;
  do {
    written = write(fd, line.data(), line.size());
  } while (written < 0 && errno == EINTR);
  return written == static_cast<ssize_t>(line.size());
}

}  // namespace

Log::Log(int fd, std::string component, LogLevel least)
    : fd_(fd), component_(std::move(component)), least_(least) {}

void Log::Write(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) {
  if (level < least_) return;
  std::string line;
  line.reserve(512);
  line += R"({"time":")";
  AppendTime(line);
  absl::StrAppend(&line, R"(","level":")", AsAbsl(LevelName(level)), R"(","component":)");
  bool whole = AppendString(line, component_);
  line += R"(,"message":)";
  whole = AppendString(line, message) && whole;
  for (const LogField& field : fields) whole = AppendField(line, field) && whole;
  if (!whole) line += R"(,"cut":true)";
  std::atomic_ref<uint64_t> dropped(dropped_);
  const uint64_t lost = dropped.exchange(0, std::memory_order_relaxed);
  if (lost > 0) absl::StrAppend(&line, R"(,"dropped":)", lost);
  line += "}\n";
  if (!WriteWithoutWaiting(fd_, line)) dropped.fetch_add(lost + 1, std::memory_order_relaxed);
}

}  // namespace cohost
