// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "base/clock.h"
#include "proto/admin.pb.h"
#include "supervisor/admin/host_control.h"
#include "supervisor/admin/stream/log_file.h"
#include "supervisor/admin/stream/message_stream.h"
#include "supervisor/admin/stream/stream_poller.h"

namespace cohost::supervisor {

// One WatchLogs call: the files of the workers asked for, read at the client's pace, so a slow
// reader costs nothing. Of a service: those lines of its workers' logs that say "service":"NAME",
// as the log of the worker and of the SDK do; what a service writes to stdout itself is in the logs
// of its group. Past lines of several workers are merged by their time. Runs on the poller's
// thread; `host` and `poller` outlive the call.
class LogStream final : public Polled, public std::enable_shared_from_this<LogStream> {
 public:
  static constexpr uint32_t kMostLast = 10000;
  static constexpr uint32_t kDefaultLast = 100;
  static constexpr size_t kQueue = 1024;

  // The call for gRPC. The request is valid, its names exist, and `last` is at most kMostLast.
  static grpc::ServerWriteReactor<admin::v1::LogLine>* Open(
      HostControl& host, StreamPoller& poller, const admin::v1::WatchLogsRequest& request);

  void Poll() override;

 private:
  struct Source {
    std::string group;
    uint32_t slot = 0;
    LogFile file;
  };

  LogStream(HostControl& host, const admin::v1::WatchLogsRequest& request);

  bool Wants(const WorkerView& worker) const;
  bool Wants(std::string_view line) const;
  // Takes over new slots; what is gone is read to its end as long as the file is there.
  void FindSources();
  void ReadPast();
  void ReadNew();

  // Set in the constructor, never changed.
  HostControl& host_;
  const admin::v1::WatchLogsRequest request_;
  // "service":"NAME", empty without a service. Names have no character that JSON escapes, and
  // inside a string value the quotes would be escaped.
  const std::string needle_;
  const absl::Time opened_;
  const std::shared_ptr<MessageStream<admin::v1::LogLine>> stream_;

  // The poller's thread only.
  std::map<std::string, Source> sources_;  // by path
  SteadyTime searched_;
  bool past_read_ = false;
  // Past lines that the client has not taken yet.
  std::deque<admin::v1::LogLine> past_;
};

}  // namespace cohost::supervisor
