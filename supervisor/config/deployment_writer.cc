// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/deployment_writer.h"

#include <array>
#include <charconv>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/strings.h"
#include "base/units.h"
#include "supervisor/config/load_class.h"
#include "supervisor/config/yaml/yaml_writer.h"

namespace cohost::supervisor {
namespace {

std::string_view Boolean(bool value) { return value ? "true" : "false"; }

// The shortest decimal number that reads back as the same value; the reader takes no exponent.
std::string Number(double value) {
  // The smallest double has 325 characters and up to 16 more digits.
  std::array<char, 400> buffer;
  const std::to_chars_result result =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed);
  return std::string(buffer.data(), result.ptr);
}

std::string Number(uint32_t value) { return absl::StrCat(value); }

// The reader takes "unix://" for the scheme: a path with two slashes needs it before them.
std::string SocketText(std::string_view scheme, const std::string& path) {
  return absl::StrCat(AsAbsl(scheme), path.compare(0, 2, "//") == 0 ? "//" : "", path);
}

// A map from free names to texts.
template <typename Entries>
void WriteEntries(std::string_view key, const Entries& entries, YamlWriter& out) {
  if (entries.empty()) return;
  out.Open(key);
  for (const auto& [name, value] : entries) out.Entry(name, value);
  out.Close();
}

// What is not said stays unsaid: a host without applications has none of it.
void WriteHostDotnet(const Host& host, YamlWriter& out) {
  if (host.dotnet_root.empty() && host.crossgen.empty() &&
      host.precompilation == Precompilation::kRestore) {
    return;
  }
  out.Open("dotnet");
  if (!host.dotnet_root.empty()) out.Text("root", host.dotnet_root);
  if (host.precompilation != Precompilation::kRestore) {
    out.Word("precompile", host.precompilation == Precompilation::kOff ? "off" : "present");
  }
  if (!host.crossgen.empty()) out.Text("crossgen", host.crossgen);
  out.Close();
}

void WriteHost(const Host& host, YamlWriter& out) {
  out.Open("host");
  out.Text("runtime_dir", host.runtime_dir);
  out.Text("state_dir", host.state_dir);
  out.Open("admin");
  out.Text("listen", SocketText("unix:", host.admin.path));
  out.Close();
  if (host.metrics.has_value()) {
    out.Open("metrics");
    out.Text("listen", host.metrics->text);
    out.Close();
  }
  WriteEntries("signing_keys", host.signing_keys, out);
  WriteHostDotnet(host, out);
  out.Close();
}

void WriteGrouping(const Grouping& grouping, YamlWriter& out) {
  out.Open("grouping");
  out.Word("strategy", grouping.strategy == Strategy::kDeclared ? "declared" : "load_profile");
  out.Word("max_services_per_worker", Number(grouping.max_services_per_worker));
  out.Word("worker_memory", FormatBytes(grouping.worker_memory));
  out.Word("worker_cpu", Number(grouping.worker_cpu));
  out.Close();
}

std::string_view LibrarySharingName(LibrarySharing sharing) {
  switch (sharing) {
    case LibrarySharing::kNone:
      return "none";
    case LibrarySharing::kReviewed:
      return "reviewed";
    case LibrarySharing::kListed:
      return "listed";
  }
  return "";
}

void WriteDotnetPolicy(const DotnetPolicy& policy, YamlWriter& out) {
  out.Open("dotnet");
  out.Word("profile", policy.profile == DotnetProfile::kDensity ? "density" : "throughput");
  out.Word("gc", policy.gc == GarbageCollector::kServer ? "server" : "workstation");
  out.Word("concurrent", Boolean(policy.concurrent));
  out.Word("tiered_pgo", Boolean(policy.tiered_pgo));
  out.Word("write_xor_execute", Boolean(policy.write_xor_execute));
  out.Word("gen0_size", FormatBytes(policy.gen0_size));
  out.Word("conserve_memory", Number(policy.conserve_memory));
  out.Word("heap_limit", FormatBytes(policy.heap_limit));
  out.Word("invariant_globalization", Boolean(policy.invariant_globalization));
  out.Word("share_libraries", LibrarySharingName(policy.share_libraries));
  out.Texts("shared_libraries", policy.shared_libraries);
  out.Word("diagnostics", Boolean(policy.diagnostics));
  out.Close();
}

// Into the open map: the keys that group_defaults and groups have in common.
void WritePolicy(const GroupPolicy& policy, YamlWriter& out) {
  out.Word("workers", Number(policy.workers));
  out.Open("identity");
  if (!policy.identity.user.empty()) out.Text("user", policy.identity.user);
  out.Texts("supplementary_groups", policy.identity.supplementary_groups);
  out.Close();
  out.Open("limits");
  out.Word("memory", FormatBytes(policy.limits.memory));
  out.Word("cpu", Number(policy.limits.cpu));
  out.Word("tasks", Number(policy.limits.tasks));
  out.Word("open_files", Number(policy.limits.open_files));
  out.Close();
  out.Open("recycle");
  out.Word("drain_timeout", cohost::FormatDuration(policy.drain_timeout));
  out.Close();
  out.Open("health");
  out.Word("interval", cohost::FormatDuration(policy.health_interval));
  out.Word("start_timeout", cohost::FormatDuration(policy.start_timeout));
  out.Close();
  out.Word("stop_timeout", cohost::FormatDuration(policy.stop_timeout));
  out.Open("log");
  out.Word("size", FormatBytes(policy.log_size));
  out.Word("files", Number(policy.log_files));
  out.Close();
  out.Open("signatures");
  out.Texts("required_from", policy.signatures_from);
  out.Close();
  WriteDotnetPolicy(policy.dotnet, out);
}

void WriteGroup(const Group& group, YamlWriter& out) {
  out.OpenItem();
  out.Text("name", group.name);
  if (!group.match.empty()) {
    std::vector<std::string_view> classes;
    for (const LoadClass load_class : group.match) classes.push_back(LoadClassName(load_class));
    out.Open("match");
    out.Words("class", classes);
    out.Close();
  }
  WritePolicy(group.policy, out);
  out.Close();
}

void WriteAddress(const Address& address, YamlWriter& out) {
  const bool is_unix = address.kind == Address::Kind::kUnix;
  out.OpenItem();
  out.Text("address", is_unix ? SocketText("http+unix:", address.path) : address.text);
  if (is_unix) out.Text("mode", absl::StrFormat("%04o", address.mode));
  if (address.owner.has_value()) out.Text("owner", *address.owner);
  out.Word("backlog", absl::StrCat(address.backlog));
  if (!address.endpoint.empty()) out.Text("endpoint", address.endpoint);
  out.Close();
}

void WriteLoad(const LoadProfile& load, YamlWriter& out) {
  out.Open("load");
  out.Word("class", LoadClassName(load.load_class));
  out.Word("requests_per_second", Number(load.requests_per_second));
  out.Word("cpu", Number(load.cpu));
  out.Word("memory", FormatBytes(load.memory));
  if (load.peak.has_value()) out.Text("peak", FormatHoursOfDay(*load.peak));
  out.Close();
}

void WriteLimits(const ServiceLimits& limits, Runtime runtime, YamlWriter& out) {
  out.Open("limits");
  out.Word("concurrency", Number(limits.concurrency));
  out.Word("queue", Number(limits.queue));
  out.Word("request_timeout", cohost::FormatDuration(limits.request_timeout));
  out.Word("connections", Number(limits.connections));
  if (runtime == Runtime::kDotnet) return out.Close();
  out.Word("header_size", FormatBytes(limits.header_size));
  out.Word("body_size", FormatBytes(limits.body_size));
  out.Word("header_timeout", cohost::FormatDuration(limits.header_timeout));
  out.Word("io_timeout", cohost::FormatDuration(limits.io_timeout));
  out.Word("idle_timeout", cohost::FormatDuration(limits.idle_timeout));
  out.Word("memory", FormatBytes(limits.memory));
  out.Close();
}

void WriteHealth(const ServiceHealth& health, YamlWriter& out) {
  out.Open("health");
  if (!health.path.empty()) out.Text("path", health.path);
  out.Word("interval", cohost::FormatDuration(health.interval));
  out.Word("timeout", cohost::FormatDuration(health.timeout));
  out.Close();
}

// What only one of the runtimes has.
void WriteHosted(const Service& service, YamlWriter& out) {
  if (service.runtime == Runtime::kNative) {
    out.Text("module", service.module);
    WriteEntries("data_images", service.data_images, out);
    out.Word("access_log", Boolean(service.access_log));
    return;
  }
  const DotnetService& dotnet = service.dotnet;
  out.Text("app", dotnet.app);
  WriteEntries("environment", dotnet.environment, out);
  out.Texts("arguments", dotnet.arguments);
  out.Texts("persist", dotnet.persist);
  if (!dotnet.data_protection_name.empty()) {
    out.Text("data_protection_name", dotnet.data_protection_name);
  }
  if (dotnet.isolation.has_value()) {
    out.Word("isolation", *dotnet.isolation == Isolation::kSolo ? "solo" : "shared");
  }
  out.Word("share_libraries", Boolean(dotnet.share_libraries));
}

void WriteService(const Service& service, YamlWriter& out) {
  out.OpenItem();
  out.Text("name", service.name);
  if (!service.description.empty()) out.Text("description", service.description);
  out.Word("runtime", service.runtime == Runtime::kDotnet ? "dotnet" : "native");
  WriteHosted(service, out);
  out.Open("listen");
  for (const Address& address : service.listen) WriteAddress(address, out);
  out.Close();
  if (service.group.has_value()) out.Text("group", *service.group);
  WriteLoad(service.load, out);
  WriteLimits(service.limits, service.runtime, out);
  WriteHealth(service.health, out);
  out.Texts("warmup", service.warmup);
  WriteEntries("settings", service.settings, out);
  out.Word("instances", service.instances == Instances::kOne ? "one" : "all");
  out.Word("overlap", Boolean(service.overlap));
  out.Close();
}

}  // namespace

std::string FormatDeployment(const Deployment& deployment) {
  YamlWriter out;
  out.Word("version", "1");
  WriteHost(deployment.host, out);
  WriteGrouping(deployment.grouping, out);
  out.Open("group_defaults");
  WritePolicy(deployment.group_defaults, out);
  out.Close();
  if (!deployment.groups.empty()) {
    out.Open("groups");
    for (const Group& group : deployment.groups) WriteGroup(group, out);
    out.Close();
  }
  if (!deployment.services.empty()) {
    out.Open("services");
    for (const Service& service : deployment.services) WriteService(service, out);
    out.Close();
  }
  return out.text();
}

}  // namespace cohost::supervisor
