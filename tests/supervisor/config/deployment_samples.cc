// SPDX-License-Identifier: Apache-2.0
#include "tests/supervisor/config/deployment_samples.h"

#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"

namespace cohost::supervisor {
namespace {

Address Tcp(const std::string& host, uint16_t port) {
  Address address;
  address.host = host;
  address.port = port;
  const bool v6 = host.find(':') != std::string::npos;
  address.text = absl::StrCat("http://", v6 ? "[" : "", host, v6 ? "]:" : ":", port);
  return address;
}

Address Unix(const std::string& scheme, const std::string& path) {
  Address address;
  address.kind = Address::Kind::kUnix;
  address.path = path;
  address.text = scheme + path;
  return address;
}

GroupPolicy PolicyOfEverything() {
  GroupPolicy policy;
  policy.workers = 3;
  policy.identity = {"nobody", {"daemon", "bin"}};
  policy.limits = {GiB(1), 1.5, 256, 4096};
  policy.drain_timeout = absl::Seconds(45);
  policy.stop_timeout = absl::Seconds(3);
  policy.health_interval = absl::Milliseconds(7500);
  policy.start_timeout = absl::Minutes(2);
  policy.log_size = MiB(1);
  policy.log_files = 2;
  policy.signatures_from = {"no", "release"};
  policy.dotnet = {DotnetProfile::kThroughput,
                   GarbageCollector::kServer,
                   /*concurrent=*/true,
                   /*tiered_pgo=*/true,
                   /*write_xor_execute=*/true,
                   MiB(16),
                   5,
                   MiB(384),
                   /*invariant_globalization=*/true,
                   LibrarySharing::kListed,
                   {"Acme.*", "Serilog/4.3"}};
  return policy;
}

// The fixture has it in the same folder.
std::string AppBeside(const std::string& module) {
  return absl::StrCat(module.substr(0, module.rfind('/') + 1), "App.dll");
}

Service ServiceOfEverything(const std::string& module) {
  Service service;
  service.name = "0755";
  service.description = "What the \"shop\" sells: caf\xc3\xa9s \\ #1";
  service.module = module;
  service.data_images = {{"no", module}, {"1e3", module}};
  Address socket = Unix("http+unix:", "/run/shop/catalog.sock");
  socket.mode = 0660;
  socket.owner = "nobody";
  socket.backlog = 128;
  Address tcp = Tcp("127.0.0.1", 8101);
  tcp.backlog = 5;
  service.listen = {socket, tcp, Tcp("::1", 0)};
  service.group = "no";
  service.load = {LoadClass::kBursty, 40.25, 0.05, MiB(8),
                  HoursOfDay{TimeOfDay{9 * 60}, TimeOfDay{18 * 60 + 30}}};
  service.limits = {32,
                    512,
                    absl::Seconds(20),
                    100,
                    KiB(8),
                    MiB(1),
                    absl::Seconds(5),
                    absl::Milliseconds(1500),
                    absl::Hours(23),
                    MiB(32)};
  service.health = {"/healthz?a=b", absl::Seconds(10), absl::Seconds(2)};
  service.warmup = {"/", "/items/1"};
  service.settings = {{"zip", "01234"},
                      {"db:password", "${file:/etc/shop/db.secret}"},
                      {"hosts:1", "b"},
                      {"hosts:0", ""},
                      {"key:", "several\nlines\n"}};
  service.instances = Instances::kOne;
  service.overlap = false;
  service.access_log = true;
  return service;
}

Service DotnetServiceOfEverything(const std::string& module) {
  Service service = ServiceOfEverything(module);
  service.name = "orders";
  service.runtime = Runtime::kDotnet;
  service.module.clear();
  service.data_images.clear();
  service.access_log = false;
  service.dotnet = {AppBeside(module),
                    {{"ASPNETCORE_ENVIRONMENT", "${env:STAGE}"}, {"EMPTY", ""}, {"no", "a\nb"}},
                    {"--verbose", "no"},
                    {"app.db", "uploads/**"},
                    "/srv/orders/",
                    Isolation::kShared,
                    /*share_libraries=*/false};
  service.listen[0].path = "/run/shop/orders.sock";
  service.listen[0].text = "http+unix:/run/shop/orders.sock";
  service.listen[0].endpoint = "Grpc";
  service.listen.resize(1);
  ServiceLimits limits;
  limits.request_timeout = absl::Seconds(20);
  limits.concurrency = 32;
  limits.queue = 512;
  limits.connections = 100;
  service.limits = limits;
  service.instances = Instances::kAll;
  return service;
}

}  // namespace

Deployment DeploymentOfEverything(const std::string& module) {
  Deployment deployment;
  deployment.host = {"/run/cohost-example",
                     "/var/lib/cohost-example",
                     Unix("unix:", "/run/elsewhere/admin.sock"),
                     Tcp("127.0.0.1", 9464),
                     {{"no", module}, {"release", module}},
                     "/opt/dotnet",
                     Precompilation::kPresent,
                     "/opt/crossgen2/tools"};
  deployment.grouping = {Strategy::kLoadProfile, 20, MiB(512), 2.5};
  deployment.group_defaults = PolicyOfEverything();
  deployment.group_defaults.workers = 2;
  Group group{"no", {LoadClass::kSteady, LoadClass::kIdle}, PolicyOfEverything()};
  // Without the further groups of users, and without the keys, that the defaults have.
  Group other{"other", {}, PolicyOfEverything()};
  other.policy.identity.supplementary_groups.clear();
  other.policy.signatures_from.clear();
  deployment.groups = {group, other};
  deployment.services = {ServiceOfEverything(module), DotnetServiceOfEverything(module)};
  return deployment;
}

uint64_t RandomDeployments::Number(uint64_t least, uint64_t most) {
  return least + random_() % (most - least + 1);
}

double RandomDeployments::Fraction(double most) {
  switch (Number(0, 3)) {
    case 0:
      return 0;
    case 1:
      return most;
    case 2:
      return static_cast<double>(Number(1, 1000)) / 1e300;
    default:
      return most * (static_cast<double>(random_() >> 11) / 9007199254740992.0);
  }
}

absl::Duration RandomDeployments::Time(absl::Duration least, absl::Duration most) {
  return absl::Microseconds(
      static_cast<int64_t>(Number(static_cast<uint64_t>(absl::ToInt64Microseconds(least)),
                                  static_cast<uint64_t>(absl::ToInt64Microseconds(most)))));
}

std::string RandomDeployments::Text() {
  using namespace std::string_view_literals;
  constexpr std::array kPieces = {"\n"sv,         "\r"sv,
                                  "\t"sv,         "\0"sv,
                                  "\x1b"sv,       "\x7f"sv,
                                  "\""sv,         "\\"sv,
                                  "'"sv,          "#"sv,
                                  ": "sv,         ":"sv,
                                  "- "sv,         "? "sv,
                                  "<<"sv,         "~"sv,
                                  "null"sv,       "no"sv,
                                  "0755"sv,       "1e3"sv,
                                  " "sv,          "  "sv,
                                  "{"sv,          "]"sv,
                                  "%"sv,          "&a"sv,
                                  "*a"sv,         "!t"sv,
                                  "$${"sv,        "${env:HOME}"sv,
                                  "\xc2\x85"sv,   "\u2028"sv,
                                  "\ufeff"sv,     "\xef\xbf\xbe"sv,
                                  "\U0001f600"sv, "\u00fc"sv,
                                  "a"sv,          "---"sv,
                                  "..."sv,        "|"sv};
  std::string text;
  for (uint64_t i = Number(0, 12); i > 0; --i) text += kPieces[Number(0, kPieces.size() - 1)];
  return text;
}

std::string RandomDeployments::Line() {
  std::string line;
  for (const char c : Text()) {
    if (static_cast<unsigned char>(c) >= ' ' && c != 0x7f) line += c;
  }
  return line;
}

LoadClass RandomDeployments::Class() {
  constexpr std::array kClasses = {LoadClass::kLatency, LoadClass::kSteady, LoadClass::kBursty,
                                   LoadClass::kBatch, LoadClass::kIdle};
  return kClasses[Number(0, kClasses.size() - 1)];
}

// Its limits hold every service.
GroupPolicy RandomDeployments::Policy() {
  GroupPolicy policy;
  policy.workers = static_cast<uint32_t>(Number(1, 256));
  if (Coin()) policy.identity.supplementary_groups = {"daemon", "bin"};
  policy.limits.memory = Bytes{Coin() ? 0 : Number(MiB(128).count, GiB(16384).count)};
  policy.limits.cpu = Coin() ? 0 : 1 + Fraction(1000);
  policy.limits.tasks = static_cast<uint32_t>(Number(0, 1'000'000));
  policy.limits.open_files = static_cast<uint32_t>(Number(256, 1'048'576));
  policy.drain_timeout = Time(absl::ZeroDuration(), absl::Hours(1));
  policy.stop_timeout = Time(absl::Milliseconds(100), absl::Hours(1));
  policy.health_interval = Time(absl::Milliseconds(100), absl::Hours(1));
  policy.start_timeout = Time(absl::Milliseconds(100), absl::Hours(1));
  policy.log_size = Bytes{Number(KiB(64).count, GiB(1024).count)};
  policy.log_files = static_cast<uint32_t>(Number(1, 1000));
  if (Coin()) policy.signatures_from = {"1e3", "null"};
  if (Coin()) policy.dotnet = DotnetPolicy::Of(DotnetProfile::kThroughput);
  policy.dotnet.concurrent = Coin();
  policy.dotnet.gen0_size = Bytes{Number(0, GiB(1).count)};
  const uint64_t most = policy.limits.memory.count;
  policy.dotnet.heap_limit = Bytes{Number(0, most == 0 ? GiB(16384).count : most - 1)};
  return policy;
}

Address RandomDeployments::Listen(size_t index) {
  constexpr std::array kHosts = {"127.0.0.1", "::1", "0.0.0.0", "::", "2001:db8::1"};
  Address address;
  if (Coin()) {
    address = Tcp(kHosts[Number(0, kHosts.size() - 1)], static_cast<uint16_t>(10'000 + index));
  } else {
    address = Unix("http+unix:", absl::StrCat(Coin() ? "/" : "", "/run/", index, "-", Line()));
    if (address.path.size() > 107) address = Unix("http+unix:", absl::StrCat("/run/", index));
    address.mode = static_cast<mode_t>(Number(0, 0777));
    if (Coin()) address.owner = "nobody";
  }
  address.backlog = static_cast<int>(Number(1, 65'535));
  return address;
}

void RandomDeployments::MakeDotnet(Service& service) {
  service.runtime = Runtime::kDotnet;
  service.module.clear();
  service.data_images.clear();
  service.access_log = false;
  const ServiceLimits limits = service.limits;
  service.limits = {};
  service.limits.concurrency = limits.concurrency;
  service.limits.queue = limits.queue;
  service.limits.connections = limits.connections;
  service.limits.request_timeout = Coin() ? absl::ZeroDuration() : limits.request_timeout;
  service.dotnet.app = AppBeside(module_);
  service.dotnet.environment = {{"null", "~"}, {"A", "x\n"}};
  if (Coin()) service.dotnet.arguments = {"--", "null", "a: b"};
  if (Coin()) service.dotnet.persist = {"*.db"};
  if (Coin()) service.dotnet.data_protection_name = "no";
  if (Coin()) service.dotnet.isolation = Isolation::kShared;
  service.dotnet.share_libraries = Coin();
  if (Coin()) service.listen[0].endpoint = "1e3";
}

Service RandomDeployments::NextService(size_t index) {
  Service service;
  service.name = absl::StrCat(Coin() ? "no" : "0", index);
  service.description = Line();
  service.module = module_;
  if (Coin()) service.data_images = {{"null", module_}, {"0x1F", module_}};
  service.listen = {Listen(2 * index), Listen(2 * index + 1)};
  service.load = {Class(), Fraction(10'000'000), Fraction(1), Bytes{Number(0, MiB(64).count)}, {}};
  if (Coin()) {
    service.load.peak = HoursOfDay{TimeOfDay{static_cast<int>(Number(0, 1439))},
                                   TimeOfDay{static_cast<int>(Number(0, 1439))}};
  }
  service.limits = {static_cast<uint32_t>(Number(1, 65'536)),
                    static_cast<uint32_t>(Number(0, 65'536)),
                    Time(absl::Milliseconds(1), absl::Hours(24)),
                    static_cast<uint32_t>(Number(1, 65'536)),
                    Bytes{Number(256, MiB(1).count)},
                    Bytes{Number(0, GiB(1024).count)},
                    Time(absl::Milliseconds(1), absl::Hours(1)),
                    Time(absl::Milliseconds(1), absl::Hours(1)),
                    Time(absl::Milliseconds(1), absl::Hours(24)),
                    Bytes{Number(0, MiB(64).count)}};
  service.health = {Coin() ? "/h?\"#\\'" : "", Time(absl::Milliseconds(100), absl::Hours(1)),
                    Time(absl::Milliseconds(1), absl::Hours(1))};
  if (Coin()) service.warmup = {"/", "/a:b", "/~null"};
  std::map<std::string, std::string> settings;
  for (uint64_t i = Number(0, 8); i > 0; --i) settings.emplace(Text(), Text());
  settings.erase("");
  service.settings.assign(settings.rbegin(), settings.rend());
  service.instances = Coin() ? Instances::kOne : Instances::kAll;
  service.overlap = Coin();
  service.access_log = Coin();
  if (Number(0, 3) == 0) MakeDotnet(service);
  return service;
}

Deployment RandomDeployments::Next() {
  Deployment deployment;
  deployment.host.runtime_dir = Coin() ? "/" : absl::StrCat("/run/", "x", Line());
  deployment.host.state_dir = absl::StrCat("/s", Line());
  deployment.host.admin = Unix("unix:", Coin() ? "//admin.sock" : "/run/admin.sock");
  if (Coin()) deployment.host.metrics = Tcp("::1", 9464);
  deployment.host.signing_keys = {{"1e3", module_}, {"null", module_}};
  if (Coin()) deployment.host.precompilation = Precompilation::kOff;
  if (Coin()) deployment.host.crossgen = absl::StrCat("/c", Line());
  deployment.grouping = {Strategy::kLoadProfile, static_cast<uint32_t>(Number(1, 1000)),
                         Bytes{Number(MiB(64).count, MiB(128).count)}, 1 + Fraction(1000)};
  deployment.group_defaults = Policy();
  const bool declared = Coin();
  if (declared) deployment.grouping.strategy = Strategy::kDeclared;
  Group group{"1e3", {}, Policy()};
  if (!declared && Coin()) group.match = {Class()};
  deployment.groups = {group};
  for (uint64_t i = Number(0, 3); i > 0; --i) {
    Service service = NextService(deployment.services.size());
    if (declared) {
      service.group = "1e3";
      // Not latency beside batch.
      service.load.load_class = LoadClass::kIdle;
    }
    deployment.services.push_back(std::move(service));
  }
  return deployment;
}

}  // namespace cohost::supervisor
