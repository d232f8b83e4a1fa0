// SPDX-License-Identifier: Apache-2.0
#include "supervisor/deployer/plan.h"

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "supervisor/deployer/prepared_deployment.h"
#include "supervisor/deployer/service_verdict.h"

namespace cohost::supervisor {
namespace {

// What the files of applications say; those that could not run here are problems.
std::map<std::string, PlacementTraits> JudgeAll(const Deployment& deployment,
                                                PlanOutcome& outcome) {
  std::map<std::string, PlacementTraits> traits;
  std::optional<absl::StatusOr<DotnetRuntime>> runtime;
  for (const Service& service : deployment.services) {
    if (service.runtime != Runtime::kDotnet) continue;
    if (!runtime) runtime = FindDotnetOf(deployment.host);
    if (!runtime->ok()) {
      outcome.problems.push_back(MissingDotnet(runtime->status(), service.name));
      return traits;
    }
    ServiceVerdict verdict = JudgeService(service, service.dotnet.app, **runtime);
    for (ConfigProblem& problem : verdict.problems) {
      outcome.problems.push_back(std::move(problem));
    }
    traits.emplace(service.name, TraitsOf(verdict.hosting));
  }
  return traits;
}

}  // namespace

ConfigProblem HostProblem(const DeployerSettings& settings, const absl::Status& status) {
  return {settings.deployment_file, 0, 0, "", std::string(status.message())};
}

LoadResult ReadDeployment(const DeployerSettings& settings, const std::string& text,
                          const std::string& file_name) {
  if (text.empty()) return LoadDeployment(settings.deployment_file, settings.load_options);
  return ParseDeployment(text, file_name.empty() ? settings.deployment_file : file_name,
                         settings.load_options);
}

PlanOutcome PlanDeployment(const DeployerSettings& settings, const std::string& text,
                           const std::string& file_name, PlacementRecord previous) {
  PlanOutcome outcome;
  const LoadResult loaded = ReadDeployment(settings, text, file_name);
  if (!loaded.deployment) {
    outcome.problems = ToProblems(loaded.errors);
    return outcome;
  }
  const std::map<std::string, PlacementTraits> traits = JudgeAll(*loaded.deployment, outcome);
  if (!outcome.problems.empty()) return outcome;
  const absl::StatusOr<Placement> placement =
      Place(MakePlacementInput(*loaded.deployment, std::move(previous), traits));
  if (!placement.ok()) {
    outcome.problems.push_back(HostProblem(settings, placement.status()));
    return outcome;
  }
  outcome.moved = placement->moved;
  for (const PlacedGroup& group : placement->groups) {
    PlannedGroupView& view = outcome.groups.emplace_back();
    view.name = group.name;
    view.declared = group.declared;
    view.workers = loaded.deployment->group_defaults.workers;
    for (const Group& declared : loaded.deployment->groups) {
      if (group.declared && declared.name == group.name) view.workers = declared.policy.workers;
    }
    for (const PlacedService& service : group.services) {
      view.services.emplace_back(service.name, service.reason);
    }
    view.memory = group.memory;
    view.peak_cpu = group.peak_cpu;
    view.reason = group.reason;
  }
  return outcome;
}

}  // namespace cohost::supervisor
