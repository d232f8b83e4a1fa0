// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/library_name.h"

#include <gtest/gtest.h>

namespace cohost::supervisor {
namespace {

LibraryName Parsed(std::string_view text) {
  const auto name = LibraryName::Parse(text);
  EXPECT_TRUE(name.ok()) << text << ": " << name.status();
  return name.ok() ? *name : LibraryName();
}

TEST(LibraryName, NamesOneAssemblyInUpperOrLowerCase) {
  const LibraryName name = Parsed("Acme.Core");
  EXPECT_TRUE(name.Names("Acme.Core"));
  EXPECT_TRUE(name.Names("acme.core"));
  EXPECT_FALSE(name.Names("Acme.Core.Data"));
  EXPECT_FALSE(name.Names("Acme"));
}

TEST(LibraryName, AStarStandsForAnyRest) {
  const LibraryName name = Parsed("Acme.*");
  EXPECT_TRUE(name.Names("Acme.Core"));
  EXPECT_FALSE(name.Names("Acme"));
  EXPECT_TRUE(Parsed("*").Names("Anything"));
}

TEST(LibraryName, AnswersForVersionsThatBeginWithItsOwn) {
  const LibraryName name = Parsed("Serilog/4.3");
  EXPECT_TRUE(name.Names("Serilog"));
  EXPECT_TRUE(name.Answers("4.3"));
  EXPECT_TRUE(name.Answers("4.3.1"));
  EXPECT_FALSE(name.Answers("4.30.0"));
  EXPECT_FALSE(name.Answers("4.3-beta"));
  EXPECT_FALSE(name.Answers("4"));
  EXPECT_FALSE(name.Answers(""));
  EXPECT_FALSE(Parsed("Serilog").Answers("4.3"));
}

TEST(LibraryName, RefusesWhatNamesNone) {
  for (const char* text : {"", "a b", "Acme.Core.dll", "a/", "a/x", "a/1/2", "../a", "a*b", "/1"}) {
    EXPECT_FALSE(LibraryName::Parse(text).ok()) << text;
  }
}

}  // namespace
}  // namespace cohost::supervisor
