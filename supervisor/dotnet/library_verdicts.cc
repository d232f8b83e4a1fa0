// SPDX-License-Identifier: Apache-2.0
#include "supervisor/dotnet/library_verdicts.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/strings.h"
#include "supervisor/dotnet/reviewed_libraries.h"

namespace cohost::supervisor {
namespace {

// .NET's names are the same in upper and lower case.
std::string Key(const std::string& name) { return absl::AsciiStrToLower(name); }

std::string AlarmText(const Library& library) {
  const std::string version =
      library.package_version.empty() ? "it" : "its version " + library.package_version;
  return absl::StrCat("in ", version, ", ", absl::StrJoin(library.alarms, "; "));
}

std::string AnswerText(const Library& library) {
  const std::string version = library.package_version.empty() ? "" : library.package_version;
  if (version.empty()) return "";
  return absl::StrCat("; if you have read it, list it as ", library.name, "/", version);
}

// Without its references.
LibraryVerdict JudgeAlone(const Library& library, const std::vector<LibraryName>& listed) {
  LibraryVerdict verdict;
  verdict.name = library.name;
  verdict.package_version = library.package_version;
  std::vector<const LibraryName*> names;
  for (const LibraryName& name : listed) {
    if (!name.Names(library.name)) continue;
    names.push_back(&name);
    verdict.is_expected |= !name.is_begin;
  }
  if (!library.obstacle.empty()) {
    verdict.reason = library.obstacle;
    return verdict;
  }
  const ReviewedLibrary* const reviewed = FindReviewed(library.name);
  if (reviewed != nullptr && WasRead(*reviewed, library.package_version)) {
    verdict.standing = LibraryStanding::kReviewed;
    verdict.reason = std::string(reviewed->reason);
    return verdict;
  }
  if (std::any_of(names.begin(), names.end(), [&](const LibraryName* name) {
        return name->Answers(library.package_version);
      })) {
    verdict.standing = LibraryStanding::kAnswered;
    return verdict;
  }
  if (const TiedLibrary* const tied = FindTied(library.name); tied != nullptr) {
    verdict.reason = absl::StrCat(AsAbsl(tied->reason), AnswerText(library));
  } else if (!library.alarms.empty()) {
    verdict.reason = absl::StrCat(AlarmText(library), AnswerText(library));
  } else if (!names.empty()) {
    verdict.standing = LibraryStanding::kListed;
  } else if (reviewed != nullptr) {
    verdict.reason =
        absl::StrCat("it was reviewed from ", AsAbsl(reviewed->first), " on, below ",
                     AsAbsl(reviewed->below), "; the scan has nothing against this version");
  } else {
    verdict.reason = "it is not on the list";
  }
  return verdict;
}

bool KeepsInside(const LibraryVerdict& verdict, const std::string& reference) {
  return std::any_of(verdict.inside.begin(), verdict.inside.end(), [&](const std::string& name) {
    return absl::EqualsIgnoreCase(name, reference);
  });
}

// What a reviewed one has beside it or is bound to in this application.
void AddCompanions(const std::vector<Library>& libraries, LibraryVerdict& verdict) {
  if (verdict.standing != LibraryStanding::kReviewed) return;
  const ReviewedLibrary& reviewed = *FindReviewed(verdict.name);
  for (const Library& other : libraries) {
    // One that references more would need a copy of that too.
    if (absl::EqualsIgnoreCase(other.name, AsAbsl(reviewed.inside)) && other.references.empty() &&
        other.obstacle.empty()) {
      verdict.inside.push_back(other.name);
    }
    if (!reviewed.bound.empty() && absl::StartsWithIgnoreCase(other.name, AsAbsl(reviewed.bound))) {
      verdict.bound.push_back(other.name);
    }
  }
}

}  // namespace

std::vector<LibraryVerdict> JudgeLibraries(const std::vector<Library>& libraries,
                                           const std::vector<LibraryName>& listed) {
  std::vector<LibraryVerdict> verdicts;
  std::map<std::string, size_t> by_name;
  for (const Library& library : libraries) {
    by_name.emplace(Key(library.name), verdicts.size());
    verdicts.push_back(JudgeAlone(library, listed));
  }
  for (LibraryVerdict& verdict : verdicts) AddCompanions(libraries, verdict);
  // Until nothing changes any more: what references one that is not shared is not shared.
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < libraries.size(); ++i) {
      if (!verdicts[i].shares()) continue;
      for (const std::string& reference : libraries[i].references) {
        const auto found = by_name.find(Key(reference));
        if (found != by_name.end() && verdicts[found->second].shares()) continue;
        if (KeepsInside(verdicts[i], reference)) continue;
        verdicts[i].standing = LibraryStanding::kOwn;
        verdicts[i].reason =
            absl::StrCat("it references ", reference,
                         found == by_name.end() ? ", which the application does not have"
                                                : ", which is not shared");
        changed = true;
        break;
      }
    }
  }
  return verdicts;
}

std::vector<std::string> ClosureOf(const Library& library, const std::vector<Library>& libraries) {
  std::map<std::string, const Library*> by_name;
  for (const Library& each : libraries) by_name.emplace(Key(each.name), &each);
  std::set<std::string> closure = {library.name};
  std::vector<const Library*> waiting = {&library};
  while (!waiting.empty()) {
    const Library* const next = waiting.back();
    waiting.pop_back();
    for (const std::string& reference : next->references) {
      const auto found = by_name.find(Key(reference));
      if (found == by_name.end() || !closure.insert(found->second->name).second) continue;
      waiting.push_back(found->second);
    }
  }
  return {closure.begin(), closure.end()};
}

}  // namespace cohost::supervisor
