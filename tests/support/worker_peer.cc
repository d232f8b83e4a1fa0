// SPDX-License-Identifier: Apache-2.0
#include "tests/support/worker_peer.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/time/clock.h"
#include "base/status.h"
#include "base/system/file.h"
#include "base/system/seqpacket.h"
#include "grpcpp/create_channel_posix.h"

namespace cohost::testing {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

void Require(bool good, const char* what) {
  if (good) return;
  std::perror(what);
  std::abort();
}

UniqueFd MakeSegment(Segment*& mapping) {
  UniqueFd fd(::memfd_create("segment", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  Require(fd.valid(), "memfd_create");
  Require(::ftruncate(fd.get(), sizeof(Segment)) == 0, "ftruncate");
  void* const address =
      ::mmap(nullptr, sizeof(Segment), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  Require(address != MAP_FAILED, "mmap");
  mapping = static_cast<Segment*>(address);
  InitializeSegment(*mapping, /*generation=*/7);
  Require(::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0, "seals");
  return fd;
}

absl::Status FromGrpc(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

void SetDeadline(grpc::ClientContext& context, absl::Duration limit = kPatience) {
  context.set_deadline(absl::ToChronoTime(absl::Now() + limit));
}

google::protobuf::Duration ToProtoDuration(absl::Duration duration) {
  google::protobuf::Duration result;
  result.set_seconds(absl::ToInt64Seconds(duration));
  result.set_nanos(static_cast<int32_t>(
      absl::ToInt64Nanoseconds(duration - absl::Seconds(absl::ToInt64Seconds(duration)))));
  return result;
}

}  // namespace

WorkerPeer::WorkerPeer(const std::vector<std::string>& arguments) {
  absl::StatusOr<SocketPair> link = MakeSeqpacketPair();
  Require(link.ok(), "link");
  link_ = std::move(link->first);
  const UniqueFd segment = MakeSegment(segment_);
  const UniqueFd log(
      ::open((folder_ / "log").c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600));
  Require(log.valid(), "log");
  TestProcess::Options options;
  options.command = {ProgramPath("worker/cohost-worker")};
  options.command.insert(options.command.end(), arguments.begin(), arguments.end());
  options.environment = {"COHOST_GROUP=test", "COHOST_SLOT=0", "COHOST_GENERATION=7"};
  options.descriptors = {{STDOUT_FILENO, log.get()},
                         {STDERR_FILENO, log.get()},
                         {kLinkDescriptor, link->second.get()},
                         {kSegmentDescriptor, segment.get()}};
  absl::StatusOr<std::unique_ptr<TestProcess>> process = TestProcess::Start(options);
  Require(process.ok(), "worker");
  process_ = *std::move(process);
}

WorkerPeer::~WorkerPeer() {
  control_.reset();
  health_.reset();
  process_.reset();
  (void)::munmap(segment_, sizeof(Segment));
}

std::string WorkerPeer::Log() const {
  return ReadRegularFile(folder_ / "log", MiB(16)).value_or("(no log)");
}

absl::Status WorkerPeer::SendRaw(const std::string& bytes) {
  return SendMessage(link_.get(), bytes);
}

absl::Status WorkerPeer::Send(const LinkMessage& message, const std::vector<int>& descriptors) {
  return SendMessage(link_.get(), EncodeLinkMessage(message, descriptors.size()), descriptors);
}

absl::StatusOr<LinkMessage> WorkerPeer::Await(LinkType type, absl::Duration limit) {
  const absl::Time deadline = absl::Now() + limit;
  for (;;) {
    for (auto kept = kept_.begin(); kept != kept_.end(); ++kept) {
      if (kept->type != type) continue;
      LinkMessage found = std::move(*kept);
      kept_.erase(kept);
      return found;
    }
    pollfd readable{link_.get(), POLLIN, 0};
    const int64_t left = absl::ToInt64Milliseconds(deadline - absl::Now());
    if (left < 0 || ::poll(&readable, 1, static_cast<int>(left)) == 0) {
      return absl::DeadlineExceededError("no such message came over the link");
    }
    COHOST_ASSIGN_OR_RETURN(const Message message, ReceiveMessage(link_.get()));
    COHOST_ASSIGN_OR_RETURN(LinkMessage decoded,
                            DecodeLinkMessage(message.bytes, message.descriptors.size()));
    kept_.push_back(std::move(decoded));
  }
}

absl::StatusOr<LinkMessage> WorkerPeer::AwaitAnswer(LinkType type, uint64_t sequence) {
  COHOST_ASSIGN_OR_RETURN(LinkMessage answer, Await(type));
  // 0: the worker could not read which message it answers (descriptor limit).
  if (answer.sequence != sequence && answer.sequence != 0) {
    return absl::InternalError("the answer to another message");
  }
  return answer;
}

absl::StatusOr<LinkMessage> WorkerPeer::Hello() {
  LinkMessage hello;
  hello.type = LinkType::kHello;
  hello.sequence = ++sequence_;
  hello.binary_id = "test";
  COHOST_RETURN_IF_ERROR(Send(hello));
  return AwaitAnswer(LinkType::kState, hello.sequence);
}

absl::Status WorkerPeer::SendAndAwaitAck(LinkMessage message, const std::vector<int>& descriptors) {
  message.sequence = ++sequence_;
  COHOST_RETURN_IF_ERROR(Send(message, descriptors));
  COHOST_ASSIGN_OR_RETURN(const LinkMessage ack, AwaitAnswer(LinkType::kAck, message.sequence));
  return absl::Status(static_cast<absl::StatusCode>(ack.code), ack.message);
}

absl::Status WorkerPeer::Tell(LinkType type, int descriptor) {
  LinkMessage message;
  message.type = type;
  return SendAndAwaitAck(message,
                         descriptor < 0 ? std::vector<int>() : std::vector<int>{descriptor});
}

absl::Status WorkerPeer::GiveListener(uint64_t token, int listener) {
  LinkMessage message;
  message.type = LinkType::kListener;
  message.token = token;
  return SendAndAwaitAck(message, {listener});
}

absl::Status WorkerPeer::Drain(absl::Duration timeout) {
  LinkMessage message;
  message.type = LinkType::kDrain;
  message.timeout = timeout;
  return SendAndAwaitAck(message, {});
}

absl::Status WorkerPeer::OpenChannel() {
  COHOST_ASSIGN_OR_RETURN(SocketPair pair, MakeStreamPair());
  COHOST_RETURN_IF_ERROR(Tell(LinkType::kChannel, pair.second.get()));
  const auto channel = grpc::CreateInsecureChannelFromFd("worker", pair.first.Release());
  control_ = worker::v1::WorkerControl::NewStub(channel);
  health_ = grpc::health::v1::Health::NewStub(channel);
  return absl::OkStatus();
}

absl::StatusOr<worker::v1::AssignResponse> WorkerPeer::Assign(
    const worker::v1::AssignRequest& request) {
  grpc::ClientContext context;
  SetDeadline(context);
  const auto stream = control_->Assign(&context);
  (void)stream->Write(request);
  worker::v1::AssignResponse response;
  const bool answered = stream->Read(&response);
  (void)stream->WritesDone();
  const grpc::Status status = stream->Finish();
  if (!status.ok()) return FromGrpc(status);
  if (!answered) return absl::InternalError("the stream ended without an answer");
  return response;
}

absl::StatusOr<worker::v1::RemoveResponse> WorkerPeer::Remove(uint64_t service_id,
                                                              absl::Duration drain) {
  grpc::ClientContext context;
  SetDeadline(context);
  worker::v1::RemoveRequest request;
  request.set_service_id(service_id);
  *request.mutable_drain_timeout() = ToProtoDuration(drain);
  worker::v1::RemoveResponse response;
  COHOST_RETURN_IF_ERROR(FromGrpc(control_->Remove(&context, request, &response)));
  return response;
}

absl::StatusOr<worker::v1::ProbeResponse> WorkerPeer::Probe(absl::Duration timeout) {
  grpc::ClientContext context;
  SetDeadline(context);
  worker::v1::ProbeRequest request;
  *request.mutable_timeout() = ToProtoDuration(timeout);
  worker::v1::ProbeResponse response;
  COHOST_RETURN_IF_ERROR(FromGrpc(control_->Probe(&context, request, &response)));
  return response;
}

absl::StatusOr<HealthCheckResponse::ServingStatus> WorkerPeer::Check(const std::string& service) {
  grpc::ClientContext context;
  SetDeadline(context);
  HealthCheckRequest request;
  request.set_service(service);
  HealthCheckResponse response;
  COHOST_RETURN_IF_ERROR(FromGrpc(health_->Check(&context, request, &response)));
  return response.status();
}

LoopbackListener ListenOnLoopback() {
  LoopbackListener listener;
  listener.socket =
      UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, /*protocol=*/0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  Require(::bind(listener.socket.get(), generic, size) == 0, "bind");
  Require(::listen(listener.socket.get(), SOMAXCONN) == 0, "listen");
  Require(::getsockname(listener.socket.get(), generic, &size) == 0, "getsockname");
  listener.port = ntohs(address.sin_port);
  return listener;
}

worker::v1::AssignRequest NativeService(uint64_t id, const std::string& name,
                                        const std::string& path, uint64_t listener_token) {
  worker::v1::AssignRequest request;
  request.set_service_id(id);
  request.set_revision(1);
  request.set_name(name);
  request.set_runtime(v1::RUNTIME_NATIVE);
  request.set_module_path(path);
  worker::v1::Endpoint* const endpoint = request.add_endpoints();
  endpoint->set_listener_token(listener_token);
  endpoint->set_address("http://127.0.0.1");
  return request;
}

}  // namespace cohost::testing
