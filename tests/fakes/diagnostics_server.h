// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "base/system/unique_fd.h"
#include "supervisor/dotnet/diagnostics/ipc_message.h"

namespace cohost::supervisor {

// A .NET runtime's diagnostics socket without .NET: listens in `folder` under the name that the
// runtime of this process would give it, takes dumps and traces. A trace's stream is what
// `set_stream` says, then a "tick;" every few milliseconds, and "rundown;" at its end. Thread-safe.
class FakeDiagnosticsServer {
 public:
  enum class Mood {
    kAnswers,
    kIsSilent,  // takes commands and says nothing
    kHangsUp,   // closes the connection at the first command
  };

  explicit FakeDiagnosticsServer(const std::string& folder);
  ~FakeDiagnosticsServer();
  FakeDiagnosticsServer(const FakeDiagnosticsServer&) = delete;
  FakeDiagnosticsServer& operator=(const FakeDiagnosticsServer&) = delete;

  void set_mood(Mood mood);
  // What is written as a dump.
  void set_dump(std::string content);
  // Dumps fail like that; empty: they do not.
  void FailDumps(std::string text);
  // Every command is answered with these bytes.
  void AnswerWith(std::string bytes);
  // Begins every stream.
  void set_stream(std::string begin);
  // As when the process is killed.
  void Die();

  const std::string& socket_path() const { return path_; }
  std::vector<IpcMessage> commands() const;
  // Sessions that stream, and those that were ended by a command.
  size_t streams() const;
  size_t stopped() const;

 private:
  void Run();
  void Serve();
  void Handle(UniqueFd connection);
  void Tick() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Dump(const IpcMessage& command, const UniqueFd& connection)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Set in the constructor, never changed.
  const std::string path_;
  UniqueFd wake_;

  mutable Mutex mutex_;
  UniqueFd listener_ ABSL_GUARDED_BY(mutex_);
  bool ends_ ABSL_GUARDED_BY(mutex_) = false;
  Mood mood_ ABSL_GUARDED_BY(mutex_) = Mood::kAnswers;
  std::string dump_ ABSL_GUARDED_BY(mutex_) = "a dump";
  std::string failure_ ABSL_GUARDED_BY(mutex_);
  std::string raw_ ABSL_GUARDED_BY(mutex_);
  std::string begin_ ABSL_GUARDED_BY(mutex_);
  std::vector<IpcMessage> commands_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, UniqueFd> streams_ ABSL_GUARDED_BY(mutex_);  // by session
  std::vector<UniqueFd> silent_ ABSL_GUARDED_BY(mutex_);
  uint64_t sessions_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t stopped_ ABSL_GUARDED_BY(mutex_) = 0;
  std::thread thread_;
};

}  // namespace cohost::supervisor
