// SPDX-License-Identifier: Apache-2.0
#include "supervisor/state/state_file.h"

#include <sys/random.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/system/file.h"

namespace cohost::supervisor {

namespace {

std::string NewInstance() {
  unsigned char bytes[16] = {};
  // Up to 256 bytes come whole once the kernel's pool is ready, which it is long before this runs;
  // an instance of zeros would still only be a weaker name.
  if (::getrandom(bytes, sizeof bytes, 0) < 0) return std::string(2 * sizeof bytes, '0');
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(bytes), sizeof bytes));
}

bool Exists(const std::string& path) {
  struct stat status;
  return ::lstat(path.c_str(), &status) == 0;
}

// The new name. SQLite's side files go with it: they belong to it, and would be taken for those of
// the next database.
absl::StatusOr<std::string> SetAside(const std::string& path) {
  const std::string time = absl::FormatTime("%Y%m%dT%H%M%SZ", absl::Now(), absl::UTCTimeZone());
  std::string aside = absl::StrCat(path, ".damaged-", time);
  for (int i = 2; Exists(aside); ++i) aside = absl::StrCat(path, ".damaged-", time, "-", i);
  for (const char* suffix : {"-wal", "-shm", "-journal", ""}) {
    const std::string from = path + suffix;
    if (::rename(from.c_str(), (aside + suffix).c_str()) != 0 && errno != ENOENT) {
      return ErrnoStatus(errno, "rename", from);
    }
  }
  COHOST_RETURN_IF_ERROR(SyncFolder(std::filesystem::path(path).parent_path()));
  return aside;
}

absl::StatusOr<OpenedDatabase> OpenWith(const std::string& path, const StateSnapshot* content) {
  OpenedDatabase opened;
  COHOST_ASSIGN_OR_RETURN(opened.database, Database::Open(path));
  if (content != nullptr) COHOST_RETURN_IF_ERROR(WriteSnapshot(*opened.database, *content));
  COHOST_ASSIGN_OR_RETURN(opened.snapshot, opened.database->Load());
  if (opened.snapshot.instance.empty()) {
    opened.snapshot.instance = NewInstance();
    COHOST_RETURN_IF_ERROR(opened.database->Begin(/*durable=*/false));
    COHOST_RETURN_IF_ERROR(opened.database->WriteInstance(opened.snapshot.instance));
    COHOST_RETURN_IF_ERROR(opened.database->Commit());
  }
  return opened;
}

OpenedDatabase InMemory(const StateSnapshot& content) {
  auto opened = OpenWith("", &content);
  if (opened.ok()) return *std::move(opened);
  // Only without memory; State works without a database and says what it could not keep.
  return OpenedDatabase{nullptr, content, {std::string(opened.status().message())}};
}

bool IsDamage(const absl::Status& status) {
  return absl::IsDataLoss(status) || absl::IsFailedPrecondition(status);
}

OpenedDatabase WithoutFile(const std::string& path, const StateSnapshot& content,
                           const absl::Status& why) {
  OpenedDatabase opened = InMemory(content);
  opened.notices.push_back(absl::StrCat("state file '", path,
                                        "' cannot be used, so operators' stops, placement and "
                                        "events are lost when the supervisor ends: ",
                                        why.message()));
  return opened;
}

}  // namespace

OpenedDatabase OpenStateFile(const std::string& path) {
  auto opened = OpenWith(path, nullptr);
  if (opened.ok()) return *std::move(opened);
  StateSnapshot fresh;
  fresh.instance = NewInstance();
  fresh.next_event_id =
      static_cast<uint64_t>(std::max<int64_t>(absl::ToUnixMillis(absl::Now()), 1));
  fresh.service_ids.next = fresh.next_event_id;
  if (!IsDamage(opened.status())) return WithoutFile(path, fresh, opened.status());
  return ReplaceStateFile(path, fresh, opened.status());
}

OpenedDatabase ReplaceStateFile(const std::string& path, const StateSnapshot& known,
                                const absl::Status& why) {
  const auto aside = SetAside(path);
  if (!aside.ok()) return WithoutFile(path, known, aside.status());
  auto opened = OpenWith(path, &known);
  if (!opened.ok()) return WithoutFile(path, known, opened.status());
  opened->notices.push_back(absl::StrCat("state file '", path, "' was set aside as '", *aside,
                                         "' and a new one made: ", why.message()));
  return *std::move(opened);
}

absl::Status WriteSnapshot(Database& database, const StateSnapshot& snapshot) {
  COHOST_RETURN_IF_ERROR(database.Begin(/*durable=*/true));
  COHOST_RETURN_IF_ERROR(database.WriteInstance(snapshot.instance));
  if (snapshot.revision.has_value()) {
    COHOST_RETURN_IF_ERROR(database.history().WriteRevision(*snapshot.revision, 1));
  }
  for (const auto& [name, change] : snapshot.services) {
    COHOST_RETURN_IF_ERROR(database.history().WriteServiceChange(change));
  }
  COHOST_RETURN_IF_ERROR(database.history().WritePins(snapshot.pins));
  COHOST_RETURN_IF_ERROR(database.WritePlacement(snapshot.placement));
  COHOST_RETURN_IF_ERROR(database.WriteServiceIds(snapshot.service_ids));
  for (const auto& [service, stop] : snapshot.operator_stops) {
    COHOST_RETURN_IF_ERROR(database.WriteOperatorStop(service, stop));
  }
  COHOST_RETURN_IF_ERROR(database.WriteNextEventId(snapshot.next_event_id));
  return database.Commit();
}

}  // namespace cohost::supervisor
