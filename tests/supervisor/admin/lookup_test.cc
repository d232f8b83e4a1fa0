// SPDX-License-Identifier: Apache-2.0
#include "supervisor/admin/lookup.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fakes/host_control.h"

namespace cohost::supervisor {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class LookupTest : public ::testing::Test {
 protected:
  // The message in the types that matchers take.
  static std::string Text(const absl::Status& status) { return std::string(status.message()); }

  // Services catalog, currency, invoices, orders, search; groups batch-1, front, steady-1.
  HostSnapshot host_ = SampleHost();
};

TEST_F(LookupTest, WhatIsThereIsFoundByItsWholeNameOnly) {
  EXPECT_TRUE(CheckService(host_, "catalog").ok());
  EXPECT_TRUE(CheckGroup(host_, "front").ok());
  for (const std::string name : {"catalo", "catalogs", "Catalog", " catalog", "front"}) {
    EXPECT_EQ(CheckService(host_, name).code(), absl::StatusCode::kNotFound) << name;
  }
  EXPECT_EQ(CheckGroup(host_, "catalog").code(), absl::StatusCode::kNotFound)
      << "services and groups are apart";
}

TEST_F(LookupTest, ASlipIsAnsweredWithTheNearestName) {
  EXPECT_THAT(Text(CheckService(host_, "catalgo")), HasSubstr("'catalog'"));
  EXPECT_THAT(Text(CheckGroup(host_, "steady-2")), HasSubstr("'steady-1'"));
}

TEST_F(LookupTest, WhatIsNearNothingIsAnsweredWithHowToListAll) {
  EXPECT_THAT(Text(CheckService(host_, "zzzzzzzzzzzz")), HasSubstr("cohostctl services"));
  EXPECT_THAT(Text(CheckGroup(host_, "zzzzzzzzzzzz")), HasSubstr("cohostctl groups"));
  EXPECT_THAT(Text(CheckService(HostSnapshot(), "catalog")), HasSubstr("cohostctl services"));
}

TEST_F(LookupTest, ANameThatCannotBeOneIsAWrongArgumentAndNotRepeated) {
  EXPECT_EQ(CheckService(host_, "").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CheckGroup(host_, "").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CheckService(host_, std::string(255, 'x')).code(), absl::StatusCode::kNotFound);
  const absl::Status status = CheckService(host_, std::string(1 << 20, 'x'));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_LT(status.message().size(), 200U);
  EXPECT_THAT(Text(status), Not(HasSubstr("xxx")));
}

TEST_F(LookupTest, SlotsAreCountedFromZero) {
  EXPECT_TRUE(CheckGroup(host_, "front", 0).ok());
  EXPECT_TRUE(CheckGroup(host_, "front", 1).ok());
  EXPECT_EQ(CheckGroup(host_, "front", 2).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(CheckGroup(host_, "steady-1", 1).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(CheckGroup(host_, "front", 4294967295U).code(), absl::StatusCode::kNotFound);
}

TEST_F(LookupTest, AnUnknownGroupIsToldBeforeItsSlot) {
  EXPECT_EQ(CheckGroup(host_, "fornt", 7), CheckGroup(host_, "fornt"));
}

}  // namespace
}  // namespace cohost::supervisor
