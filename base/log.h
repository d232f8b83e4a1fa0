// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

namespace cohost {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// One key and value of a log line.
struct LogField {
  std::string_view key;
  std::variant<std::string_view, int64_t, double, bool> value;
};

// Writes one JSON object a line to a descriptor:
// {"time":"2026-01-01T12:00:00.123456Z","level":"info", "component":"pool","message":"...",
// fields}. One write(2) a line, so lines of several threads never mix. A reader that does not read
// costs nothing: on EAGAIN the line is dropped and counted, and the next line that fits says how
// many were lost. Invalid UTF-8 is replaced. Thread-safe.
class Log {
 public:
  // `fd` is not owned and stays open as long as the log; `component` names the process
  // ("supervisor").
  Log(int fd, std::string component, LogLevel least = LogLevel::kInfo);

  void Write(LogLevel level, std::string_view message, std::initializer_list<LogField> fields = {});
  void Info(std::string_view message, std::initializer_list<LogField> fields = {}) {
    Write(LogLevel::kInfo, message, fields);
  }
  void Warning(std::string_view message, std::initializer_list<LogField> fields = {}) {
    Write(LogLevel::kWarning, message, fields);
  }
  void Error(std::string_view message, std::initializer_list<LogField> fields = {}) {
    Write(LogLevel::kError, message, fields);
  }

 private:
  // Set in the constructor, never changed.
  const int fd_;
  const std::string component_;
  const LogLevel least_;
  // Lines dropped since the last one that was written; atomic access only.
  uint64_t dropped_ = 0;
};

}  // namespace cohost
