// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

namespace cohost::supervisor {

// One mistake of a deployment file and where it stands.
struct ConfigError {
  std::string file = {};
  // Both from 1, the column in bytes; 0: the file as a whole.
  int line = 0;
  int column = 0;
  // "services[2].limits.queue"; empty: not inside a key.
  std::string key_path = {};
  std::string message = {};
  friend auto operator<=>(const ConfigError&, const ConfigError&) = default;
};

// `file:line:column: key.path: message`.
std::string Render(const ConfigError& error);

// Collects the mistakes of one run, at most kLimit of them: a hostile file must not turn into a
// gigabyte of messages. Not thread-safe.
class ConfigErrors {
 public:
  static constexpr size_t kLimit = 1000;

  void Add(ConfigError error);
  // False also means: nothing was dropped.
  bool empty() const { return errors_.empty(); }
  bool full() const { return errors_.size() >= kLimit; }
  // Sorted by file and place; the last one says so when some were left out.
  std::vector<ConfigError> Take();

 private:
  std::vector<ConfigError> errors_;
  size_t dropped_ = 0;
};

}  // namespace cohost::supervisor
