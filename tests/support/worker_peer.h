// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/format/link_protocol.h"
#include "base/format/segment.h"
#include "base/system/unique_fd.h"
#include "proto/health.grpc.pb.h"
#include "proto/worker.grpc.pb.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_process.h"

namespace cohost::testing {

// A real cohost-worker, with the test in the supervisor's place: it makes the segment and the link,
// starts the worker, and speaks to it over the link and WorkerControl. One thread. The destructor
// kills the worker.
class WorkerPeer {
 public:
  // Ends the program when the worker cannot be started.
  explicit WorkerPeer(const std::vector<std::string>& arguments = {});
  ~WorkerPeer();

  TestProcess& process() { return *process_; }
  const Segment& segment() const { return *segment_; }
  // What the worker and its services have printed.
  std::string Log() const;

  // The link. Each waits for the answer; an error is the acknowledged status.
  absl::StatusOr<LinkMessage> Hello();
  absl::Status Tell(LinkType type, int descriptor = -1);
  absl::Status GiveListener(uint64_t token, int listener);
  absl::Status Drain(absl::Duration timeout);
  // Sends without waiting for an answer.
  absl::Status Send(const LinkMessage& message, const std::vector<int>& descriptors = {});
  absl::Status SendRaw(const std::string& bytes);
  // The next message of this type, kept or yet to come. Others are kept.
  absl::StatusOr<LinkMessage> Await(LinkType type, absl::Duration limit = kPatience);
  void CloseLink() { link_.Reset(); }

  // gRPC: gives the worker a channel and makes the stubs.
  absl::Status OpenChannel();
  worker::v1::WorkerControl::Stub& control() { return *control_; }
  grpc::health::v1::Health::Stub& health() { return *health_; }
  // One service over a stream of its own.
  absl::StatusOr<worker::v1::AssignResponse> Assign(const worker::v1::AssignRequest& request);
  absl::StatusOr<worker::v1::RemoveResponse> Remove(uint64_t service_id, absl::Duration drain);
  absl::StatusOr<worker::v1::ProbeResponse> Probe(absl::Duration timeout);
  absl::StatusOr<grpc::health::v1::HealthCheckResponse::ServingStatus> Check(
      const std::string& service);

 private:
  absl::StatusOr<LinkMessage> AwaitAnswer(LinkType type, uint64_t sequence);
  absl::Status SendAndAwaitAck(LinkMessage message, const std::vector<int>& descriptors);

  TemporaryFolder folder_;
  UniqueFd link_;
  Segment* segment_ = nullptr;
  std::unique_ptr<TestProcess> process_;
  uint64_t sequence_ = 0;
  std::deque<LinkMessage> kept_;
  std::unique_ptr<worker::v1::WorkerControl::Stub> control_;
  std::unique_ptr<grpc::health::v1::Health::Stub> health_;
};

// A listening TCP socket on 127.0.0.1, as the supervisor makes them, and its port.
struct LoopbackListener {
  UniqueFd socket;
  uint16_t port = 0;
};
LoopbackListener ListenOnLoopback();

// A request to load the native module at `path`, with one endpoint.
worker::v1::AssignRequest NativeService(uint64_t id, const std::string& name,
                                        const std::string& path, uint64_t listener_token);

}  // namespace cohost::testing
