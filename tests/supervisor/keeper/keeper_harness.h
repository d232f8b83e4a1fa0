// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "base/system/unique_fd.h"
#include "supervisor/process/keeper_client.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_process.h"

namespace cohost::supervisor {

// A supervisor's seat under a real cohostd: the program in it is relay_supervisor, and the test
// uses its socket to the keeper.
class Seat {
 public:
  Seat(UniqueFd control, UniqueFd keeper_socket, pid_t pid, std::vector<std::string> arguments);

  // Asks the keeper for everything. Once.
  void Connect();
  KeeperClient& client() { return *client_; }
  boost::asio::io_context& loop() { return loop_; }
  Inheritance& inheritance() { return inheritance_; }
  UniqueFd TakeSocket() { return std::move(keeper_socket_); }

  pid_t pid() const { return pid_; }
  const std::vector<std::string>& arguments() const { return arguments_; }
  // Every exit record that came, acknowledged.
  const std::vector<ExitRecord>& exits() const { return exits_; }
  const ExitRecord* FindExit(const std::string& name) const;

  // Runs the loop until the condition holds; false after the tests' patience.
  bool RunUntil(const std::function<bool()>& condition);
  absl::StatusOr<LaunchedProcess> Launch(ProcessSpec spec);
  absl::Status Kill(const std::string& name);
  absl::Status Hold(const std::string& name, const std::string& blob,
                    const std::vector<int>& descriptors);
  // The supervisor program ends: "exit N" or "abort".
  void Tell(const std::string& command);

 private:
  UniqueFd control_;
  UniqueFd keeper_socket_;
  pid_t pid_;
  std::vector<std::string> arguments_;
  boost::asio::io_context loop_;
  std::unique_ptr<KeeperClient> client_;
  Inheritance inheritance_;
  std::vector<ExitRecord> exits_;
};

// A cohostd whose supervisors' seats the test takes.
class KeeperHarness {
 public:
  KeeperHarness();
  // Ends the keeper as people do, so that it leaves nothing on the machine.
  ~KeeperHarness();

  // `wrapper` stands before the command: {"/usr/bin/unshare", "-p", ...}.
  void Start(const std::vector<std::string>& options = {},
             testing::TestProcess::Options process = {},
             const std::vector<std::string>& wrapper = {});
  // The next supervisor that the keeper starts; null when none comes.
  std::unique_ptr<Seat> NextSeat();
  testing::TestProcess& process() { return *process_; }
  const testing::TemporaryFolder& folder() const { return folder_; }

 private:
  testing::TemporaryFolder folder_;
  UniqueFd listener_;
  std::unique_ptr<testing::TestProcess> process_;
};

// A spec of a shell command.
ProcessSpec Shell(const std::string& name, const std::string& command);
// A spec of a program that sleeps: what the keeper executes is what is then looked at, while a
// shell would change its environment before it does.
ProcessSpec Sleep(const std::string& name);
// `key:` of /proc/PID/status without surrounding blanks.
std::string StatusField(pid_t pid, const std::string& key);
// Processes of this test whose environment says that they belong to `name`.
std::vector<pid_t> ProcessesMarked(const std::string& name);

}  // namespace cohost::supervisor
