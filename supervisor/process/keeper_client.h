// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/system/unique_fd.h"
#include "supervisor/process/process_launcher.h"

namespace boost::asio {
class io_context;
}  // namespace boost::asio

namespace cohost::supervisor {

// The descriptor of the keeper's socket in the supervisor.
inline constexpr int kKeeperSocket = 3;

// The supervisor's end of the keeper's protocol (supervisor/keeper/protocol.h). Loop thread only:
// everything is called and called back on the io_context's one thread, callbacks never inside the
// call. It owns the socket; the io_context outlives it. Destroying it drops outstanding callbacks.
// Requests have a limit each (spawn 20 s, kill 10 s, others 5 s) and fail with DEADLINE_EXCEEDED,
// or with UNAVAILABLE when the keeper is gone.
class KeeperClient final : public ProcessLauncher, public DescriptorHolder {
 public:
  // Asks for everything that the keeper holds and waits for it, at most `limit`: the one blocking
  // call, for the start before the loop runs. Exit records that were part of the answer are given
  // to OnExit's handler from the loop.
  static absl::StatusOr<std::pair<std::unique_ptr<KeeperClient>, Inheritance>> Connect(
      boost::asio::io_context& loop, UniqueFd socket, absl::Duration limit = absl::Seconds(5));

  ~KeeperClient() override;

  // ProcessLauncher
  void Launch(ProcessSpec spec, std::function<void(absl::StatusOr<LaunchedProcess>)> done) override;
  void Kill(const std::string& name, std::function<void(absl::Status)> done) override;
  void OnExit(std::function<void(const ExitRecord&)> handler) override;

  // DescriptorHolder
  void Hold(const std::string& name, const std::string& blob, const std::vector<int>& descriptors,
            std::function<void(absl::Status)> done) override;
  void Release(const std::string& name) override;

  // The keeper was asked to end (SIGTERM, SIGINT): drain, then ReportShutdownComplete. Called at
  // once when it was asked before the handler was set; may be called again for a second signal.
  void OnShutdown(std::function<void()> handler);
  // The keeper got SIGHUP.
  void OnReload(std::function<void()> handler);
  // The keeper is gone or broke the protocol: nothing can be started any more. Called once.
  void OnDisconnect(std::function<void(absl::Status)> handler);

  // Tells that everything serves. `json_line`, without the newline, goes to the keeper's --ready-fd
  // the first time; one above 120 KiB is replaced by {"truncated":true}.
  void ReportReady(std::string_view json_line);
  // The keeper then kills what is left and exits with `exit_code`.
  void ReportShutdownComplete(int exit_code);

 private:
  class Session;
  explicit KeeperClient(std::shared_ptr<Session> session);

  // Shared with the asynchronous waits, which end when it is closed.
  const std::shared_ptr<Session> session_;
};

}  // namespace cohost::supervisor
