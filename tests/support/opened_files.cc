// SPDX-License-Identifier: Apache-2.0
#include "tests/support/opened_files.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/fanotify.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace cohost::testing {

absl::StatusOr<std::unique_ptr<OpenedFiles>> OpenedFiles::Watch(
    const std::vector<std::string>& folders) {
  UniqueFd events(
      ::fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_NONBLOCK | FAN_UNLIMITED_QUEUE,
                      O_RDONLY | O_CLOEXEC | O_LARGEFILE));
  if (!events.valid()) return ErrnoStatus(errno, "fanotify_init", "");
  for (const std::string& folder : folders) {
    if (::fanotify_mark(events.get(), FAN_MARK_ADD | FAN_MARK_MOUNT, FAN_OPEN | FAN_OPEN_EXEC,
                        AT_FDCWD, folder.c_str()) != 0) {
      return ErrnoStatus(errno, "fanotify_mark", folder);
    }
  }
  UniqueFd stop(::eventfd(0, EFD_CLOEXEC));
  if (!stop.valid()) return ErrnoStatus(errno, "eventfd", "");
  return std::unique_ptr<OpenedFiles>(new OpenedFiles(std::move(events), std::move(stop)));
}

OpenedFiles::OpenedFiles(UniqueFd events, UniqueFd stop)
    : events_(std::move(events)), stop_(std::move(stop)), thread_([this] { Run(); }) {}

OpenedFiles::~OpenedFiles() {
  if (thread_.joinable()) Stop();
}

std::map<pid_t, std::set<std::string>> OpenedFiles::Stop() {
  const uint64_t one = 1;
  // Ignoring the result: an eventfd takes a 1.
  (void)!::write(stop_.get(), &one, sizeof one);
  thread_.join();
  Drain();
  MutexLock lock(mutex_);
  return paths_;
}

void OpenedFiles::Run() {
  pollfd waits[] = {{events_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
  while (waits[1].revents == 0) {
    if (::poll(waits, 2, -1) < 0 && errno != EINTR) return;
    Drain();
  }
}

void OpenedFiles::Drain() {
  alignas(fanotify_event_metadata) char buffer[16 * 1024];
  for (ssize_t length; (length = ::read(events_.get(), buffer, sizeof buffer)) > 0;) {
    auto* event = reinterpret_cast<fanotify_event_metadata*>(buffer);
    for (; FAN_EVENT_OK(event, length); event = FAN_EVENT_NEXT(event, length)) {
      if (event->fd < 0) continue;
      const UniqueFd file(event->fd);
      char path[PATH_MAX];
      const ssize_t size =
          ::readlink(absl::StrCat("/proc/self/fd/", file.get()).c_str(), path, sizeof path);
      if (size <= 0) continue;
      MutexLock lock(mutex_);
      paths_[event->pid].emplace(path, static_cast<size_t>(size));
    }
  }
}

}  // namespace cohost::testing
