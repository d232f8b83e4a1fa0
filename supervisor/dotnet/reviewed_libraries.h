// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace cohost::supervisor {

// A library that we have read for what it keeps in statics.
struct ReviewedLibrary {
  std::string_view name;  // of the assembly
  // Package versions from the first on, below the second, that were read; those between two
  // releases (10.1.0-rc.1) were not.
  std::string_view first;
  std::string_view below;
  std::string_view reason;
  // One that it references and keeps to itself: none of its public members has a type of it, so it
  // gets a copy that is nobody else's, and applications keep theirs. Empty: there is none.
  std::string_view inside = {};
  // Its statics hold objects of libraries whose names begin so, which it does not reference:
  // applications share it only when they have the same ones. Empty: there are none.
  std::string_view bound = {};
};

// May be shared.
std::span<const ReviewedLibrary> ReviewedLibraries();

// Keep something of one application in statics where the scan does not see it (CliStatics), in any
// version: only who answers for a version shares them. The reason says what.
struct TiedLibrary {
  std::string_view name;
  std::string_view reason;
};
std::span<const TiedLibrary> TiedLibraries();

// Null when there is none; names as .NET compares them, upper and lower case the same.
const ReviewedLibrary* FindReviewed(std::string_view name);
const TiedLibrary* FindTied(std::string_view name);

// Whether it is one of the versions that were read.
bool WasRead(const ReviewedLibrary& library, std::string_view package_version);

}  // namespace cohost::supervisor
