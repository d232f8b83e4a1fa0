// SPDX-License-Identifier: Apache-2.0
#include "supervisor/deployer/plan.h"

#include <optional>
#include <utility>

#include "supervisor/deployer/prepared_deployment.h"
#include "supervisor/deployer/service_verdict.h"

namespace cohost::supervisor {
namespace {

// Applications that could not run, or not beside others.
void AddVerdicts(const Deployment& deployment, PlanOutcome& outcome) {
  std::optional<absl::StatusOr<DotnetRuntime>> runtime;
  for (const Service& service : deployment.services) {
    if (service.runtime != Runtime::kDotnet) continue;
    if (!runtime) runtime = FindDotnetOf(deployment.host);
    if (!runtime->ok()) {
      outcome.problems.push_back(MissingDotnet(runtime->status(), service.name));
      return;
    }
    ServiceVerdict verdict = JudgeService(service, service.dotnet.app, **runtime);
    for (ConfigProblem& problem : verdict.problems) {
      outcome.problems.push_back(std::move(problem));
    }
  }
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
  AddVerdicts(*loaded.deployment, outcome);
  if (!outcome.problems.empty()) return outcome;
  const absl::StatusOr<Placement> placement =
      Place(MakePlacementInput(*loaded.deployment, std::move(previous)));
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
