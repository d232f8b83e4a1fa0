// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/diagnostics_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/system/file.h"
#include "supervisor/dotnet/diagnostics/timed_io.h"
#include "supervisor/dotnet/diagnostics/utf16.h"

namespace cohost::supervisor {
namespace {

constexpr int kTickMilliseconds = 5;

// A test without its fake can only fail.
int Must(int result) {
  if (result < 0) std::abort();
  return result;
}

template <typename Value>
std::string Bytes(Value value) {
  std::string bytes(sizeof(value), '\0');
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

void Send(const UniqueFd& connection, const IpcMessage& message) {
  const absl::StatusOr<std::string> bytes = Encode(message);
  if (!bytes.ok()) std::abort();
  // Ignoring: who asked may be gone.
  (void)::send(connection.get(), bytes->data(), bytes->size(), MSG_NOSIGNAL);
}

// The text at the begin of a payload.
std::string TextOf(const std::string& payload) {
  uint32_t units = 0;
  std::memcpy(&units, payload.data(), sizeof(units));
  return FromUtf16Bytes(std::string_view(payload).substr(sizeof(units), (units - 1) * 2));
}

}  // namespace

FakeDiagnosticsServer::FakeDiagnosticsServer(const std::string& folder)
    : path_(absl::StrCat(folder, "/dotnet-diagnostic-", ::getpid(), "-4711-socket")),
      wake_(Must(::eventfd(0, EFD_CLOEXEC))),
      listener_(Must(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0))) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
  Must(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)));
  Must(::listen(listener_.get(), 16));
  Must(::chmod(path_.c_str(), 0600));
  thread_ = std::thread([this] { Run(); });
}

FakeDiagnosticsServer::~FakeDiagnosticsServer() {
  Die();
  thread_.join();
  (void)::unlink(path_.c_str());
}

void FakeDiagnosticsServer::Die() {
  {
    MutexLock lock(mutex_);
    ends_ = true;
    streams_.clear();
    silent_.clear();
    listener_.Reset();
  }
  Must(::eventfd_write(wake_.get(), 1));
}

void FakeDiagnosticsServer::set_mood(Mood mood) {
  MutexLock lock(mutex_);
  mood_ = mood;
}
void FakeDiagnosticsServer::set_dump(std::string content) {
  MutexLock lock(mutex_);
  dump_ = std::move(content);
}
void FakeDiagnosticsServer::FailDumps(std::string text) {
  MutexLock lock(mutex_);
  failure_ = std::move(text);
}
void FakeDiagnosticsServer::AnswerWith(std::string bytes) {
  MutexLock lock(mutex_);
  raw_ = std::move(bytes);
}
void FakeDiagnosticsServer::set_stream(std::string begin) {
  MutexLock lock(mutex_);
  begin_ = std::move(begin);
}
std::vector<IpcMessage> FakeDiagnosticsServer::commands() const {
  MutexLock lock(mutex_);
  return commands_;
}
size_t FakeDiagnosticsServer::streams() const {
  MutexLock lock(mutex_);
  return streams_.size();
}
size_t FakeDiagnosticsServer::stopped() const {
  MutexLock lock(mutex_);
  return stopped_;
}

void FakeDiagnosticsServer::Run() {
  while (true) {
    pollfd watched[] = {{wake_.get(), POLLIN, 0}, {-1, POLLIN, 0}};
    {
      MutexLock lock(mutex_);
      if (ends_) return;
      watched[1].fd = listener_.get();
    }
    (void)::poll(watched, 2, kTickMilliseconds);
    Serve();
  }
}

void FakeDiagnosticsServer::Serve() {
  UniqueFd connection;
  {
    MutexLock lock(mutex_);
    if (ends_) return;
    Tick();
    connection.Reset(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }
  if (connection.valid()) Handle(std::move(connection));
}

void FakeDiagnosticsServer::Tick() {
  for (auto stream = streams_.begin(); stream != streams_.end();) {
    constexpr std::string_view kTick = "tick;";
    // As the runtime does: a closed connection ends the session.
    const bool gone =
        ::send(stream->second.get(), kTick.data(), kTick.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0 &&
        errno != EAGAIN;
    stream = gone ? streams_.erase(stream) : std::next(stream);
  }
}

void FakeDiagnosticsServer::Dump(const IpcMessage& command, const UniqueFd& connection) {
  if (!failure_.empty()) {
    const std::string text = Utf16Bytes(failure_);
    Send(connection,
         {kServerSet, kServerError,
          Bytes(uint32_t{0x80004005}) + Bytes(static_cast<uint32_t>(text.size() / 2 + 1)) + text +
              std::string(2, '\0')});
    return;
  }
  const absl::StatusOr<UniqueFd> file =
      OpenFile(TextOf(command.payload), O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (!file.ok() || !WriteAll(file->get(), dump_).ok()) std::abort();
  Send(connection, {kServerSet, kServerOk, Bytes(uint32_t{0})});
}

void FakeDiagnosticsServer::Handle(UniqueFd connection) {
  absl::StatusOr<Interrupt> interrupt = Interrupt::Create();
  if (!interrupt.ok()) std::abort();
  const absl::StatusOr<IpcMessage> command =
      ReceiveMessage(connection.get(), SystemClock().Steady() + absl::Seconds(20), *interrupt);
  MutexLock lock(mutex_);
  if (!command.ok() || ends_) return;
  commands_.push_back(*command);
  if (mood_ == Mood::kHangsUp) return;
  if (mood_ == Mood::kIsSilent) {
    silent_.push_back(std::move(connection));
  } else if (!raw_.empty()) {
    (void)::send(connection.get(), raw_.data(), raw_.size(), MSG_NOSIGNAL);
  } else if (command->set == kDumpSet) {
    Dump(*command, connection);
  } else if (command->command == kCollectTracing2) {
    Send(connection, {kServerSet, kServerOk, Bytes(++sessions_)});
    (void)::send(connection.get(), begin_.data(), begin_.size(), MSG_NOSIGNAL);
    streams_[sessions_] = std::move(connection);
  } else {
    uint64_t session = 0;
    std::memcpy(&session, command->payload.data(), sizeof(session));
    constexpr std::string_view kRundown = "rundown;";
    const UniqueFd stream = std::move(streams_[session]);
    (void)::send(stream.get(), kRundown.data(), kRundown.size(), MSG_NOSIGNAL);
    streams_.erase(session);
    ++stopped_;
    Send(connection, {kServerSet, kServerOk, Bytes(session)});
  }
}

}  // namespace cohost::supervisor
