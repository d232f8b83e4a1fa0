// SPDX-License-Identifier: Apache-2.0
#include "supervisor/admin/admin_service.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "supervisor/admin/export_messages.h"
#include "supervisor/admin/history_messages.h"
#include "supervisor/admin/lookup.h"
#include "supervisor/admin/memory_messages.h"
#include "supervisor/admin/messages.h"
#include "supervisor/admin/page.h"
#include "supervisor/admin/pending_call.h"
#include "supervisor/admin/stream/event_stream.h"
#include "supervisor/admin/stream/log_stream.h"
#include "supervisor/admin/stream/message_stream.h"

namespace cohost::supervisor {
namespace {

constexpr size_t kLongestRequestId = 64;
constexpr uint32_t kUsualHistory = 20;
constexpr uint32_t kMostHistory = 1000;
// Services that are sampled (MeasureUnsharedRequest).
constexpr uint32_t kDefaultSamples = 4;
constexpr uint32_t kMostSamples = 16;

grpc::ServerUnaryReactor* Finish(grpc::CallbackServerContext* context, const absl::Status& status) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(GrpcStatus(status));
  return reactor;
}

absl::Status UnknownCaller() {
  return absl::PermissionDeniedError("the caller's user is not known any more");
}

// A stream that ends at once.
template <typename Message>
grpc::ServerWriteReactor<Message>* Refuse(const absl::Status& status) {
  auto stream = std::make_shared<MessageStream<Message>>(1);
  auto* call = stream->Open();
  stream->Close(GrpcStatus(status));
  return call;
}

// Numbers in a key are padded, so that the order of texts is theirs.
std::string WorkerKey(const WorkerView& worker) {
  return absl::StrFormat("%s/%010u/%010u", worker.group, worker.slot, worker.generation);
}

// Two files with one name are told apart by their content's hash.
std::string ModuleKey(const ModuleView& module) {
  return absl::StrCat(module.source_path, "#", module.hash);
}

absl::Status CheckLast(uint32_t last, uint32_t most) {
  if (last <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("last is ", last, "; at most ", most));
}

absl::Status CheckLogsRequest(const HostSnapshot& snapshot,
                              const admin::v1::WatchLogsRequest& request) {
  if (request.service().empty() == request.group().empty()) {
    return absl::InvalidArgumentError("name a service or a group, exactly one of the two");
  }
  if (absl::Status status = CheckLast(request.last(), LogStream::kMostLast); !status.ok()) {
    return status;
  }
  if (request.group().empty()) {
    if (request.has_slot()) return absl::InvalidArgumentError("slot goes with a group only");
    return CheckService(snapshot, request.service());
  }
  return CheckGroup(snapshot, request.group(),
                    request.has_slot() ? std::optional<uint32_t>(request.slot()) : std::nullopt);
}

// Stands for the call and its arguments.
template <typename Request>
std::string Fingerprint(Request request) {
  request.clear_request_id();
  return absl::StrCat(request.GetTypeName(), " ", request.SerializeAsString());
}

absl::Status CheckMutation(const std::string& request_id, uint64_t if_revision, uint64_t revision) {
  if (request_id.size() > kLongestRequestId) {
    return absl::InvalidArgumentError(absl::StrCat("request_id has ", request_id.size(),
                                                   " characters; at most ", kLongestRequestId));
  }
  if (if_revision != 0 && if_revision != revision) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the host is at revision ", revision, ", not ", if_revision, "; look again and repeat"));
  }
  return absl::OkStatus();
}

}  // namespace

AdminService::AdminService(HostControl& host, const PeerRegistry& peers, StreamPoller& poller,
                           const Clock& clock, std::string version, std::string dumps_folder)
    : host_(host),
      peers_(peers),
      poller_(poller),
      version_(std::move(version)),
      diagnostics_(host, std::move(dumps_folder)),
      requests_(std::make_shared<RequestTable>(clock)) {}

AdminService::Unary* AdminService::GetStatus(Context* context, const admin::v1::GetStatusRequest*,
                                             admin::v1::Status* response) {
  *response = StatusMessage(*host_.snapshot(), version_);
  return Finish(context, absl::OkStatus());
}

AdminService::Unary* AdminService::ListServices(Context* context,
                                                const admin::v1::ListServicesRequest* request,
                                                admin::v1::ListServicesResponse* response) {
  const auto snapshot = host_.snapshot();
  const std::string& name = request->name();
  if (!name.empty()) {
    if (absl::Status status = CheckService(*snapshot, name); !status.ok()) {
      return Finish(context, status);
    }
  }
  auto page = TakePage(
      snapshot->services, request->page_size(), request->page_token(),
      [](const ServiceView& service) { return service.name; },
      [&](const ServiceView& service) { return name.empty() || service.name == name; });
  if (!page.ok()) return Finish(context, page.status());
  for (const ServiceView* view : page->items) *response->add_services() = ServiceMessage(*view);
  response->set_next_page_token(page->next_token);
  response->set_revision(snapshot->revision);
  return Finish(context, absl::OkStatus());
}

AdminService::Unary* AdminService::ListGroups(Context* context,
                                              const admin::v1::ListGroupsRequest* request,
                                              admin::v1::ListGroupsResponse* response) {
  const auto snapshot = host_.snapshot();
  const std::string& name = request->name();
  if (!name.empty()) {
    if (absl::Status status = CheckGroup(*snapshot, name); !status.ok()) {
      return Finish(context, status);
    }
  }
  auto page = TakePage(
      snapshot->groups, request->page_size(), request->page_token(),
      [](const GroupView& group) { return group.name; },
      [&](const GroupView& group) { return name.empty() || group.name == name; });
  if (!page.ok()) return Finish(context, page.status());
  for (const GroupView* view : page->items) {
    *response->add_groups() = GroupMessage(*view, *snapshot);
  }
  response->set_next_page_token(page->next_token);
  response->set_revision(snapshot->revision);
  return Finish(context, absl::OkStatus());
}

AdminService::Unary* AdminService::ListWorkers(Context* context,
                                               const admin::v1::ListWorkersRequest* request,
                                               admin::v1::ListWorkersResponse* response) {
  const auto snapshot = host_.snapshot();
  const std::string& group = request->group();
  if (!group.empty()) {
    if (absl::Status status = CheckGroup(*snapshot, group); !status.ok()) {
      return Finish(context, status);
    }
  }
  auto page =
      TakePage(snapshot->workers, request->page_size(), request->page_token(), WorkerKey,
               [&](const WorkerView& worker) { return group.empty() || worker.group == group; });
  if (!page.ok()) return Finish(context, page.status());
  for (const WorkerView* view : page->items) *response->add_workers() = WorkerMessage(*view);
  response->set_next_page_token(page->next_token);
  response->set_revision(snapshot->revision);
  return Finish(context, absl::OkStatus());
}

AdminService::Unary* AdminService::ListModules(Context* context,
                                               const admin::v1::ListModulesRequest* request,
                                               admin::v1::ListModulesResponse* response) {
  const auto snapshot = host_.snapshot();
  auto page = TakePage(snapshot->modules, request->page_size(), request->page_token(), ModuleKey,
                       [](const ModuleView&) { return true; });
  if (!page.ok()) return Finish(context, page.status());
  for (const ModuleView* view : page->items)
    *response->add_modules() = ModuleMessage(*view, *snapshot);
  response->set_next_page_token(page->next_token);
  return Finish(context, absl::OkStatus());
}

AdminService::Unary* AdminService::GetMemory(Context*, const admin::v1::GetMemoryRequest* request,
                                             admin::v1::Memory* response) {
  auto* call = new PendingCall;
  host_.MeasureMemory(request->modules() ? MemoryDepth::kModules : MemoryDepth::kProcesses,
                      [ticket = call->ticket(), response, modules = request->modules()](
                          absl::StatusOr<std::shared_ptr<const HostSnapshot>> snapshot) {
                        ticket->Finish([&] {
                          if (!snapshot.ok()) return GrpcStatus(snapshot.status());
                          *response = MemoryMessage(**snapshot);
                          if (modules) AddModuleMemory(**snapshot, *response);
                          return grpc::Status::OK;
                        });
                      });
  return call;
}

AdminService::Unary* AdminService::MeasureUnshared(Context* context,
                                                   const admin::v1::MeasureUnsharedRequest* request,
                                                   admin::v1::UnsharedMemory* response) {
  const uint32_t samples = request->samples() == 0 ? kDefaultSamples : request->samples();
  if (samples > kMostSamples) {
    return Finish(context, absl::InvalidArgumentError(
                               absl::StrCat("samples is ", samples, "; at most ", kMostSamples)));
  }
  const std::optional<uid_t> uid = peers_.Find(context->peer());
  if (!uid) return Finish(context, UnknownCaller());
  auto* call = new PendingCall;
  host_.MeasureUnshared(Caller{*uid, "", 0}, samples,
                        [ticket = call->ticket(), response](absl::StatusOr<UnsharedMemory> memory) {
                          ticket->Finish([&] {
                            if (!memory.ok()) return GrpcStatus(memory.status());
                            *response = UnsharedMessage(*memory);
                            return grpc::Status::OK;
                          });
                        });
  return call;
}

AdminService::Unary* AdminService::Plan(Context*, const admin::v1::PlanRequest* request,
                                        admin::v1::PlanResponse* response) {
  auto* call = new PendingCall;
  host_.Plan(request->deployment(), request->file_name(),
             [ticket = call->ticket(), response](absl::StatusOr<PlanOutcome> outcome) {
               ticket->Finish([&] {
                 if (!outcome.ok()) return GrpcStatus(outcome.status());
                 *response = PlanMessage(*outcome);
                 return grpc::Status::OK;
               });
             });
  return call;
}

AdminService::Unary* AdminService::Validate(Context*, const admin::v1::ValidateRequest* request,
                                            admin::v1::ValidateResponse* response) {
  auto* call = new PendingCall;
  host_.Validate(
      request->deployment(), request->file_name(),
      [ticket = call->ticket(), response](std::vector<ConfigProblem> problems, uint32_t services) {
        ticket->Finish([&] {
          for (const ConfigProblem& problem : problems) {
            *response->add_problems() = ProblemMessage(problem);
          }
          response->set_services(services);
          return grpc::Status::OK;
        });
      });
  return call;
}

template <typename Request, typename Response>
AdminService::Unary* AdminService::Mutate(Context* context, const Request& request,
                                          Response* response, absl::Status problem,
                                          std::function<void(Caller, Done)> work) {
  const std::optional<uid_t> uid = peers_.Find(context->peer());
  if (!uid) return Finish(context, UnknownCaller());
  auto* call = new PendingCall;
  const auto ticket = call->ticket();
  const auto answer = [ticket, response](const RequestTable::Outcome& outcome) {
    ticket->Finish([&] {
      if (!outcome.status.ok()) return GrpcStatus(outcome.status);
      if (!response->ParseFromString(outcome.response)) {
        return grpc::Status(grpc::StatusCode::INTERNAL, "a kept answer cannot be read");
      }
      return grpc::Status::OK;
    });
  };
  const RequestTable::Key key{*uid, request.request_id()};
  const bool keeps = !key.second.empty() && key.second.size() <= kLongestRequestId;
  if (keeps) {
    const absl::StatusOr<bool> first = requests_->Join(key, Fingerprint(request), answer);
    if (!first.ok()) answer({first.status(), ""});
    if (!first.ok() || !*first) return call;
  }
  const Done done = [requests = requests_, key, keeps, answer](
                        const absl::Status& status, const google::protobuf::Message* message) {
    RequestTable::Outcome outcome{status, message == nullptr ? "" : message->SerializeAsString()};
    answer(outcome);
    if (keeps) requests->Complete(key, std::move(outcome));
  };
  absl::Status refused =
      CheckMutation(request.request_id(), request.if_revision(), host_.snapshot()->revision);
  if (refused.ok()) refused = std::move(problem);
  if (refused.ok()) {
    work(Caller{*uid, request.request_id(), request.if_revision()}, done);
  } else {
    done(refused, nullptr);
  }
  return call;
}

AdminService::Unary* AdminService::Reload(Context* context, const admin::v1::ReloadRequest* request,
                                          admin::v1::ReloadResponse* response) {
  const ChangeAction action = request->imported() ? ChangeAction::kImport : ChangeAction::kReload;
  return Mutate(
      context, *request, response, absl::OkStatus(), [this, action](Caller caller, Done done) {
        host_.Reload(std::move(caller), action, [done](absl::StatusOr<ReloadOutcome> outcome) {
          if (!outcome.ok()) return done(outcome.status(), nullptr);
          const admin::v1::ReloadResponse message = ReloadMessage(*outcome);
          done(absl::OkStatus(), &message);
        });
      });
}

AdminService::Unary* AdminService::Deploy(Context* context, const admin::v1::DeployRequest* request,
                                          admin::v1::DeployResponse* response) {
  const absl::StatusOr<DeployRequest> asked = ToDeployRequest(*request);
  absl::Status problem = asked.status();
  if (problem.ok()) problem = CheckService(*host_.snapshot(), request->service());
  return Mutate(context, *request, response, std::move(problem),
                [this, asked](Caller caller, Done done) {
                  host_.Deploy(std::move(caller), *asked,
                               [done](const absl::StatusOr<DeployOutcome>& outcome) {
                                 if (!outcome.ok()) return done(outcome.status(), nullptr);
                                 const admin::v1::DeployResponse message = DeployMessage(*outcome);
                                 done(absl::OkStatus(), &message);
                               });
                });
}

AdminService::Unary* AdminService::Rollback(Context* context,
                                            const admin::v1::RollbackRequest* request,
                                            admin::v1::DeployResponse* response) {
  absl::Status problem;
  if (!request->service().empty()) {
    problem = CheckService(*host_.snapshot(), request->service());
  } else if (request->revision() == 0) {
    problem = absl::InvalidArgumentError("of the whole deployment, the revision must be named");
  }
  RollbackRequest asked{request->service(), request->revision(), request->wait()};
  return Mutate(
      context, *request, response, std::move(problem), [this, asked](Caller caller, Done done) {
        host_.Rollback(std::move(caller), asked,
                       [done](const absl::StatusOr<DeployOutcome>& outcome) {
                         if (!outcome.ok()) return done(outcome.status(), nullptr);
                         const admin::v1::DeployResponse message = DeployMessage(*outcome);
                         done(absl::OkStatus(), &message);
                       });
      });
}

AdminService::Unary* AdminService::ListHistory(Context* context,
                                               const admin::v1::ListHistoryRequest* request,
                                               admin::v1::ListHistoryResponse* response) {
  if (request->limit() > kMostHistory) {
    return Finish(context, absl::InvalidArgumentError(absl::StrCat("limit is ", request->limit(),
                                                                   "; at most ", kMostHistory)));
  }
  auto* call = new PendingCall;
  host_.ReadHistory(request->service(), request->limit() == 0 ? kUsualHistory : request->limit(),
                    [ticket = call->ticket(), response](const absl::StatusOr<HistoryView>& view) {
                      ticket->Finish([&] {
                        if (view.ok()) *response = HistoryMessage(*view);
                        return GrpcStatus(view.status());
                      });
                    });
  return call;
}

grpc::ServerWriteReactor<admin::v1::DeploymentPart>* AdminService::ExportDeployment(
    Context*, const admin::v1::ExportDeploymentRequest*) {
  using Stream = MessageStream<admin::v1::DeploymentPart>;
  // No limit of its own: one deployment is bounded, and all of it is there at once.
  const auto stream = std::make_shared<Stream>(SIZE_MAX);
  auto* call = stream->Open();
  host_.ExportDeployment([stream](const absl::StatusOr<DeploymentExport>& exported) {
    if (!exported.ok()) return stream->Close(GrpcStatus(exported.status()));
    for (admin::v1::DeploymentPart& part : DeploymentParts(*exported)) {
      if (stream->Push(std::move(part)) == Stream::Pushed::kClosed) return;
    }
    stream->Close(grpc::Status::OK);
  });
  return call;
}

AdminService::Unary* AdminService::MaintainModules(Context* context,
                                                   const admin::v1::MaintainModulesRequest* request,
                                                   admin::v1::MaintainModulesResponse* response) {
  absl::Status problem;
  if (!request->check() && !request->collect()) {
    problem = absl::InvalidArgumentError("nothing to do: ask for check, collect or both");
  }
  return Mutate(
      context, *request, response, std::move(problem),
      [this, check = request->check(), collect = request->collect()](Caller caller, Done done) {
        host_.MaintainStore(
            std::move(caller), check, collect, [done](const absl::StatusOr<StoreOutcome>& outcome) {
              if (!outcome.ok()) return done(outcome.status(), nullptr);
              const admin::v1::MaintainModulesResponse message = MaintainModulesMessage(*outcome);
              done(absl::OkStatus(), &message);
            });
      });
}

AdminService::Unary* AdminService::Recycle(Context* context,
                                           const admin::v1::RecycleRequest* request,
                                           admin::v1::RecycleResponse* response) {
  std::optional<uint32_t> slot;
  if (request->has_slot()) slot = request->slot();
  return Mutate(context, *request, response, CheckGroup(*host_.snapshot(), request->group(), slot),
                [this, group = request->group(), slot](Caller caller, Done done) {
                  host_.Recycle(std::move(caller), group, slot,
                                [done](absl::StatusOr<RecycleOutcome> outcome) {
                                  if (!outcome.ok()) return done(outcome.status(), nullptr);
                                  const admin::v1::RecycleResponse message =
                                      RecycleMessage(*outcome);
                                  done(absl::OkStatus(), &message);
                                });
                });
}

AdminService::Unary* AdminService::StopService(Context* context,
                                               const admin::v1::StopServiceRequest* request,
                                               admin::v1::StopServiceResponse* response) {
  return Mutate(context, *request, response, CheckService(*host_.snapshot(), request->name()),
                [this, name = request->name()](Caller caller, Done done) {
                  host_.StopService(std::move(caller), name, [done](absl::StatusOr<uint64_t> id) {
                    if (!id.ok()) return done(id.status(), nullptr);
                    admin::v1::StopServiceResponse message;
                    message.set_event_id(*id);
                    done(absl::OkStatus(), &message);
                  });
                });
}

AdminService::Unary* AdminService::StartService(Context* context,
                                                const admin::v1::StartServiceRequest* request,
                                                admin::v1::StartServiceResponse* response) {
  return Mutate(context, *request, response, CheckService(*host_.snapshot(), request->name()),
                [this, name = request->name()](Caller caller, Done done) {
                  host_.StartService(std::move(caller), name, [done](absl::StatusOr<uint64_t> id) {
                    if (!id.ok()) return done(id.status(), nullptr);
                    admin::v1::StartServiceResponse message;
                    message.set_event_id(*id);
                    done(absl::OkStatus(), &message);
                  });
                });
}

grpc::ServerWriteReactor<admin::v1::Event>* AdminService::WatchEvents(
    Context*, const admin::v1::WatchEventsRequest* request) {
  const absl::Status problem = CheckLast(request->last(), EventStream::kMostLast);
  if (!problem.ok()) return Refuse<admin::v1::Event>(problem);
  return EventStream::Open(host_, *request);
}

grpc::ServerWriteReactor<admin::v1::LogLine>* AdminService::WatchLogs(
    Context*, const admin::v1::WatchLogsRequest* request) {
  const absl::Status problem = CheckLogsRequest(*host_.snapshot(), *request);
  if (!problem.ok()) return Refuse<admin::v1::LogLine>(problem);
  return LogStream::Open(host_, poller_, *request);
}

DiagnosticsCalls::Call* AdminService::DumpWorker(Context* context,
                                                 const admin::v1::DumpWorkerRequest* request) {
  const std::optional<uid_t> uid = peers_.Find(context->peer());
  if (!uid) return Refuse<admin::v1::DiagnosticsPart>(UnknownCaller());
  return diagnostics_.Dump(*uid, *request);
}

DiagnosticsCalls::Call* AdminService::TraceWorker(Context* context,
                                                  const admin::v1::TraceWorkerRequest* request) {
  const std::optional<uid_t> uid = peers_.Find(context->peer());
  if (!uid) return Refuse<admin::v1::DiagnosticsPart>(UnknownCaller());
  return diagnostics_.Trace(*uid, *request);
}

}  // namespace cohost::supervisor
