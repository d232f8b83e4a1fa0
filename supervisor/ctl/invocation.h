// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"

namespace cohost::supervisor {

enum class OutputFormat { kTable, kJson };

// "NAME:KEYWORDS:LEVEL" of trace.
struct TraceProviderOption {
  std::string name;
  uint64_t keywords = 0;
  uint32_t level = 0;  // 0: the host's usual one
};

// One call of cohostctl, parsed.
struct Invocation {
  // As CommandNames has it; with one of SubcommandNames behind a blank: "modules sign".
  std::string command;
  std::string socket;
  OutputFormat output = OutputFormat::kTable;
  // Unset: what suits the command.
  std::optional<absl::Duration> timeout;
  // A service, a group, a file or a shell, as the command takes it; empty: none.
  std::string name;
  std::optional<uint32_t> slot;
  uint32_t last = 0;
  bool follow = false;
  std::string path;  // of deploy, dump and trace, absolute; empty: none
  bool wait = false;
  absl::Duration canary_time;
  uint64_t revision = 0;  // to which a rollback goes; 0: the one before
  // Of dump, trace and counters.
  std::string dump_kind = "heap";
  std::optional<absl::Duration> duration;  // unset: until the process is ended
  absl::Duration interval = absl::Seconds(1);
  std::vector<TraceProviderOption> providers;
  bool collect = false;
  bool modules = false;
  bool unshared = false;
  uint32_t samples = 0;  // 0: the host's default
  // Of import.
  std::string folder;  // for module files, absolute; empty: beside the deployment file
  bool yes = false;
  bool dry_run = false;
  // Of `modules sign` and `modules verify`.
  std::string key;
  std::vector<std::string> files;
};

// The result of parsing: an invocation, or a text to print and an exit status (help, a mistake).
struct Parsed {
  std::optional<Invocation> invocation;
  std::string text;
  int exit_code = 0;
};

// Reads the command line. The socket is --socket, else COHOST_SOCKET (`socket_variable`, may be
// null), else /run/cohost/admin.sock.
Parsed ParseCommandLine(const std::vector<std::string>& arguments, const char* socket_variable);

// Names of all commands, as completion offers them.
const std::vector<std::string>& CommandNames();
// Those that may follow a command: `modules` has some. They work without a host.
std::vector<std::string> SubcommandNames(std::string_view command);

}  // namespace cohost::supervisor
