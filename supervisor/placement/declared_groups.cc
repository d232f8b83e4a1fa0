// SPDX-License-Identifier: Apache-2.0
#include "supervisor/placement/declared_groups.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/strings.h"
#include "supervisor/config/load_class.h"
#include "supervisor/placement/explain.h"

namespace cohost::supervisor {

namespace {

// What to do about a service that cannot be with those of its group.
constexpr std::string_view kApart = "; name a group of its own, or none";
constexpr std::string_view kTogether = ", or write `isolation: shared`";

// Why `a` cannot share a worker with `b`; empty when it can.
std::string ConflictOfTwo(const PlacementService& a, const PlacementService& b) {
  if (a.alone)
    return absl::StrCat("cannot share: it ", WhyAlone(a.alone_because), AsAbsl(kApart),
                        a.runtime == Runtime::kDotnet ? AsAbsl(kTogether) : "");
  if (b.alone) return absl::StrCat("cannot share: that one ", WhyAlone(b.alone_because));
  if (a.runtime != b.runtime) return "needs another runtime";
  if (a.framework != b.framework) {
    return absl::StrCat("cannot share: it runs with .NET ", a.framework, " and that one with ",
                        b.framework, AsAbsl(kApart));
  }
  if (a.overlap != b.overlap) {
    return "differs in `overlap`: services that cannot overlap share workers only with each other";
  }
  const auto is = [](const PlacementService& x, LoadClass c) { return x.load.load_class == c; };
  if ((is(a, LoadClass::kLatency) && is(b, LoadClass::kBatch)) ||
      (is(a, LoadClass::kBatch) && is(b, LoadClass::kLatency))) {
    return "latency and batch never share a worker";
  }
  return "";
}

}  // namespace

DeclaredGroups::DeclaredGroups(const PlacementInput& input, const LoadLimits& limits)
    : input_(input), limits_(limits) {
  for (const DeclaredGroup& group : input.groups) fillings_.push_back({&group, {}, {}});
  std::sort(fillings_.begin(), fillings_.end(),
            [](const Filling& a, const Filling& b) { return a.group->name < b.group->name; });
}

std::vector<const PlacementService*> DeclaredGroups::Take(
    const std::vector<const PlacementService*>& services, std::vector<std::string>& errors) {
  std::vector<const PlacementService*> matched;
  std::vector<const PlacementService*> free;
  // Who must be alone comes last: it is the one that does not fit, not those it would keep out.
  std::vector<const PlacementService*> ordered = services;
  std::stable_partition(ordered.begin(), ordered.end(),
                        [](auto* service) { return !service->alone; });
  for (const PlacementService* service : ordered) {
    if (service->group.has_value()) {
      Filling* filling = Find(*service->group);
      const std::string conflict =
          filling == nullptr ? "there is no such group"
          : filling->load.count() >= kMaxServicesPerWorker
              ? absl::StrCat("a worker holds at most ", kMaxServicesPerWorker, " services")
              : Conflict(*filling, *service);
      if (conflict.empty()) {
        Add(*filling, *service, "names this group");
      } else {
        errors.push_back(absl::StrCat("service '", service->name, "' cannot be in group '",
                                      *service->group, "': ", conflict));
      }
    } else if (input_.grouping.strategy == Strategy::kDeclared) {
      errors.push_back(absl::StrCat("service '", service->name,
                                    "' names no group, and grouping.strategy is declared"));
    } else if (std::any_of(fillings_.begin(), fillings_.end(),
                           [&](const Filling& f) { return Matches(f, *service); })) {
      matched.push_back(service);
    } else {
      free.push_back(service);
    }
  }
  Match(matched, errors);
  std::sort(free.begin(), free.end(), [](auto* a, auto* b) { return a->name < b->name; });
  return free;
}

void DeclaredGroups::Match(const std::vector<const PlacementService*>& matched,
                           std::vector<std::string>& errors) {
  std::vector<const PlacementService*> rest;
  for (const PlacementService* service : matched) {
    const auto before = std::find_if(fillings_.begin(), fillings_.end(), [&](const Filling& f) {
      return Matches(f, *service) && WasHere(f, *service);
    });
    if (before != fillings_.end() && Conflict(*before, *service).empty() &&
        limits_.Fits(before->load + Load(service->load))) {
      Add(*before, *service, "its class is matched by this group, where it was before");
    } else {
      rest.push_back(service);
    }
  }
  std::stable_sort(rest.begin(), rest.end(), [&](auto* a, auto* b) {
    if (a->alone != b->alone) return b->alone;
    return limits_.Fullness(Load(a->load)) > limits_.Fullness(Load(b->load));
  });
  for (const PlacementService* service : rest) MatchOne(*service, errors);
}

void DeclaredGroups::MatchOne(const PlacementService& service, std::vector<std::string>& errors) {
  Filling* best = nullptr;
  double best_fullness = std::numeric_limits<double>::infinity();
  std::string why_not;
  for (Filling& filling : fillings_) {
    if (!Matches(filling, service)) continue;
    const Load load(service.load);
    std::string conflict = Conflict(filling, service);
    if (conflict.empty() && !limits_.Fits(filling.load + load)) {
      conflict = absl::StrCat("it would be over ",
                              LimitText(limits_, limits_.Exceeded(filling.load + load)));
    }
    if (!conflict.empty()) {
      absl::StrAppend(&why_not, why_not.empty() ? "" : "; ", "group '", filling.group->name,
                      "': ", conflict);
    } else if (const auto full = limits_.FullnessWith(filling.load, load, best_fullness)) {
      best = &filling;
      best_fullness = *full;
    }
  }
  if (best != nullptr) {
    Add(*best, service, "its class is matched by this group");
  } else {
    errors.push_back(absl::StrCat("service '", service.name, "' of class ",
                                  AsAbsl(LoadClassName(service.load.load_class)),
                                  " fits into no group that matches it: ", why_not));
  }
}

void DeclaredGroups::Describe(Placement& placement) const {
  for (const Filling& filling : fillings_) {
    PlacedGroup group;
    group.name = filling.group->name;
    group.declared = true;
    group.memory = filling.load.memory();
    group.peak_cpu = filling.load.peak_cpu();
    if (filling.members.empty()) {
      group.reason = "declared; no service names it or is matched by it";
    } else {
      group.runtime = filling.members.front().service->runtime;
      group.overlap = filling.members.front().service->overlap;
      group.framework = filling.members.front().service->framework;
      group.reason = absl::StrCat("declared; ", LoadText(filling.load, limits_));
    }
    for (const Member& member : filling.members) {
      group.services.push_back({member.service->name, member.reason});
    }
    std::sort(group.services.begin(), group.services.end(),
              [](const PlacedService& a, const PlacedService& b) { return a.name < b.name; });
    if (!limits_.Fits(filling.load)) {
      placement.remarks.push_back(absl::StrCat(
          "group '", group.name, "' is over ", LimitText(limits_, limits_.Exceeded(filling.load)),
          ", with services that name it: ", LoadText(filling.load, limits_)));
    }
    placement.groups.push_back(std::move(group));
  }
}

DeclaredGroups::Filling* DeclaredGroups::Find(const std::string& name) {
  const auto it = std::find_if(fillings_.begin(), fillings_.end(),
                               [&](const Filling& f) { return f.group->name == name; });
  return it == fillings_.end() ? nullptr : &*it;
}

bool DeclaredGroups::Matches(const Filling& filling, const PlacementService& service) const {
  const std::vector<LoadClass>& match = filling.group->match;
  return std::find(match.begin(), match.end(), service.load.load_class) != match.end();
}

bool DeclaredGroups::WasHere(const Filling& filling, const PlacementService& service) const {
  const auto before = input_.previous.services.find(service.name);
  return before != input_.previous.services.end() && before->second.declared &&
         before->second.group == filling.group->name;
}

void DeclaredGroups::Add(Filling& filling, const PlacementService& service, std::string reason) {
  filling.load += Load(service.load);
  filling.members.push_back({&service, std::move(reason)});
}

std::string DeclaredGroups::Conflict(const Filling& filling, const PlacementService& service) {
  for (const Member& member : filling.members) {
    const std::string conflict = ConflictOfTwo(service, *member.service);
    if (!conflict.empty()) {
      return absl::StrCat("with service '", member.service->name, "' it ", conflict);
    }
  }
  return "";
}

}  // namespace cohost::supervisor
