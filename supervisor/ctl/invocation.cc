// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/invocation.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <string_view>

#include <CLI/CLI.hpp>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/nearest.h"
#include "base/strings.h"
#include "base/units.h"
#include "base/valid_utf8.h"

namespace cohost::supervisor {
namespace {

constexpr const char* kDefaultSocket = "/run/cohost/admin.sock";
constexpr absl::Duration kUsualTrace = absl::Seconds(10);
// What the host takes.
constexpr absl::Duration kShortestTrace = absl::Milliseconds(100);
constexpr absl::Duration kLongestTrace = absl::Hours(1);
constexpr uint32_t kMostLevel = 5;

enum class Takes {
  kNothing,
  kOptionalName,
  kName,
  kMemory,
  kDeploy,
  kHistory,
  kRollback,
  kStore,
  kEvents,
  kLogs,
  kShell,
  kExport,
  kImport,
  kKeyAndFiles,
  kDump,
  kTrace,
  kCounters
};

struct Command {
  const char* name;
  Takes takes;
  const char* argument;
  const char* about;
  const char* argument_about;
  const char* examples;
};

constexpr Command kCommands[] = {
    {"status", Takes::kNothing, "", "One page on how the host is", "", "cohostctl status"},
    {"services", Takes::kOptionalName, "NAME", "All services, or one in detail", "a service",
     "cohostctl services\n  cohostctl services catalog\n  cohostctl -o json services | jq "
     "'.services[].name'"},
    {"groups", Takes::kOptionalName, "NAME", "All groups, or one in detail", "a group",
     "cohostctl groups steady-1"},
    {"workers", Takes::kOptionalName, "GROUP", "All worker processes, or those of one group",
     "a group", "cohostctl workers\n  cohostctl workers steady-1"},
    {"modules", Takes::kNothing, "",
     "Files of the module store, who shares them and since when; or sign and verify files, without "
     "a host",
     "", "cohostctl modules\n  cohostctl modules sign --key release.key catalog.so"},
    {"memory", Takes::kMemory, "", "Memory of every Cohost process, measured now", "",
     "cohostctl memory\n  cohostctl memory --modules\n  cohostctl memory --unshared --samples 8"},
    {"plan", Takes::kOptionalName, "FILE",
     "Which services share a worker and why, now or with another deployment; changes nothing",
     "a deployment file", "cohostctl plan\n  cohostctl plan new-deployment.yaml"},
    {"validate", Takes::kOptionalName, "FILE",
     "Check a deployment file (without a running host), or the host's own file as it is now",
     "a deployment file", "cohostctl validate deployment.yaml"},
    {"check", Takes::kName, "APP",
     "Whether an ASP.NET Core application can share a worker, and why not (without a host, and "
     "without running it): exit status 1 when it can run nowhere here",
     "its main assembly, or the folder that `dotnet publish` made",
     "cohostctl check /srv/shop/Shop.dll\n  DOTNET_ROOT=/opt/dotnet cohostctl check publish/"},
    {"reload", Takes::kNothing, "",
     "Read the deployment file again and apply it; with an error in it nothing changes", "",
     "cohostctl validate && cohostctl reload"},
    {"deploy", Takes::kDeploy, "SERVICE",
     "Give a service its files as they are now, or another module, tried in one worker first",
     "a service", "cohostctl deploy catalog --wait\n  cohostctl deploy catalog build/catalog.so"},
    {"history", Takes::kHistory, "SERVICE",
     "Who changed what and when, of the deployment or of one service", "a service",
     "cohostctl history\n  cohostctl history catalog"},
    {"rollback", Takes::kRollback, "SERVICE",
     "Go back to an earlier version of a service, or with --to of the whole deployment",
     "a service",
     "cohostctl rollback catalog --wait\n  cohostctl rollback catalog --to 12\n"
     "  cohostctl rollback --to 12"},
    {"export", Takes::kExport, "FILE",
     "Write the deployment in force to a file, for another host: which modules it uses, their "
     "signatures and, with --modules, the modules; secrets stay references",
     "the archive; one that is there is replaced",
     "cohostctl export shop.cohost\n  cohostctl export shop.cohost --modules"},
    {"import", Takes::kImport, "FILE",
     "Give this host the deployment of another one: shows what would change, asks, and applies "
     "it or, when something is missing or refused, leaves everything as it was",
     "what `cohostctl export` wrote",
     "cohostctl import shop.cohost\n  cohostctl import shop.cohost --dry-run\n"
     "  cohostctl import shop.cohost --yes"},
    {"fsck", Takes::kStore, "", "Check every file of the module store", "",
     "cohostctl fsck\n  cohostctl fsck --collect"},
    {"recycle", Takes::kName, "GROUP[/SLOT]", "Replace workers without losing a request",
     "a group, or one slot of it", "cohostctl recycle steady-1\n  cohostctl recycle steady-1/0"},
    {"stop", Takes::kName, "NAME", "Stop a service until it is started again, also over restarts",
     "a service", "cohostctl stop catalog"},
    {"start", Takes::kName, "NAME", "Take back a stop, or try a failed service again now",
     "a service", "cohostctl start catalog"},
    {"events", Takes::kEvents, "", "What happened, oldest first", "",
     "cohostctl events --last 20\n  cohostctl events --follow"},
    {"logs", Takes::kLogs, "SERVICE|GROUP[/SLOT]", "Log lines of a service or of workers",
     "a service, a group, or one slot of it",
     "cohostctl logs catalog --follow\n  cohostctl logs steady-1/0 --last 50"},
    {"dump", Takes::kDump, "SERVICE",
     "A core dump of the worker that runs a dotnet service, for `dotnet-dump analyze`. It holds "
     "all "
     "services of that worker, and their secrets; the worker stands still while it is written",
     "a dotnet service",
     "cohostctl dump orders\n  cohostctl dump orders --slot 1 /srv/dumps/orders.dmp\n"
     "  cohostctl dump orders --kind mini"},
    {"trace", Takes::kTrace, "SERVICE",
     "What the .NET runtime of a service's worker does, for all services of that worker: a "
     ".nettrace file for PerfView, `dotnet-trace` and the like",
     "a dotnet service",
     "cohostctl trace orders --duration 30s\n"
     "  cohostctl trace orders --provider Microsoft-Windows-DotNETRuntime:0x1:5 gc.nettrace"},
    {"counters", Takes::kCounters, "SERVICE",
     "What the .NET runtime of a service's worker counts, for all services of that worker, beside "
     "the service's own figures, until Ctrl-C",
     "a dotnet service", "cohostctl counters orders\n  cohostctl counters orders --interval 5s"},
    {"completion", Takes::kShell, "SHELL", "A completion script for bash, zsh or fish",
     "bash, zsh or fish", "source <(cohostctl completion bash)"},
    {"version", Takes::kNothing, "", "Versions of cohostctl and of the host", "",
     "cohostctl version"},
};

constexpr Command kModulesCommands[] = {
    {"sign", Takes::kKeyAndFiles, "FILE...",
     "Write FILE.sig beside each file: a signature of its content by the key; those by other keys "
     "stay",
     "modules or data images", "cohostctl modules sign --key release.key modules/*.so"},
    {"verify", Takes::kKeyAndFiles, "FILE...",
     "Whether each file has a good signature by the key: one line a file, exit status 0 or 1",
     "modules or data images", "cohostctl modules verify --key release.pub modules/*.so"},
    {"new-key", Takes::kName, "NAME",
     "Make a signing key: NAME.key, which is secret, and NAME.pub for hosts (Ed25519, PEM)",
     "of the two files, without their ends", "cohostctl modules new-key release"},
};

std::optional<uint32_t> ParseCount(const std::string& text) {
  uint32_t count = 0;
  if (!absl::SimpleAtoi(text, &count)) return std::nullopt;
  return count;
}

// `GROUP/SLOT` becomes both; a text without a slash stays a name.
std::string SplitTarget(Invocation& invocation) {
  const size_t slash = invocation.name.rfind('/');
  if (slash == std::string::npos) return "";
  invocation.slot = ParseCount(invocation.name.substr(slash + 1));
  if (!invocation.slot) {
    return absl::StrCat("'", invocation.name, "' is no GROUP/SLOT: a slot is a number from 0");
  }
  invocation.name.resize(slash);
  return "";
}

// What the parser fills: the invocation, and texts that become durations.
struct Options {
  Invocation invocation;
  std::string timeout;
  std::string canary_time;
  std::string duration;
  std::string interval;
  std::vector<std::string> providers;
  bool path_given = false;
};

// CLI11 takes no brackets in a name; what the argument looks like is then its text.
void AddName(const Command& command, CLI::App& app, Invocation& invocation) {
  const std::string shape = command.argument;
  const bool is_plain = shape.find_first_of("[|") == std::string::npos;
  CLI::Option* name =
      app.add_option(is_plain ? shape : "TARGET", invocation.name, command.argument_about)
          ->option_text(is_plain ? " " : shape);
  if (command.takes != Takes::kOptionalName && command.takes != Takes::kHistory &&
      command.takes != Takes::kRollback) {
    name->required();
  }
  if (command.takes == Takes::kShell) name->check(CLI::IsMember({"bash", "zsh", "fish"}));
}

void AddKeyAndFiles(const Command& command, CLI::App& app, Invocation& invocation) {
  const bool signs = std::string_view(command.name) == "sign";
  app.add_option("--key", invocation.key, signs ? "the private key" : "the public key")
      ->option_text("PATH")
      ->required();
  app.add_option("FILE", invocation.files, command.argument_about)
      ->option_text(command.argument)
      ->required();
}

void AddVersionOptions(const Command& command, CLI::App& app, Options& options) {
  Invocation& invocation = options.invocation;
  if (command.takes == Takes::kDeploy) {
    app.add_option_function<std::string>(
           "PATH",
           [&options](const std::string& path) {
             options.path_given = true;
             options.invocation.path = path;
           },
           "a module instead of the one that the deployment names")
        ->option_text(" ");
    app.add_option("--canary-time", options.canary_time,
                   "how long the first worker must stay ready before the others get it (0s)")
        ->option_text("DURATION");
  }
  if (command.takes == Takes::kRollback) {
    app.add_option("--to", invocation.revision, "as it was in this revision of `cohostctl history`")
        ->option_text("REVISION")
        ->check(CLI::Range(uint64_t{1}, uint64_t{INT64_MAX}));
  }
  if (command.takes == Takes::kDeploy || command.takes == Takes::kRollback) {
    app.add_flag("--wait", invocation.wait, "until it serves in every worker that has the service");
  }
  if (command.takes == Takes::kHistory) {
    app.add_option("--last", invocation.last, "the newest N (20)")
        ->option_text("N")
        ->check(CLI::Range(1, 1000));
  }
  if (command.takes == Takes::kStore) {
    app.add_flag("--collect", invocation.collect, "remove files that nobody needs, too");
  }
}

void AddMemoryOptions(CLI::App& app, Invocation& invocation) {
  CLI::Option* modules = app.add_flag(
      "--modules", invocation.modules,
      "what each module takes, and each service of its modules: reads all mappings of every "
      "worker, one after the other. PSS counts a page that n processes map 1/n in each; SHARED and "
      "PRIVATE are pages of the file, WRITTEN its own copies of them (relocations) and its zeroed "
      "data; SAVED is what copies for each service would take more");
  CLI::Option* unshared = app.add_flag(
      "--unshared", invocation.unshared,
      "what the services would take that share no worker: starts some of them once more, one after "
      "the other, each in a worker of its own without listeners. Services with `overlap: false` "
      "are left alone");
  unshared->excludes(modules);
  app.add_option("--samples", invocation.samples,
                 "with --unshared: so many services (4, at most 16)")
      ->option_text("N")
      ->check(CLI::Range(1, 16))
      ->needs(unshared);
}

void AddExchangeOptions(const Command& command, CLI::App& app, Invocation& invocation) {
  if (command.takes == Takes::kExport) {
    app.add_flag("--modules", invocation.modules, "with the modules and data images themselves");
  }
  if (command.takes == Takes::kImport) {
    app.add_flag("-y,--yes", invocation.yes, "apply it without asking");
    app.add_flag("-n,--dry-run", invocation.dry_run, "only show what would change");
    app.add_option("--modules-to", invocation.folder,
                   "where the module files go (else `imported` beside the deployment file)")
        ->option_text("FOLDER");
  }
}

void AddDiagnosticsOptions(const Command& command, CLI::App& app, Options& options) {
  Invocation& invocation = options.invocation;
  app.add_option("--slot", invocation.slot,
                 "which worker of its group, when the service runs in more than one")
      ->option_text("N");
  if (command.takes != Takes::kCounters) {
    app.add_option_function<std::string>(
           "FILE",
           [&options](const std::string& path) {
             options.path_given = true;
             options.invocation.path = path;
           },
           "where it goes, mode 0600; else NAME-TIME with .dmp or .nettrace, here")
        ->option_text(" ");
  }
  if (command.takes == Takes::kDump) {
    app.add_option("--kind", invocation.dump_kind,
                   "mini: stacks; heap: and all objects of .NET; full: all memory (heap)")
        ->option_text("mini|heap|full")
        ->check(CLI::IsMember({"mini", "heap", "full"}));
    return;
  }
  app.add_option("--duration", options.duration,
                 command.takes == Takes::kTrace ? "how long (10s; at most 1h)"
                                                : "end after this time; at most 1h")
      ->option_text("DURATION");
  if (command.takes == Takes::kCounters) {
    app.add_option("--interval", options.interval, "between two looks (1s)")
        ->option_text("DURATION");
    return;
  }
  app.add_option("--provider", options.providers,
                 "instead of where threads are, collections, exceptions and contention: an "
                 "EventSource, which of its keywords (0x1f, default all) and level (1 to 5, "
                 "default 4); more than once")
      ->option_text("NAME[:KEYWORDS[:LEVEL]]")
      // One value each, so that the FILE behind is none.
      ->allow_extra_args(false);
}

void AddArguments(const Command& command, CLI::App& app, Options& options) {
  Invocation& invocation = options.invocation;
  if (command.takes == Takes::kKeyAndFiles) {
    AddKeyAndFiles(command, app, invocation);
  } else if (*command.argument != '\0') {
    AddName(command, app, invocation);
  }
  AddVersionOptions(command, app, options);
  AddExchangeOptions(command, app, invocation);
  if (command.takes == Takes::kEvents || command.takes == Takes::kLogs) {
    app.add_option("--last", invocation.last, "begin with the last N of the past (at most 10000)")
        ->option_text("N")
        ->check(CLI::Range(0, 10000));
    app.add_flag("-f,--follow", invocation.follow, "go on with new ones until Ctrl-C");
  }
  if (command.takes == Takes::kMemory) AddMemoryOptions(app, invocation);
  if (command.takes == Takes::kDump || command.takes == Takes::kTrace ||
      command.takes == Takes::kCounters) {
    AddDiagnosticsOptions(command, app, options);
  }
  app.footer(absl::StrCat("Examples:\n  ", command.examples));
}

// The arguments that are no options and no options' values: the command and what belongs to it.
std::vector<std::string> Words(const std::vector<std::string>& arguments) {
  std::vector<std::string> words;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--socket" || argument == "-o" || argument == "--output" ||
        argument == "--timeout" || argument == "--key" || argument == "--modules-to" ||
        argument == "--slot" || argument == "--kind" || argument == "--duration" ||
        argument == "--interval" || argument == "--provider") {
      ++i;
    } else if (argument.empty() || argument[0] != '-') {
      words.push_back(argument);
    }
  }
  return words;
}

Parsed Wrong(const std::string& message) {
  return {std::nullopt, absl::StrCat("cohostctl: ", message, "\n"), 1};
}

// "NAME", "NAME:KEYWORDS", "NAME:KEYWORDS:LEVEL"; nothing when it is none of them.
std::optional<TraceProviderOption> ParseProvider(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, ':');
  TraceProviderOption provider{parts[0], UINT64_MAX, 0};
  if (provider.name.empty() || parts.size() > 3) return std::nullopt;
  if (parts.size() > 1 && !absl::SimpleHexAtoi(parts[1], &provider.keywords)) return std::nullopt;
  if (parts.size() > 2 && (!absl::SimpleAtoi(parts[2], &provider.level) || provider.level < 1 ||
                           provider.level > kMostLevel)) {
    return std::nullopt;
  }
  return provider;
}

// Fills what dump, trace and counters take; what is wrong, or empty.
std::string TakeDiagnosticsOptions(const Options& options, Invocation& invocation) {
  if (invocation.command == "trace") invocation.duration = kUsualTrace;
  if (!options.duration.empty()) {
    const auto parsed = ParseDuration(options.duration);
    if (!parsed.ok()) return absl::StrCat("--duration: ", parsed.status().message());
    if (*parsed < kShortestTrace || *parsed > kLongestTrace) {
      return "--duration: from 100ms to 1h";
    }
    invocation.duration = *parsed;
  }
  if (!options.interval.empty()) {
    const auto parsed = ParseDuration(options.interval);
    if (!parsed.ok()) return absl::StrCat("--interval: ", parsed.status().message());
    if (*parsed < kShortestTrace || *parsed > kLongestTrace) {
      return "--interval: from 100ms to 1h";
    }
    invocation.interval = *parsed;
  }
  for (const std::string& text : options.providers) {
    const auto provider = ParseProvider(text);
    if (!provider) {
      return absl::StrCat("--provider: '", text, "' is no NAME[:KEYWORDS[:LEVEL]]: keywords are ",
                          "hexadecimal, a level is 1 to 5");
    }
    invocation.providers.push_back(*provider);
  }
  return "";
}

// A command that is none of `names`, told with the nearest; empty when it is one.
std::string UnknownCommand(const std::vector<std::string>& names, const std::string& word,
                           const std::string& after) {
  if (std::find(names.begin(), names.end(), word) != names.end()) return "";
  const auto nearest =
      FindNearest(names, word, [](const std::string& name) { return std::string_view(name); });
  return absl::StrCat("there is no command '", after, word, "'; ",
                      nearest == names.end()
                          ? absl::StrCat("`cohostctl ", after, "--help` shows all")
                          : absl::StrCat("did you mean '", after, *nearest, "'?"));
}

std::string UnknownCommand(const std::vector<std::string>& words) {
  if (words.empty()) return "";
  std::string unknown = UnknownCommand(CommandNames(), words[0], "");
  if (!unknown.empty() || words.size() < 2) return unknown;
  const std::vector<std::string> names = SubcommandNames(words[0]);
  return names.empty() ? "" : UnknownCommand(names, words[1], words[0] + " ");
}

void AddSubcommands(const std::string& command, CLI::App& app, Options& options) {
  Invocation& invocation = options.invocation;
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  app.require_subcommand(0, 1);
  for (const Command& nested : kModulesCommands) {
    CLI::App* sub = app.add_subcommand(nested.name, nested.about);
    AddArguments(nested, *sub, options);
    sub->callback([&invocation, name = absl::StrCat(command, " ", nested.name)] {
      invocation.command = name;
    });
  }
}

std::unique_ptr<CLI::App> MakeApp(Options& options) {
  Invocation& invocation = options.invocation;
  auto app = std::make_unique<CLI::App>(
      "Looks at a running Cohost host and steers it, over its admin socket.", "cohostctl");
  app->get_formatter()->label("SUBCOMMAND", "COMMAND");
  app->get_formatter()->label("Subcommands", "Commands");
  app->require_subcommand(1);
  app->fallthrough();
  app->add_option("--socket", invocation.socket,
                  "the host's admin socket (else COHOST_SOCKET, else /run/cohost/admin.sock)")
      ->option_text("PATH");
  app->add_option("-o,--output", invocation.output, "table for people, json for programs")
      ->option_text("table|json")
      ->transform(CLI::CheckedTransformer(std::map<std::string, OutputFormat>{
          {"table", OutputFormat::kTable}, {"json", OutputFormat::kJson}}));
  app->add_option("--timeout", options.timeout,
                  "how long the host may take (10s; 5m for what waits for workers)")
      ->option_text("DURATION");
  app->footer(
      "Exit status: 0 done, 1 the call is wrong, 2 the host was not reached.\n"
      "Examples:\n  cohostctl status\n  cohostctl COMMAND --help");
  for (const Command& command : kCommands) {
    CLI::App* sub = app->add_subcommand(command.name, command.about);
    AddArguments(command, *sub, options);
    // A subcommand's callback has run before.
    sub->callback([&invocation, name = command.name] {
      if (invocation.command.empty()) invocation.command = name;
    });
    if (!SubcommandNames(command.name).empty()) AddSubcommands(command.name, *sub, options);
  }
  return app;
}

}  // namespace

const std::vector<std::string>& CommandNames() {
  static const auto& names = *[] {
    auto* all = new std::vector<std::string>;
    for (const Command& command : kCommands) all->emplace_back(command.name);
    return all;
  }();
  return names;
}

std::vector<std::string> SubcommandNames(std::string_view command) {
  std::vector<std::string> names;
  if (command != "modules") return names;
  for (const Command& nested : kModulesCommands) names.emplace_back(nested.name);
  return names;
}

Parsed ParseCommandLine(const std::vector<std::string>& arguments, const char* socket_variable) {
  const std::vector<std::string> words = Words(arguments);
  if (const std::string unknown = UnknownCommand(words); !unknown.empty()) return Wrong(unknown);
  Options options;
  const auto app = MakeApp(options);
  try {
    // CLI11 takes them from the back.
    app->parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    const CLI::App* chosen = app.get();
    std::string before;
    for (auto below = chosen->get_subcommands(); !below.empty();
         below = chosen->get_subcommands()) {
      absl::StrAppend(&before, before.empty() ? "" : " ", chosen->get_name());
      chosen = below.front();
    }
    return {std::nullopt, before.empty() ? chosen->help() : chosen->help(before), 0};
  } catch (const CLI::ParseError& error) {
    std::string command;
    for (size_t i = 0; i < words.size() && i < 2; ++i) {
      if (i == 1 && SubcommandNames(words[0]).empty()) break;
      absl::StrAppend(&command, words[i], " ");
    }
    return Wrong(absl::StrCat(error.what(), "; see `cohostctl ", command, "--help`"));
  }
  Invocation& invocation = options.invocation;
  if (!options.timeout.empty()) {
    const auto parsed = ParseDuration(options.timeout);
    if (!parsed.ok()) return Wrong(absl::StrCat("--timeout: ", parsed.status().message()));
    if (*parsed <= absl::ZeroDuration()) return Wrong("--timeout: must be more than 0");
    invocation.timeout = *parsed;
  }
  if (!options.canary_time.empty()) {
    const auto parsed = ParseDuration(options.canary_time);
    if (!parsed.ok()) return Wrong(absl::StrCat("--canary-time: ", parsed.status().message()));
    invocation.canary_time = *parsed;
  }
  if (const std::string wrong = TakeDiagnosticsOptions(options, invocation); !wrong.empty()) {
    return Wrong(wrong);
  }
  if (options.path_given &&
      (invocation.path.empty() || ValidUtf8(invocation.path) != invocation.path)) {
    return Wrong("PATH: it must be a path in UTF-8, and not empty");
  }
  if (!invocation.path.empty()) {
    // The host's working directory is another.
    invocation.path = std::filesystem::absolute(invocation.path).lexically_normal().string();
  }
  if (!invocation.folder.empty()) {
    invocation.folder = std::filesystem::absolute(invocation.folder).lexically_normal().string();
    if (invocation.folder.size() > 1 && invocation.folder.back() == '/') {
      invocation.folder.pop_back();
    }
  }
  if (invocation.command == "rollback" && invocation.name.empty() && invocation.revision == 0) {
    return Wrong(
        "rollback of the whole deployment needs --to REVISION; `cohostctl history` shows "
        "them");
  }
  if (invocation.command == "recycle" || invocation.command == "logs") {
    if (const std::string wrong = SplitTarget(invocation); !wrong.empty()) return Wrong(wrong);
  }
  if (invocation.socket.empty()) {
    const bool is_set = socket_variable != nullptr && *socket_variable != '\0';
    invocation.socket = is_set ? socket_variable : kDefaultSocket;
  }
  return {invocation, "", 0};
}

}  // namespace cohost::supervisor
