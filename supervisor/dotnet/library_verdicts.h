// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "supervisor/config/library_name.h"
#include "supervisor/dotnet/application_libraries.h"

namespace cohost::supervisor {

// Whether a library may exist once for several applications, and by whom.
enum class LibraryStanding {
  kReviewed,  // we have read it
  kListed,    // its name is on the operator's list, and the scan has nothing against it
  kAnswered,  // the operator answers for this version
  kOwn,       // each application has its own
};

struct LibraryVerdict {
  std::string name;
  std::string package_version;
  LibraryStanding standing = LibraryStanding::kOwn;
  // Of kReviewed: what was found. Of kOwn: why.
  std::string reason;
  // Of kReviewed, by name: what gets a copy beside it, and what it is bound to (ReviewedLibrary).
  std::vector<std::string> inside{};
  std::vector<std::string> bound{};
  // Of kOwn: it is on the operator's list by its whole name, so that somebody expects it to be
  // shared.
  bool is_expected = false;

  bool shares() const { return standing != LibraryStanding::kOwn; }
};

// Of each, in their order. A library is shared only together with everything that it references
// outside of the framework: the others would be different ones in each application. What was
// reviewed is shared in any case; `listed`: what is beside it. Pure.
std::vector<LibraryVerdict> JudgeLibraries(const std::vector<Library>& libraries,
                                           const std::vector<LibraryName>& listed);

// Names of a library and of all that it references, directly or not, among `libraries`; sorted.
std::vector<std::string> ClosureOf(const Library& library, const std::vector<Library>& libraries);

}  // namespace cohost::supervisor
