// SPDX-License-Identifier: Apache-2.0
#include "supervisor/dotnet/reviewed_libraries.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>

#include "absl/strings/match.h"
#include "base/strings.h"

namespace cohost::supervisor {
namespace {

// What is said to be each application's own is made so by the shim: managed/Sharing has a file for
// each.
constexpr std::string_view kEntityFramework =
    "its statics are constants, counters for metrics of all applications together, and a cache of "
    "service providers, of which each application has its own";
constexpr std::string_view kSqliteNative =
    "its statics hold what calls the native library, the same for all who have the same one";
constexpr std::string_view kSqliteFamily = "SQLitePCLRaw.";

constexpr ReviewedLibrary kReviewed[] = {
    {"Microsoft.EntityFrameworkCore", "10.0.0", "10.1", kEntityFramework},
    {"Microsoft.EntityFrameworkCore.Abstractions", "10.0.0", "10.1",
     "it has attributes and interfaces and no statics"},
    {"Microsoft.EntityFrameworkCore.Relational", "10.0.0", "10.1",
     "its statics are constants and locks"},
    {"Microsoft.EntityFrameworkCore.Sqlite", "10.0.0", "10.1",
     "its statics are constants, and whether SpatiaLite was looked for",
     "Microsoft.Extensions.DependencyModel"},
    {"Microsoft.Data.Sqlite", "10.0.0", "10.1",
     "its statics are constants and pools of connections, of which each application has its own"},
    {"SQLitePCLRaw.core", "2.1.11", "2.2", kSqliteNative, "", kSqliteFamily},
    {"SQLitePCLRaw.provider.e_sqlite3", "2.1.11", "2.2", kSqliteNative, "", kSqliteFamily},
    {"SQLitePCLRaw.batteries_v2", "2.1.11", "2.2", "it has no statics", "", kSqliteFamily},
};

constexpr TiedLibrary kTied[] = {
    {"Microsoft.Data.Sqlite",
     "it pools connections by connection string, and this version's pools cannot be told apart: "
     "two "
     "applications with `Data Source=app.db` would get each other's database"},
    {"Microsoft.Extensions.DependencyModel",
     "DependencyContext.Default is what the first application has"},
    {"Npgsql", "it pools connections by connection string, with what was set on them"},
    {"MySqlConnector", "it pools connections by connection string, with what was set on them"},
    {"Prometheus.NetStandard", "its default registry is one for all: metrics of all applications"},
    {"OpenTelemetry.Api", "its default propagator is one for all"},
};

// Up to three numbers; nothing for another form, as between two releases.
std::optional<std::array<uint32_t, 3>> NumbersOf(std::string_view version) {
  std::array<uint32_t, 3> numbers = {};
  const char* at = version.data();
  const char* const end = at + version.size();
  for (size_t i = 0; i < numbers.size(); ++i) {
    const auto [next, error] = std::from_chars(at, end, numbers[i]);
    if (error != std::errc()) return std::nullopt;
    at = next;
    if (at == end) return numbers;
    if (*at != '.') return std::nullopt;
    ++at;
  }
  return std::nullopt;
}

template <typename Library, size_t count>
const Library* Find(const Library (&libraries)[count], std::string_view name) {
  const auto found =
      std::find_if(std::begin(libraries), std::end(libraries), [&](const Library& library) {
        return absl::EqualsIgnoreCase(AsAbsl(library.name), AsAbsl(name));
      });
  return found == std::end(libraries) ? nullptr : found;
}

}  // namespace

std::span<const ReviewedLibrary> ReviewedLibraries() { return kReviewed; }

std::span<const TiedLibrary> TiedLibraries() { return kTied; }

const ReviewedLibrary* FindReviewed(std::string_view name) { return Find(kReviewed, name); }

const TiedLibrary* FindTied(std::string_view name) { return Find(kTied, name); }

bool WasRead(const ReviewedLibrary& library, std::string_view package_version) {
  const auto version = NumbersOf(package_version);
  return version && *version >= *NumbersOf(library.first) && *version < *NumbersOf(library.below);
}

}  // namespace cohost::supervisor
