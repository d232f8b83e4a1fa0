// SPDX-License-Identifier: Apache-2.0
#include "supervisor/pool/generation/generation_id.h"

#include <gtest/gtest.h>

namespace cohost::supervisor {
namespace {

TEST(GenerationId, NamesAreReadBack) {
  const GenerationId id{"steady-1", 2, 7};
  EXPECT_EQ(id.ProcessName(), "worker/steady-1/2/7");
  EXPECT_EQ(id.HoldName(), "link/steady-1/2/7");
  EXPECT_EQ(*ParseGenerationId(id.ProcessName()), id);
  EXPECT_EQ(*ParseGenerationId(id.HoldName()), id);
}

TEST(GenerationId, OtherNamesAreRefused) {
  for (const char* name :
       {"", "worker", "worker/g/0", "worker/g/0/0", "worker//0/1", "worker/g/-1/1", "worker/g/0/x",
        "worker/g/0/1/2", "listener/g/0/1", "worker/g/0/99999999999"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseGenerationId(name).status())) << name;
  }
}

TEST(GenerationRecord, IsReadBackWhole) {
  GenerationRecord record;
  record.started = absl::FromUnixNanos(1'700'000'000'123'456'789);
  record.fingerprint = 0xfedcba9876543210;
  record.reason = RecycleReason::kModuleChange;
  record.last_exit = "signal 11 (SIGSEGV)";
  record.blamed = {{3, 1}, {9, 44}};
  const GenerationRecord read = *DecodeGenerationRecord(EncodeGenerationRecord(record));
  EXPECT_EQ(read.started, record.started);
  EXPECT_EQ(read.fingerprint, record.fingerprint);
  EXPECT_EQ(read.reason, record.reason);
  EXPECT_EQ(read.last_exit, record.last_exit);
  EXPECT_EQ(read.blamed, record.blamed);
}

TEST(GenerationRecord, FitsIntoAHeldEntryWhateverHappened) {
  GenerationRecord record;
  record.fingerprint = ~uint64_t{0};
  record.last_exit = std::string(10'000, '\n');
  for (uint64_t i = 0; i < 1000; ++i) record.blamed[~i] = ~i;
  const std::string blob = EncodeGenerationRecord(record);
  EXPECT_LE(blob.size(), 4096u);
  EXPECT_EQ(DecodeGenerationRecord(blob)->blamed.size(), kMaxBlamed);
}

TEST(GenerationRecord, LinesOfALaterVersionAreIgnored) {
  EXPECT_EQ(DecodeGenerationRecord("version 1\nfingerprint 5\ncolour red\n")->fingerprint, 5);
}

TEST(GenerationRecord, WhatIsBrokenIsRefused) {
  for (const char* blob :
       {"", "version 2\n", "version 1\nstarted x\n", "version 1\nfingerprint -1\n",
        "version 1\nreason 13\n", "version 1\nblamed 1\n", "version 1\nblamed a b\n"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(DecodeGenerationRecord(blob).status())) << blob;
  }
}

}  // namespace
}  // namespace cohost::supervisor
