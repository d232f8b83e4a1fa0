// SPDX-License-Identifier: Apache-2.0
#include "supervisor/state/sqlite.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/supervisor/state/state_folder.h"

namespace cohost::supervisor {
namespace {

using ::testing::ElementsAre;

TEST(Sqlite, BindsAndReadsEveryKindOfValue) {
  auto sqlite = Sqlite::Open("");
  ASSERT_TRUE(sqlite.ok()) << sqlite.status();
  ASSERT_TRUE(sqlite->Run("CREATE TABLE t(a, b, c)").ok());
  const std::string with_zero("x\0y", 3);
  ASSERT_TRUE(sqlite
                  ->Run("INSERT INTO t VALUES(?, ?, ?)",
                        {int64_t{-5}, std::string_view(with_zero), std::monostate()})
                  .ok());
  int rows = 0;
  ASSERT_TRUE(sqlite
                  ->Query("SELECT a, b, c FROM t", {},
                          [&](const SqlRow& row) {
                            ++rows;
                            EXPECT_EQ(row.Integer(0), -5);
                            EXPECT_EQ(row.Text(1), with_zero);
                            EXPECT_FALSE(row.IsNull(1));
                            EXPECT_TRUE(row.IsNull(2));
                          })
                  .ok());
  EXPECT_EQ(rows, 1);
}

TEST(Sqlite, AnEmptyTextIsNotNull) {
  auto sqlite = Sqlite::Open("");
  bool is_null = true;
  ASSERT_TRUE(sqlite
                  ->Query("SELECT ?", {std::string_view()},
                          [&](const SqlRow& row) { is_null = row.IsNull(0); })
                  .ok());
  EXPECT_FALSE(is_null);
}

TEST(Sqlite, UsesAStatementAgainWithOtherValues) {
  auto sqlite = Sqlite::Open("");
  std::vector<int64_t> seen;
  for (const int64_t number : {1, 2, 3}) {
    ASSERT_TRUE(sqlite
                    ->Query("SELECT ? + 1", {number},
                            [&](const SqlRow& row) { seen.push_back(row.Integer(0)); })
                    .ok());
  }
  EXPECT_THAT(seen, ElementsAre(2, 3, 4));
}

TEST(Sqlite, TellsDamageFromOtherFailures) {
  const StateFolder folder;
  folder.Write(std::string(8192, 'x'));
  EXPECT_EQ(Sqlite::Open(folder.path()).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Sqlite::Open(folder.folder()).status().code(), absl::StatusCode::kPermissionDenied);
  auto other_schema = Sqlite::Open("");
  EXPECT_EQ(other_schema->Run("SELECT a FROM missing").code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace cohost::supervisor
