// SPDX-License-Identifier: Apache-2.0
#include "supervisor/keeper/options.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/nearest.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/units.h"

namespace cohost::supervisor {
namespace {

struct Option {
  std::string_view name;
  bool has_value;
  bool passed_on;
};
constexpr std::array<Option, 10> kOptions = {{{"--config", true, true},
                                              {"--port-offset", true, true},
                                              {"--runtime-dir", true, true},
                                              {"--state-dir", true, true},
                                              {"--worker", true, true},
                                              {"--drain-limit", true, true},
                                              {"--ready-fd", true, false},
                                              {"--supervisor", true, false},
                                              {"--version", false, false},
                                              {"--help", false, false}}};

absl::Status UnknownOption(std::string_view name) {
  const auto nearest =
      FindNearest(kOptions, name, [](const Option& option) { return option.name; });
  return absl::InvalidArgumentError(absl::StrCat(
      "unknown option '", AsAbsl(name), "'; ",
      nearest != kOptions.end() ? absl::StrCat("the nearest is ", AsAbsl(nearest->name))
                                : std::string("see --help")));
}

absl::Status CheckNumber(std::string_view name, const std::string& value, int most, int& number) {
  if (absl::SimpleAtoi(value, &number) && number >= 0 && number <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(AsAbsl(name), ": '", value, "' is not a number from 0 to ", most));
}

absl::Status SetValue(const Option& option, const std::string& value, KeeperOptions& options) {
  int number = 0;
  if (option.name == "--ready-fd") {
    return CheckNumber(option.name, value, 1 << 20, options.ready_fd);
  }
  if (option.name == "--port-offset") return CheckNumber(option.name, value, 65535, number);
  if (option.name == "--supervisor") options.supervisor = value;
  if (option.name == "--drain-limit") {
    const absl::StatusOr<absl::Duration> limit = ParseDuration(value);
    if (!limit.ok()) return Annotate(limit.status(), option.name);
    options.drain_limit = *limit;
  }
  if (value.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(AsAbsl(option.name), ": the value is empty"));
  }
  return absl::OkStatus();
}

}  // namespace

const char kKeeperHelp[] =
    R"(cohostd: runs the services of a deployment in shared worker processes.

usage: cohostd [DEPLOYMENT.yaml] [options]

  --config FILE        the deployment file, instead of the first argument
                       (default: /etc/cohost/deployment.yaml)
  --port-offset N      adds N to every TCP port of the deployment that is not 0
  --runtime-dir DIR    instead of host.runtime_dir of the file: lock and admin socket
  --state-dir DIR      instead of host.state_dir of the file: state, modules, logs
  --drain-limit TIME   on SIGTERM requests in flight have this long (60s)
  --ready-fd N         one JSON line with all addresses goes to descriptor N when all
                       services are up
  --supervisor PATH    program to run as supervisor (cohost-supervisor beside cohostd)
  --worker PATH        program to run as worker (cohost-worker beside cohostd)
  --version, --help

signals: SIGTERM and SIGINT end it after draining, a second one at once; SIGHUP reads the
deployment again.
exit codes: 0 ended as asked, 1 the deployment or the call is wrong, 2 the system failed.
)";

absl::StatusOr<KeeperOptions> ParseKeeperOptions(std::span<const char* const> arguments) {
  KeeperOptions options;
  bool has_file = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (!argument.starts_with("-")) {
      if (std::exchange(has_file, true)) {
        return absl::InvalidArgumentError(
            absl::StrCat("'", AsAbsl(argument), "': only one deployment file can be given"));
      }
      options.passed_on.emplace_back(argument);
      continue;
    }
    const size_t equals = argument.find('=');
    const std::string_view name = argument.substr(0, equals);
    const auto option = std::find_if(kOptions.begin(), kOptions.end(),
                                     [&](const Option& known) { return known.name == name; });
    if (option == kOptions.end()) return UnknownOption(name);
    if (!option->has_value) {
      if (equals != std::string_view::npos) {
        return absl::InvalidArgumentError(absl::StrCat(AsAbsl(name), " takes no value"));
      }
      (name == "--help" ? options.help : options.version) = true;
      continue;
    }
    std::string value;
    if (equals != std::string_view::npos) {
      value = argument.substr(equals + 1);
    } else if (i + 1 < arguments.size()) {
      value = arguments[++i];
    } else {
      return absl::InvalidArgumentError(absl::StrCat(AsAbsl(name), " needs a value"));
    }
    COHOST_RETURN_IF_ERROR(SetValue(*option, value, options));
    if (option->passed_on) {
      options.passed_on.push_back(absl::StrCat(AsAbsl(name), "=", value));
    }
  }
  return options;
}

}  // namespace cohost::supervisor
