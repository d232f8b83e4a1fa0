// SPDX-License-Identifier: Apache-2.0
//
// `admin_host FOLDER`: the admin API of a fake host on FOLDER/admin.sock, its workers' logs in
// FOLDER. Says "ready" on stdout and ends when stdin does.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "supervisor/admin/admin_server.h"
#include "tests/fakes/host_control.h"
#include "tests/supervisor/admin/unix_socket.h"

namespace {

using cohost::supervisor::AdminServer;
using cohost::supervisor::HostSnapshot;

// Half a minute past a whole one, so that ages are the same however long a test takes.
const absl::Duration kUp = absl::Hours(3) + absl::Minutes(12) + absl::Seconds(30);

HostSnapshot HostIn(const std::string& folder) {
  HostSnapshot host = cohost::supervisor::SampleHost();
  const absl::Time sample_started = host.started;
  host.started = absl::Now() - kUp;
  for (auto& worker : host.workers) {
    worker.started = host.started;
    worker.log_file = absl::StrCat(folder, "/", worker.group, "-", worker.slot, ".log");
  }
  for (auto& module : host.modules) module.published += host.started - sample_started;
  return host;
}

void EmitHistory(cohost::supervisor::FakeHostControl& host) {
  cohost::supervisor::HostEvent event;
  event.kind = "supervisor_started";
  host.Emit(event);
  event.kind = "worker_state";
  event.group = "front";
  event.slot = 1;
  event.from = "starting";
  event.to = "ready";
  host.Emit(event);
  event = {};
  event.kind = "operator_stop";
  event.service = "catalog";
  event.message = "stopped";
  event.uid = 1000;
  event.cause_id = 1;
  host.Emit(event);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 1;
  const std::string folder = argv[1];
  cohost::supervisor::FakeHostControl host(HostIn(folder));
  EmitHistory(host);
  boost::asio::io_context loop{1};
  auto server = AdminServer::Start(host, loop, cohost::testing::ListenOn(folder + "/admin.sock"),
                                   {.version = "1.2.3"});
  if (!server.ok()) return 2;
  boost::asio::posix::stream_descriptor input(loop, ::dup(STDIN_FILENO));
  input.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                   [&](const boost::system::error_code&) { loop.stop(); });
  std::puts("ready");
  std::fflush(stdout);
  loop.run();
  server->reset();
  return 0;
}
