// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

struct sqlite3;
struct sqlite3_stmt;

namespace cohost::supervisor {

// A value bound to a statement; monostate is NULL. Texts are used only during the call.
using SqlValue = std::variant<std::monostate, int64_t, std::string_view>;

// One row of an answer, valid inside the callback. Values of another type are converted as SQLite
// does: a text where a number should be reads as 0.
class SqlRow {
 public:
  explicit SqlRow(sqlite3_stmt* statement) : statement_(statement) {}
  bool IsNull(int column) const;
  int64_t Integer(int column) const;
  std::string Text(int column) const;

 private:
  sqlite3_stmt* statement_;
};

// A connection to a SQLite file. One thread at a time. Errors: DATA_LOSS when the file is damaged,
// not a database, or has another schema than the statement expects; RESOURCE_EXHAUSTED when the
// disk is full; UNAVAILABLE when another process holds its lock for more than a second;
// PERMISSION_DENIED when it cannot be opened or written; INTERNAL for the rest.
class Sqlite {
 public:
  // Makes the file when it is missing; empty: in memory.
  static absl::StatusOr<Sqlite> Open(const std::string& path);

  // `sql` is one statement and a literal: statements are prepared once and kept by its address.
  absl::Status Run(const char* sql, std::initializer_list<SqlValue> values = {});
  absl::Status Query(const char* sql, std::initializer_list<SqlValue> values,
                     const std::function<void(const SqlRow&)>& row);
  // Several statements without values, not kept.
  absl::Status Script(const char* sql);

 private:
  struct Closer {
    void operator()(sqlite3* connection) const;
    void operator()(sqlite3_stmt* statement) const;
  };

  explicit Sqlite(sqlite3* connection) : connection_(connection) {}
  absl::StatusOr<sqlite3_stmt*> Prepared(const char* sql);
  absl::Status Failure(int code, std::string_view what) const;

  // Before the statements, so that they are finalised first.
  std::unique_ptr<sqlite3, Closer> connection_;
  std::map<const char*, std::unique_ptr<sqlite3_stmt, Closer>> statements_;
};

}  // namespace cohost::supervisor
