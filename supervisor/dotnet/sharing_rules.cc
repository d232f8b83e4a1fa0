// SPDX-License-Identifier: Apache-2.0
#include "supervisor/dotnet/sharing_rules.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/strings.h"

namespace cohost::supervisor {
namespace {

using enum Finding::Weight;

constexpr std::string_view kEnds = "it ends the process, hence all applications in the worker";
constexpr std::string_view kEndHost = "end the host instead (IHostApplicationLifetime)";
constexpr std::string_view kDefaultContext =
    "it loads into the process's own load context, where its neighbours see it and no second "
    "version can be";
constexpr std::string_view kOwnContext =
    "use Assembly.Load, or a load context of its own (AssemblyLoadContext)";
constexpr std::string_view kSignals = "signals are the worker's: it is not called";
constexpr std::string_view kLifetime = "use IHostApplicationLifetime";
constexpr std::string_view kHosted =
    "it works in the background (hosted services): once for each worker that it is in";

constexpr SharingRule kRules[] = {
    {"System.Environment.Exit", false, kSolo, kEnds, kEndHost},
    {"System.Environment.FailFast", false, kSolo, kEnds, kEndHost},
    {"System.Reflection.Assembly.LoadFrom", false, kSolo, kDefaultContext, kOwnContext},
    {"System.Reflection.Assembly.UnsafeLoadFrom", false, kSolo, kDefaultContext, kOwnContext},
    {"System.Reflection.Assembly.LoadFile", false, kSolo, kDefaultContext, kOwnContext},
    {"System.AppDomain.Load", false, kSolo, kDefaultContext, kOwnContext},
    {"System.AppDomain.GetAssemblies", false, kSolo,
     "it sees the assemblies of all applications in the worker",
     "use AssemblyLoadContext.GetLoadContext(...).Assemblies"},
    {"System.Runtime.Loader.AssemblyLoadContext.get_All", false, kSolo,
     "it sees the load contexts of all applications in the worker",
     "use AssemblyLoadContext.GetLoadContext"},
    {"System.Runtime.Loader.AssemblyLoadContext.get_Default", false, kWarning,
     "the default load context is the worker's, not the application's",
     "use AssemblyLoadContext.GetLoadContext"},
    {"System.AppDomain.add_UnhandledException", false, kWarning,
     "it hears of all applications' exceptions, or of none: the worker handles them", ""},
    {"System.AppDomain.add_ProcessExit", false, kWarning,
     "the process ends with the worker, not with the application", kLifetime},
    {"System.AppDomain.add_AssemblyResolve", false, kWarning,
     "it is asked for the assemblies of all applications in the worker",
     "use the event Resolving of its load context"},
    {"System.Environment.SetEnvironmentVariable", false, kWarning,
     "environment variables are the process's: after its start others may see what it sets",
     "use configuration"},
    {"System.Environment.GetCommandLineArgs", false, kWarning,
     "after its start the command line is the worker's", "use the arguments of Main"},
    {"System.Diagnostics.Process.GetCurrentProcess", false, kWarning,
     "the process is the worker, with all its applications", ""},
    {"System.Environment.get_ProcessPath", false, kWarning, "the program is the worker", ""},
    {"System.Threading.ThreadPool.SetMinThreads", false, kWarning,
     "the thread pool is shared: the largest wish of all applications holds", ""},
    {"System.Threading.ThreadPool.SetMaxThreads", false, kWarning,
     "the thread pool is shared: a maximum for all applications",
     "limit concurrency with limits.concurrency"},
    {"System.Globalization.CultureInfo.set_DefaultThreadCurrentCulture", false, kWarning,
     "threads that begin before its start is over get another application's culture",
     "use request localization"},
    {"System.Console.add_CancelKeyPress", false, kWarning, kSignals, kLifetime},
    {"System.Runtime.InteropServices.PosixSignalRegistration.Create", false, kWarning, kSignals,
     kLifetime},
    {"System.GC.Collect", false, kWarning, "it stops all applications of the worker meanwhile", ""},
    {"Microsoft.Extensions.Hosting.IHostedService", true, kNote, kHosted, ""},
    {"Microsoft.Extensions.Hosting.BackgroundService", true, kNote, kHosted, ""},
};

CliUses MakeWanted() {
  CliUses wanted;
  for (const SharingRule& rule : kRules) {
    (rule.is_base ? wanted.bases : wanted.members).emplace(rule.use);
  }
  return wanted;
}

}  // namespace

std::span<const SharingRule> SharingRules() { return kRules; }

const CliUses& WantedUses() {
  static const CliUses* const wanted = new CliUses(MakeWanted());
  return *wanted;
}

void ApplySharingRules(std::string_view assembly, const CliUses& uses, Verdict& verdict) {
  for (const SharingRule& rule : kRules) {
    if (!(rule.is_base ? uses.bases : uses.members).contains(rule.use)) continue;
    verdict.Add(
        rule.weight,
        absl::StrCat(AsAbsl(assembly), " uses ", AsAbsl(rule.use), ": ", AsAbsl(rule.reason)),
        std::string(rule.remedy));
  }
}

}  // namespace cohost::supervisor
