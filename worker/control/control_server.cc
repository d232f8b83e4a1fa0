// SPDX-License-Identifier: Apache-2.0
#include "worker/control/control_server.h"

#include <utility>

#include "grpcpp/resource_quota.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "grpcpp/server_posix.h"

namespace cohost::worker {
namespace {

// One supervisor makes few calls at a time; a faulty one shall not make many.
constexpr int kMaxStreams = 256;
// gRPC's threads of a worker with one channel: what it has is used, more are not made.
constexpr int kMaxThreads = 4;

std::unique_ptr<grpc::Server> BuildServer(HealthService& health, ControlService& control) {
  grpc::ServerBuilder builder;
  grpc::ResourceQuota quota("worker");
  quota.SetMaxThreads(kMaxThreads);
  builder.SetResourceQuota(quota);
  // Channelz keeps a trace of every call: memory that nobody reads here.
  builder.AddChannelArgument(GRPC_ARG_ENABLE_CHANNELZ, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_CHANNEL_TRACE_EVENT_MEMORY_PER_NODE, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreams);
  // No measuring of a socketpair's bandwidth: that is a ping and its answer for every call.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder.RegisterService(&health);
  builder.RegisterService(&control);
  return builder.BuildAndStart();
}

}  // namespace

ControlServer::ControlServer(boost::asio::io_context& io, ControlHandler& handler)
    : health_(io), control_(io, handler) {}

ControlServer::~ControlServer() = default;

absl::Status ControlServer::AddChannel(UniqueFd channel) {
  if (server_ == nullptr) server_ = BuildServer(health_, control_);
  if (server_ == nullptr) return absl::InternalError("the gRPC server does not start");
  grpc::AddInsecureChannelFromFd(server_.get(), channel.Release());
  return absl::OkStatus();
}

}  // namespace cohost::worker
