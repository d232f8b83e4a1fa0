// SPDX-License-Identifier: Apache-2.0
#include "supervisor/state/sqlite.h"

#include <sqlite3.h>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/strings.h"

namespace cohost::supervisor {

namespace {

constexpr int kBusyMilliseconds = 1000;
// Longest text or row: a deployment is at most a few MiB, a longer one is a damaged length.
constexpr int kMostBytes = 64 << 20;

absl::StatusCode CodeOf(int code) {
  switch (code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    // Our statements are constant: these mean a schema or content that is not ours.
    case SQLITE_ERROR:
    case SQLITE_MISMATCH:
    case SQLITE_SCHEMA:
    case SQLITE_TOOBIG:
    case SQLITE_CONSTRAINT:
      return absl::StatusCode::kDataLoss;
    case SQLITE_FULL:
    case SQLITE_NOMEM:
      return absl::StatusCode::kResourceExhausted;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::StatusCode::kUnavailable;
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return absl::StatusCode::kPermissionDenied;
    default:
      return absl::StatusCode::kInternal;
  }
}

int Bind(sqlite3_stmt* statement, int index, const SqlValue& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) {
    return sqlite3_bind_int64(statement, index, *number);
  }
  if (const auto* text = std::get_if<std::string_view>(&value)) {
    // A null pointer would bind NULL instead of an empty text.
    const char* data = text->data() == nullptr ? "" : text->data();
    return sqlite3_bind_text64(statement, index, data, text->size(), SQLITE_STATIC, SQLITE_UTF8);
  }
  return sqlite3_bind_null(statement, index);
}

}  // namespace

bool SqlRow::IsNull(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

int64_t SqlRow::Integer(int column) const { return sqlite3_column_int64(statement_, column); }

std::string SqlRow::Text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (text == nullptr) return "";
  return std::string(text, static_cast<size_t>(sqlite3_column_bytes(statement_, column)));
}

void Sqlite::Closer::operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }

void Sqlite::Closer::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

absl::StatusOr<Sqlite> Sqlite::Open(const std::string& path) {
  sqlite3* connection = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  const int code =
      sqlite3_open_v2(path.empty() ? ":memory:" : path.c_str(), &connection, flags, nullptr);
  Sqlite sqlite(connection);  // SQLite gives a connection to close also when it fails
  if (code != SQLITE_OK) return sqlite.Failure(code, "open");
  sqlite3_extended_result_codes(connection, 1);
  sqlite3_busy_timeout(connection, kBusyMilliseconds);
  sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, kMostBytes);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  // A quarter MiB of cache: the file is read once at start, then only written.
  COHOST_RETURN_IF_ERROR(sqlite.Script(
      "PRAGMA cache_size = -256; PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY;"));
  return sqlite;
}

absl::Status Sqlite::Run(const char* sql, std::initializer_list<SqlValue> values) {
  return Query(sql, values, [](const SqlRow&) {});
}

absl::Status Sqlite::Query(const char* sql, std::initializer_list<SqlValue> values,
                           const std::function<void(const SqlRow&)>& row) {
  COHOST_ASSIGN_OR_RETURN(sqlite3_stmt * statement, Prepared(sql));
  int code = SQLITE_OK;
  int index = 0;
  for (const SqlValue& value : values) {
    code = Bind(statement, ++index, value);
    if (code != SQLITE_OK) break;
  }
  if (code == SQLITE_OK) {
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) row(SqlRow(statement));
  }
  absl::Status status = absl::OkStatus();
  if (code != SQLITE_DONE) status = Failure(code, sql);
  // Ignoring its result: it repeats the error of the step.
  (void)sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
  return status;
}

absl::Status Sqlite::Script(const char* sql) {
  const int code = sqlite3_exec(connection_.get(), sql, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : Failure(code, sql);
}

absl::StatusOr<sqlite3_stmt*> Sqlite::Prepared(const char* sql) {
  auto& statement = statements_[sql];
  if (statement == nullptr) {
    sqlite3_stmt* made = nullptr;
    const int code =
        sqlite3_prepare_v3(connection_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &made, nullptr);
    if (code != SQLITE_OK) return Failure(code, sql);
    statement.reset(made);
  }
  return statement.get();
}

absl::Status Sqlite::Failure(int code, std::string_view what) const {
  const char* reason =
      connection_ == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(connection_.get());
  return absl::Status(CodeOf(code), absl::StrCat("sqlite: ", reason, " (",
                                                 AsAbsl(what.substr(0, what.find(' '))), ")"));
}

}  // namespace cohost::supervisor
