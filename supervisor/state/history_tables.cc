// SPDX-License-Identifier: Apache-2.0
#include "supervisor/state/history_tables.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"

namespace cohost::supervisor {

namespace {

constexpr size_t kHashLength = 64;

int64_t Micros(absl::Time time) { return absl::ToUnixMicros(time); }

SqlValue OrNull(const std::optional<uid_t>& uid) {
  if (!uid.has_value()) return std::monostate();
  return static_cast<int64_t>(*uid);
}

std::optional<uid_t> Uid(const SqlRow& row, int column) {
  if (row.IsNull(column)) return std::nullopt;
  return static_cast<uid_t>(row.Integer(column));
}

// SQLite's integers are signed; the bits stay.
int64_t Signed(uint64_t number) { return static_cast<int64_t>(number); }
uint64_t Unsigned(int64_t number) { return static_cast<uint64_t>(number); }

std::string FormatImages(const std::map<std::string, std::string>& images) {
  std::string text;
  for (const auto& [name, hash] : images) absl::StrAppend(&text, hash, " ", name, "\n");
  return text;
}

std::map<std::string, std::string> ParseImages(const std::string& text) {
  std::map<std::string, std::string> images;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    if (line.size() <= kHashLength + 1 || line[kHashLength] != ' ') continue;
    images.emplace(line.substr(kHashLength + 1), line.substr(0, kHashLength));
  }
  return images;
}

// service, revision, fingerprint, module, images, source, action, time, uid
ServiceChange ReadChange(const SqlRow& row) {
  ServiceChange change;
  change.service = row.Text(0);
  change.revision = Unsigned(row.Integer(1));
  change.fingerprint = Unsigned(row.Integer(2));
  change.files = {row.Text(3), ParseImages(row.Text(4))};
  change.source = row.Text(5);
  change.action = ParseChangeAction(row.Text(6)).value_or(ChangeAction::kStart);
  change.time = absl::FromUnixMicros(row.Integer(7));
  change.uid = Uid(row, 8);
  return change;
}

// revision, applied, uid, action, summary
StateRevision ReadRevision(const SqlRow& row) {
  StateRevision revision;
  revision.revision = Unsigned(row.Integer(0));
  revision.applied = absl::FromUnixMicros(row.Integer(1));
  revision.uid = Uid(row, 2);
  revision.action = ParseChangeAction(row.Text(3)).value_or(ChangeAction::kReload);
  revision.summary = row.Text(4);
  return revision;
}

int64_t Limit(size_t limit) { return static_cast<int64_t>(std::min<size_t>(limit, INT64_MAX)); }

}  // namespace

const char HistoryTables::kTables[] =
    "CREATE TABLE IF NOT EXISTS revisions("
    "  revision INTEGER PRIMARY KEY, deployment TEXT, applied INTEGER, uid INTEGER);"
    "CREATE TABLE IF NOT EXISTS revision_notes("
    "  revision INTEGER PRIMARY KEY, action TEXT, summary TEXT);"
    "CREATE TABLE IF NOT EXISTS service_changes("
    "  service TEXT, revision INTEGER, fingerprint INTEGER, module TEXT, images TEXT,"
    "  source TEXT, action TEXT, time INTEGER, uid INTEGER,"
    "  PRIMARY KEY(service, revision)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS pins("
    "  service TEXT PRIMARY KEY, replaced INTEGER, revision INTEGER) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS modules("
    "  hash TEXT PRIMARY KEY, kind TEXT, size INTEGER, source TEXT, published INTEGER,"
    "  uid INTEGER) WITHOUT ROWID;";

absl::Status HistoryTables::Load(StateSnapshot& snapshot) {
  COHOST_RETURN_IF_ERROR(sqlite_.Query(
      "SELECT r.revision, applied, uid, action, summary, deployment FROM revisions r"
      " LEFT JOIN revision_notes n ON n.revision = r.revision ORDER BY r.revision DESC LIMIT 1",
      {}, [&](const SqlRow& row) {
        snapshot.revision = ReadRevision(row);
        snapshot.revision->deployment = row.Text(5);
      }));
  COHOST_RETURN_IF_ERROR(LoadServices(snapshot));
  return sqlite_.Query("SELECT service, replaced, revision FROM pins", {}, [&](const SqlRow& row) {
    snapshot.pins[row.Text(0)] = {Unsigned(row.Integer(1)), Unsigned(row.Integer(2))};
  });
}

absl::Status HistoryTables::LoadServices(StateSnapshot& snapshot) {
  if (!snapshot.revision) return absl::OkStatus();
  bool noted = false;
  COHOST_RETURN_IF_ERROR(sqlite_.Query("SELECT 1 FROM revision_notes WHERE revision = ?",
                                       {Signed(snapshot.revision->revision)},
                                       [&](const SqlRow&) { noted = true; }));
  // A revision without a note was written by an older version, which told nothing of the services:
  // what is known of them may be from before it.
  if (!noted) return absl::OkStatus();
  COHOST_ASSIGN_OR_RETURN(snapshot.services, ChangesAt(snapshot.revision->revision));
  return absl::OkStatus();
}

absl::Status HistoryTables::WriteRevision(const StateRevision& revision, size_t keep) {
  COHOST_RETURN_IF_ERROR(sqlite_.Run(
      "INSERT OR REPLACE INTO revisions(revision, deployment, applied, uid) VALUES(?, ?, ?, ?)",
      {Signed(revision.revision), std::string_view(revision.deployment), Micros(revision.applied),
       OrNull(revision.uid)}));
  COHOST_RETURN_IF_ERROR(sqlite_.Run(
      "INSERT OR REPLACE INTO revision_notes(revision, action, summary) VALUES(?, ?, ?)",
      {Signed(revision.revision), Name(revision.action), std::string_view(revision.summary)}));
  COHOST_RETURN_IF_ERROR(
      sqlite_.Run("DELETE FROM revisions WHERE revision NOT IN"
                  " (SELECT revision FROM revisions ORDER BY revision DESC LIMIT ?)",
                  {Limit(keep)}));
  return sqlite_.Run(
      "DELETE FROM revision_notes WHERE revision NOT IN (SELECT revision FROM revisions)");
}

absl::Status HistoryTables::WriteServiceChange(const ServiceChange& change) {
  const std::string images = FormatImages(change.files.data_images);
  COHOST_RETURN_IF_ERROR(
      sqlite_.Run("INSERT OR REPLACE INTO service_changes(service, revision, fingerprint, module,"
                  " images, source, action, time, uid) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)",
                  {std::string_view(change.service), Signed(change.revision),
                   Signed(change.fingerprint), std::string_view(change.files.module),
                   std::string_view(images), std::string_view(change.source), Name(change.action),
                   Micros(change.time), OrNull(change.uid)}));
  return sqlite_.Run(
      "DELETE FROM service_changes WHERE service = ?1 AND revision <="
      " (SELECT revision FROM service_changes WHERE service = ?1"
      "  ORDER BY revision DESC LIMIT 1 OFFSET ?2)",
      {std::string_view(change.service), Limit(kKeptChanges)});
}

absl::Status HistoryTables::ForgetRemoved(absl::Time now) {
  return sqlite_.Run(
      "DELETE FROM service_changes WHERE service IN"
      " (SELECT service FROM service_changes c WHERE module = '' AND time < ? AND revision ="
      "   (SELECT max(revision) FROM service_changes WHERE service = c.service))",
      {Micros(now - kKeepRemoved)});
}

absl::Status HistoryTables::WritePins(const std::map<std::string, ServicePin>& pins) {
  COHOST_RETURN_IF_ERROR(sqlite_.Run("DELETE FROM pins"));
  for (const auto& [service, pin] : pins) {
    COHOST_RETURN_IF_ERROR(
        sqlite_.Run("INSERT INTO pins(service, replaced, revision) VALUES(?, ?, ?)",
                    {std::string_view(service), Signed(pin.replaced), Signed(pin.revision)}));
  }
  return absl::OkStatus();
}

absl::Status HistoryTables::WriteModules(const std::vector<ModuleRecord>& modules) {
  for (const ModuleRecord& module : modules) {
    COHOST_RETURN_IF_ERROR(sqlite_.Run(
        "INSERT OR IGNORE INTO modules(hash, kind, size, source, published, uid)"
        " VALUES(?, ?, ?, ?, ?, ?)",
        {std::string_view(module.hash), std::string_view(module.kind), Signed(module.size),
         std::string_view(module.source), Micros(module.published), OrNull(module.uid)}));
  }
  return absl::OkStatus();
}

absl::Status HistoryTables::EraseModules(const std::set<std::string>& hashes) {
  for (const std::string& hash : hashes) {
    COHOST_RETURN_IF_ERROR(
        sqlite_.Run("DELETE FROM modules WHERE hash = ?", {std::string_view(hash)}));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<StateRevision>> HistoryTables::Revisions(size_t limit) {
  std::vector<StateRevision> revisions;
  COHOST_RETURN_IF_ERROR(sqlite_.Query(
      "SELECT r.revision, applied, uid, action, summary FROM revisions r"
      " LEFT JOIN revision_notes n ON n.revision = r.revision ORDER BY r.revision DESC LIMIT ?",
      {Limit(limit)}, [&](const SqlRow& row) { revisions.push_back(ReadRevision(row)); }));
  return revisions;
}

absl::StatusOr<StateRevision> HistoryTables::Revision(uint64_t revision) {
  std::optional<StateRevision> found;
  COHOST_RETURN_IF_ERROR(
      sqlite_.Query("SELECT r.revision, applied, uid, action, summary, deployment FROM revisions r"
                    " LEFT JOIN revision_notes n ON n.revision = r.revision WHERE r.revision = ?",
                    {Signed(revision)}, [&](const SqlRow& row) {
                      found = ReadRevision(row);
                      found->deployment = row.Text(5);
                    }));
  if (!found) {
    return absl::NotFoundError(absl::StrCat(
        "revision ", revision, " is not kept: `cohostctl history` shows those that are"));
  }
  return *std::move(found);
}

absl::StatusOr<std::vector<ServiceChange>> HistoryTables::Changes(const std::string& service,
                                                                  size_t limit) {
  std::vector<ServiceChange> changes;
  COHOST_RETURN_IF_ERROR(sqlite_.Query(
      "SELECT service, revision, fingerprint, module, images, source, action, time, uid"
      " FROM service_changes WHERE service = ? ORDER BY revision DESC LIMIT ?",
      {std::string_view(service), Limit(limit)},
      [&](const SqlRow& row) { changes.push_back(ReadChange(row)); }));
  return changes;
}

absl::StatusOr<std::map<std::string, ServiceChange>> HistoryTables::ChangesAt(uint64_t revision) {
  std::map<std::string, ServiceChange> changes;
  COHOST_RETURN_IF_ERROR(sqlite_.Query(
      "SELECT service, revision, fingerprint, module, images, source, action, time, uid"
      " FROM service_changes WHERE revision <= ? ORDER BY revision",
      {Signed(revision)}, [&](const SqlRow& row) {
        ServiceChange change = ReadChange(row);
        changes.insert_or_assign(change.service, std::move(change));
      }));
  std::erase_if(changes, [](const auto& change) { return change.second.files.module.empty(); });
  return changes;
}

absl::StatusOr<std::set<std::string>> HistoryTables::Hashes() {
  std::set<std::string> hashes;
  COHOST_RETURN_IF_ERROR(
      sqlite_.Query("SELECT module, images FROM service_changes", {}, [&](const SqlRow& row) {
        hashes.insert(row.Text(0));
        for (const auto& [name, hash] : ParseImages(row.Text(1))) hashes.insert(hash);
      }));
  hashes.erase("");
  return hashes;
}

absl::StatusOr<std::map<std::string, ModuleRecord>> HistoryTables::Modules() {
  std::map<std::string, ModuleRecord> modules;
  COHOST_RETURN_IF_ERROR(sqlite_.Query(
      "SELECT hash, kind, size, source, published, uid FROM modules", {}, [&](const SqlRow& row) {
        const std::string hash = row.Text(0);
        modules[hash] = {hash,
                         row.Text(1),
                         Unsigned(row.Integer(2)),
                         row.Text(3),
                         absl::FromUnixMicros(row.Integer(4)),
                         Uid(row, 5)};
      }));
  return modules;
}

}  // namespace cohost::supervisor
