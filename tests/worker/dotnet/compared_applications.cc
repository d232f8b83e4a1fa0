// SPDX-License-Identifier: Apache-2.0
#include "tests/worker/dotnet/compared_applications.h"

#include <memory>
#include <utility>

#include "base/status.h"
#include "tests/worker/dotnet/lone_application.h"
#include "tests/worker/dotnet/probe.h"

namespace cohost::testing {

const std::vector<Application>& ComparedApplications() {
  static const std::vector<Application> applications = {
      {.name = "Blazor"},
      {.name = "ClassicWebHost"},
      {.name = "EfCore", .persist = {"shop.db"}},
      {.name = "Endpoints", .endpoints = {{"Web"}, {"Calls"}, {"Secure", "https"}}},
      {.name = "Faulty"},
      {.name = "GenericHost"},
      {.name = "Grpc"},
      {.name = "HostedServices"},
      {.name = "Identity"},
      {.name = "Meddling"},
      {.name = "Minimal"},
      {.name = "Mvc"},
      {.name = "NLogLog"},
      {.name = "RazorPages"},
      {.name = "SerilogLog"},
      {.name = "SignalR"},
      {.name = "StaticAssets"},
      {.name = "Streaming"},
      {.name = "Surroundings",
       .environment = {{"From__The__Environment", "yes"}, {"SURROUNDINGS_CULTURE", "de-DE"}},
       .arguments = {"--first=1", "second"}},
      {.name = "Telemetry"},
      {.name = "WebSockets"},
  };
  return applications;
}

absl::StatusOr<std::map<std::string, std::string>> AskLoneApplications() {
  std::vector<std::unique_ptr<LoneApplication>> running;
  for (const Application& application : ComparedApplications()) {
    COHOST_ASSIGN_OR_RETURN(auto lone, LoneApplication::Start(application));
    running.push_back(std::move(lone));
  }
  Addresses addresses;
  for (size_t i = 0; i < running.size(); ++i) {
    COHOST_ASSIGN_OR_RETURN(addresses[ComparedApplications()[i].name],
                            running[i]->WaitForAddresses());
  }
  return ProbeAll(addresses);
}

}  // namespace cohost::testing
