// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/commands.h"

#include <google/protobuf/struct.pb.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/system/file.h"
#include "base/version.h"
#include "supervisor/admin/message_values.h"
#include "supervisor/ctl/admin_client.h"
#include "supervisor/ctl/check_command.h"
#include "supervisor/ctl/completion.h"
#include "supervisor/ctl/diagnostics/counters_command.h"
#include "supervisor/ctl/diagnostics/download_commands.h"
#include "supervisor/ctl/exchange/export_command.h"
#include "supervisor/ctl/exchange/import_command.h"
#include "supervisor/ctl/file_validation.h"
#include "supervisor/ctl/history_views.h"
#include "supervisor/ctl/json_text.h"
#include "supervisor/ctl/memory_views.h"
#include "supervisor/ctl/signing_commands.h"

namespace cohost::supervisor {
namespace {

namespace v1 = admin::v1;

constexpr absl::Duration kTimeout = absl::Seconds(10);
// Hundreds of workers, one after the other.
constexpr absl::Duration kMappingsTimeout = absl::Minutes(1);
// A recycle waits for drains.
constexpr absl::Duration kLongTimeout = absl::Minutes(5);
// A change of the deployment waits for drains and, when applications come with it, for compilers.
constexpr absl::Duration kChangeTimeout = absl::Minutes(20);
// gRPC refuses messages of more than 16 MiB; the rest is for the other fields.
constexpr Bytes kLargestDeployment = {(16 << 20) - (64 << 10)};

// One command under way.
class Command {
 public:
  Command(const Invocation& invocation, const Look& look, std::ostream& out, std::ostream& errors)
      : invocation_(invocation), look_(look), out_(out), errors_(errors) {}

  int Run();

 private:
  using Stub = v1::Admin::Stub;

  int Status();
  int Services();
  int Groups();
  int Workers();
  int Modules();
  int Memory();
  int UnsharedMemory();
  int Plan();
  int Validate();
  int ShowValidation(const v1::ValidateResponse& response);
  int Reload();
  int Deploy();
  int Rollback();
  int ShowDeploy(const grpc::Status& call, const v1::DeployResponse& response);
  int History();
  int Export();
  int Import();
  int Fsck();
  int Recycle();
  int StopOrStart();
  int Events();
  int Logs();
  int Dump() { return RunDump(invocation_, *client_, look_, out_, errors_); }
  int Trace() { return RunTrace(invocation_, *client_, look_, out_, errors_); }
  int Counters() { return RunCounters(invocation_, *client_, look_, out_, errors_); }
  int Version();

  int Fail(const Failure& failure) {
    errors_ << "cohostctl: " << failure.message << "\n";
    return static_cast<int>(failure.code);
  }
  int Fail(const grpc::Status& status) { return Fail(CallFailure(status, client_->socket())); }

  template <typename Request, typename Response>
  using Method = grpc::Status (Stub::*)(grpc::ClientContext*, const Request&, Response*);

  template <typename Request, typename Response>
  grpc::Status Call(Method<Request, Response> method, const Request& request, Response* response,
                    absl::Duration usual = kTimeout) {
    const auto context = ContextFor(invocation_.timeout.value_or(usual));
    return (client_->stub().*method)(context.get(), request, response);
  }

  // All pages of a list in one answer.
  template <typename Request, typename Response, typename Items>
  grpc::Status CallAll(Method<Request, Response> method, Request request, Response* all,
                       Items items) {
    do {
      Response page;
      if (grpc::Status status = Call(method, request, &page); !status.ok()) return status;
      request.set_page_token(page.next_page_token());
      page.clear_next_page_token();
      if (items(*all)->empty()) {
        *all = std::move(page);
      } else {
        items(*all)->MergeFrom(*items(page));
      }
    } while (!request.page_token().empty());
    return grpc::Status::OK;
  }

  template <typename Response, typename View>
  int Show(const Response& response, View view) {
    out_ << (invocation_.output == OutputFormat::kJson ? Json(response, true) : view(response));
    return 0;
  }

  // The problems of a deployment, as an answer for programs or as a failure for people.
  template <typename Response>
  int ShowProblems(const Response& response, std::string_view effect) {
    if (invocation_.output == OutputFormat::kJson) out_ << Json(response, true);
    for (const v1::ConfigProblem& problem : response.problems()) errors_ << ProblemLine(problem);
    const int count = response.problems_size();
    errors_ << "cohostctl: " << count << (count == 1 ? " error" : " errors") << "; " << effect
            << "\n";
    return static_cast<int>(ExitCode::kWrongCall);
  }

  // Fills the text of the file that was named; nothing without one.
  template <typename Request>
  absl::Status ReadFile(Request& request) const;

  // A mutation's id: repeating the call by hand is a new one.
  static std::string RequestId() {
    return absl::StrCat("ctl-", ::getpid(), "-", absl::ToUnixNanos(absl::Now()));
  }

  const Invocation& invocation_;
  const Look& look_;
  std::ostream& out_;
  std::ostream& errors_;
  std::unique_ptr<AdminClient> client_;
};

int Command::Status() {
  v1::Status status;
  const grpc::Status call = Call(&Stub::GetStatus, v1::GetStatusRequest(), &status);
  if (!call.ok()) return Fail(call);
  return Show(status, [&](const v1::Status& s) { return StatusView(s, look_); });
}

int Command::Services() {
  v1::ListServicesRequest request;
  request.set_name(invocation_.name);
  v1::ListServicesResponse list;
  const grpc::Status call =
      CallAll(&Stub::ListServices, request, &list,
              [](v1::ListServicesResponse& r) { return r.mutable_services(); });
  if (!call.ok()) return Fail(call);
  return Show(list, [&](const v1::ListServicesResponse& r) {
    return invocation_.name.empty() ? ServicesView(r, look_) : ServiceSheet(r.services(0), look_);
  });
}

int Command::Groups() {
  v1::ListGroupsRequest request;
  request.set_name(invocation_.name);
  v1::ListGroupsResponse list;
  const grpc::Status call = CallAll(&Stub::ListGroups, request, &list,
                                    [](v1::ListGroupsResponse& r) { return r.mutable_groups(); });
  if (!call.ok()) return Fail(call);
  return Show(list, [&](const v1::ListGroupsResponse& r) {
    return invocation_.name.empty() ? GroupsView(r, look_) : GroupSheet(r.groups(0), look_);
  });
}

int Command::Workers() {
  v1::ListWorkersRequest request;
  request.set_group(invocation_.name);
  v1::ListWorkersResponse list;
  const grpc::Status call = CallAll(&Stub::ListWorkers, request, &list,
                                    [](v1::ListWorkersResponse& r) { return r.mutable_workers(); });
  if (!call.ok()) return Fail(call);
  return Show(list, [&](const v1::ListWorkersResponse& r) { return WorkersView(r, look_); });
}

int Command::Modules() {
  v1::ListModulesResponse list;
  const grpc::Status call = CallAll(&Stub::ListModules, v1::ListModulesRequest(), &list,
                                    [](v1::ListModulesResponse& r) { return r.mutable_modules(); });
  if (!call.ok()) return Fail(call);
  return Show(list, [&](const v1::ListModulesResponse& r) { return ModulesView(r, look_); });
}

int Command::UnsharedMemory() {
  v1::MeasureUnsharedRequest request;
  request.set_samples(invocation_.samples);
  v1::UnsharedMemory memory;
  const grpc::Status call = Call(&Stub::MeasureUnshared, request, &memory, kLongTimeout);
  if (!call.ok()) return Fail(call);
  return Show(memory, [&](const v1::UnsharedMemory& m) { return UnsharedMemoryView(m, look_); });
}

int Command::Memory() {
  if (invocation_.unshared) return UnsharedMemory();
  v1::GetMemoryRequest request;
  request.set_modules(invocation_.modules);
  v1::Memory memory;
  const grpc::Status call =
      Call(&Stub::GetMemory, request, &memory, invocation_.modules ? kMappingsTimeout : kTimeout);
  if (!call.ok()) return Fail(call);
  return Show(memory, [&](const v1::Memory& m) {
    return invocation_.modules ? ModuleMemoryView(m, look_) : MemoryView(m, look_);
  });
}

template <typename Request>
absl::Status Command::ReadFile(Request& request) const {
  if (invocation_.name.empty()) return absl::OkStatus();
  const absl::StatusOr<std::string> text = ReadRegularFile(invocation_.name, kLargestDeployment);
  if (!text.ok()) return text.status();
  request.set_deployment(*text);
  std::error_code error;
  request.set_file_name(std::filesystem::absolute(invocation_.name, error).string());
  return absl::OkStatus();
}

int Command::Plan() {
  v1::PlanRequest request;
  if (const absl::Status read = ReadFile(request); !read.ok()) {
    return Fail({ExitCode::kWrongCall, std::string(read.message())});
  }
  v1::PlanResponse plan;
  const grpc::Status call = Call(&Stub::Plan, request, &plan);
  if (!call.ok()) return Fail(call);
  if (!plan.problems().empty()) return ShowProblems(plan, "there is no plan for it");
  return Show(plan, [&](const v1::PlanResponse& p) { return PlanView(p, look_); });
}

int Command::Validate() {
  v1::ValidateResponse response;
  const grpc::Status call = Call(&Stub::Validate, v1::ValidateRequest(), &response);
  if (!call.ok()) return Fail(call);
  return ShowValidation(response);
}

int Command::ShowValidation(const v1::ValidateResponse& response) {
  if (!response.problems().empty()) return ShowProblems(response, "it would be refused");
  return Show(response, [](const v1::ValidateResponse& r) {
    return absl::StrCat("valid, ", r.services(), r.services() == 1 ? " service" : " services",
                        "\n");
  });
}

int Command::Reload() {
  v1::ReloadRequest request;
  request.set_request_id(RequestId());
  v1::ReloadResponse response;
  const grpc::Status call = Call(&Stub::Reload, request, &response, kChangeTimeout);
  if (!call.ok()) return Fail(call);
  if (!response.problems().empty()) return ShowProblems(response, "nothing was changed");
  return Show(response, ReloadView);
}

int Command::Deploy() {
  v1::DeployRequest request;
  request.set_request_id(RequestId());
  request.set_service(invocation_.name);
  request.set_path(invocation_.path);
  request.set_wait(invocation_.wait);
  Set(request.mutable_canary_time(), invocation_.canary_time);
  v1::DeployResponse response;
  const grpc::Status call =
      Call(&Stub::Deploy, request, &response, kChangeTimeout + invocation_.canary_time);
  return ShowDeploy(call, response);
}

int Command::Rollback() {
  v1::RollbackRequest request;
  request.set_request_id(RequestId());
  request.set_service(invocation_.name);
  request.set_revision(invocation_.revision);
  request.set_wait(invocation_.wait);
  v1::DeployResponse response;
  const grpc::Status call = Call(&Stub::Rollback, request, &response, kLongTimeout);
  return ShowDeploy(call, response);
}

int Command::ShowDeploy(const grpc::Status& call, const v1::DeployResponse& response) {
  if (!call.ok()) return Fail(call);
  if (!response.problems().empty()) return ShowProblems(response, "nothing was changed");
  return Show(response, DeployView);
}

int Command::History() {
  v1::ListHistoryRequest request;
  request.set_service(invocation_.name);
  request.set_limit(invocation_.last);
  v1::ListHistoryResponse response;
  const grpc::Status call = Call(&Stub::ListHistory, request, &response);
  if (!call.ok()) return Fail(call);
  return Show(response, [&](const v1::ListHistoryResponse& history) {
    return HistoryView(history, invocation_.name, look_);
  });
}

int Command::Export() { return RunExport(invocation_, *client_, out_, errors_); }

int Command::Import() {
  std::istream* answers = ::isatty(STDIN_FILENO) == 1 ? &std::cin : nullptr;
  return RunImport(invocation_, *client_, answers, out_, errors_);
}

int Command::Fsck() {
  v1::MaintainModulesRequest request;
  request.set_request_id(RequestId());
  request.set_check(true);
  request.set_collect(invocation_.collect);
  v1::MaintainModulesResponse response;
  const grpc::Status call = Call(&Stub::MaintainModules, request, &response, kLongTimeout);
  if (!call.ok()) return Fail(call);
  Show(response, [&](const v1::MaintainModulesResponse& r) {
    return MaintainModulesView(r, /*check=*/true, invocation_.collect);
  });
  if (response.damaged().empty() && response.missing().empty()) return 0;
  return Fail({ExitCode::kNoHost,
               "files are damaged or missing; `cohostctl deploy SERVICE` brings them anew from "
               "their sources"});
}

int Command::Recycle() {
  v1::RecycleRequest request;
  request.set_request_id(RequestId());
  request.set_group(invocation_.name);
  if (invocation_.slot) request.set_slot(*invocation_.slot);
  v1::RecycleResponse response;
  const grpc::Status call = Call(&Stub::Recycle, request, &response, kLongTimeout);
  if (!call.ok()) return Fail(call);
  Show(response, RecycleView);
  if (response.failed().empty()) return 0;
  return Fail({ExitCode::kNoHost, "not every worker could be replaced; the old ones go on"});
}

int Command::StopOrStart() {
  const bool stops = invocation_.command == "stop";
  const auto mutate = [&](auto method, auto request, auto response) {
    request.set_request_id(RequestId());
    request.set_name(invocation_.name);
    const grpc::Status call = Call(method, request, &response);
    if (!call.ok()) return Fail(call);
    return Show(response, [&](const auto& r) {
      return absl::StrCat(invocation_.name, stops ? " stopped" : " started", ", event #",
                          r.event_id(), "\n");
    });
  };
  if (stops) {
    return mutate(&Stub::StopService, v1::StopServiceRequest(), v1::StopServiceResponse());
  }
  return mutate(&Stub::StartService, v1::StartServiceRequest(), v1::StartServiceResponse());
}

int Command::Events() {
  v1::WatchEventsRequest request;
  request.set_follow(invocation_.follow);
  request.set_last(invocation_.last);
  while (true) {
    // Following has no end, hence no deadline: Ctrl-C ends it.
    const auto context = invocation_.follow ? std::make_unique<grpc::ClientContext>()
                                            : ContextFor(invocation_.timeout.value_or(kTimeout));
    const auto reader = client_->stub().WatchEvents(context.get(), request);
    v1::Event event;
    bool any = false;
    while (reader->Read(&event)) {
      any = true;
      request.set_after_id(event.id());
      out_ << (invocation_.output == OutputFormat::kJson ? Json(event, false)
                                                         : EventLine(event, look_))
           << std::flush;
    }
    const grpc::Status end = reader->Finish();
    if (end.ok()) return 0;
    // This terminal was too slow: go on where it stopped.
    if (!any || end.error_code() != grpc::StatusCode::RESOURCE_EXHAUSTED) return Fail(end);
    request.set_last(0);
  }
}

int Command::Logs() {
  v1::WatchLogsRequest request;
  request.set_follow(invocation_.follow);
  request.set_last(invocation_.last);
  // A name is a service's, else a group's; a slot says which.
  v1::ListServicesRequest lookup;
  lookup.set_name(invocation_.name);
  v1::ListServicesResponse found;
  grpc::Status call;
  if (!invocation_.slot) call = Call(&Stub::ListServices, lookup, &found);
  if (!invocation_.slot && call.ok()) {
    request.set_service(invocation_.name);
  } else if (invocation_.slot || call.error_code() == grpc::StatusCode::NOT_FOUND) {
    request.set_group(invocation_.name);
    if (invocation_.slot) request.set_slot(*invocation_.slot);
  } else {
    return Fail(call);
  }
  const auto context = invocation_.follow ? std::make_unique<grpc::ClientContext>()
                                          : ContextFor(invocation_.timeout.value_or(kTimeout));
  const auto reader = client_->stub().WatchLogs(context.get(), request);
  v1::LogLine line;
  while (reader->Read(&line)) {
    out_ << (invocation_.output == OutputFormat::kJson
                 ? Json(line, false)
                 : LogText(line, !invocation_.slot.has_value(), look_))
         << std::flush;
  }
  const grpc::Status end = reader->Finish();
  if (end.ok()) return 0;
  // Neither a service nor a group: the message about the service has the nearer names.
  const bool neither = end.error_code() == grpc::StatusCode::NOT_FOUND && !invocation_.slot;
  return Fail(neither ? call : end);
}

int Command::Version() {
  v1::Status status;
  const grpc::Status call = Call(&Stub::GetStatus, v1::GetStatusRequest(), &status);
  if (!call.ok()) return Fail(call);
  if (invocation_.output == OutputFormat::kJson) {
    google::protobuf::Struct versions;
    (*versions.mutable_fields())["cohostctl"].set_string_value(kVersion);
    (*versions.mutable_fields())["host"].set_string_value(status.version());
    out_ << Json(versions, true);
  } else {
    out_ << "host      " << status.version() << "\n";
  }
  return 0;
}

int Command::Run() {
  if (invocation_.command == "completion") {
    out_ << CompletionScript(invocation_.name);
    return 0;
  }
  if (invocation_.command.starts_with("modules ")) {
    return RunSigningCommand(invocation_, out_, errors_);
  }
  if (invocation_.command == "check") {
    return RunCheckCommand(invocation_, look_, out_, errors_);
  }
  if (invocation_.command == "validate" && !invocation_.name.empty()) {
    return ShowValidation(ValidateFile(invocation_.name));
  }
  // Its own version also without a host.
  if (invocation_.command == "version" && invocation_.output == OutputFormat::kTable) {
    out_ << "cohostctl " << kVersion << "\n" << std::flush;
  }
  auto connected = AdminClient::Connect(invocation_.socket);
  if (const Failure* failure = std::get_if<Failure>(&connected)) return Fail(*failure);
  client_ = std::move(std::get<std::unique_ptr<AdminClient>>(connected));
  static const auto& commands = *new std::map<std::string, int (Command::*)()>{
      {"status", &Command::Status},     {"services", &Command::Services},
      {"groups", &Command::Groups},     {"workers", &Command::Workers},
      {"modules", &Command::Modules},   {"memory", &Command::Memory},
      {"plan", &Command::Plan},         {"validate", &Command::Validate},
      {"reload", &Command::Reload},     {"recycle", &Command::Recycle},
      {"stop", &Command::StopOrStart},  {"start", &Command::StopOrStart},
      {"deploy", &Command::Deploy},     {"rollback", &Command::Rollback},
      {"history", &Command::History},   {"fsck", &Command::Fsck},
      {"export", &Command::Export},     {"import", &Command::Import},
      {"events", &Command::Events},     {"logs", &Command::Logs},
      {"dump", &Command::Dump},         {"trace", &Command::Trace},
      {"counters", &Command::Counters}, {"version", &Command::Version},
  };
  return (this->*commands.at(invocation_.command))();
}

}  // namespace

int RunCommand(const Invocation& invocation, const Look& look, std::ostream& out,
               std::ostream& errors) {
  return Command(invocation, look, out, errors).Run();
}

}  // namespace cohost::supervisor
