// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/diagnostics/received_file.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/system/file.h"

namespace cohost::supervisor {
namespace {

constexpr int kEndingSignals[] = {SIGINT, SIGTERM, SIGHUP};

// What the handler removes; empty: nothing. A handler can have no object.
char unfinished[PATH_MAX];

void RemoveAndEnd(int signal) {
  if (unfinished[0] != '\0') (void)::unlink(unfinished);
  // The handler is gone (SA_RESETHAND): the process ends by the signal, as its caller expects.
  (void)::raise(signal);
}

void RemoveAtSignals(const std::string& path) {
  const size_t size = path.copy(unfinished, sizeof(unfinished) - 1);
  unfinished[size] = '\0';
  struct sigaction action {};
  action.sa_handler = path.empty() ? SIG_DFL : RemoveAndEnd;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal : kEndingSignals) {
    struct sigaction before {};
    (void)::sigaction(signal, nullptr, &before);
    // Who was started with it ignored, by nohup, goes on.
    if (before.sa_handler != SIG_IGN) (void)::sigaction(signal, &action, nullptr);
  }
}

}  // namespace

absl::StatusOr<ReceivedFile> ReceivedFile::Create(const std::string& path) {
  std::string temporary = absl::StrCat(path, ".XXXXXX");
  UniqueFd fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, "create", temporary);
  RemoveAtSignals(temporary);
  return ReceivedFile(path, std::move(temporary), std::move(fd));
}

ReceivedFile::ReceivedFile(std::string path, std::string temporary, UniqueFd fd)
    : path_(std::move(path)), temporary_(std::move(temporary)), fd_(std::move(fd)) {}

ReceivedFile::ReceivedFile(ReceivedFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, "")),
      fd_(std::move(other.fd_)),
      size_(other.size_) {}

ReceivedFile::~ReceivedFile() {
  if (temporary_.empty()) return;
  // Ignoring a failed unlink: what went wrong before says more.
  (void)::unlink(temporary_.c_str());
  RemoveAtSignals("");
}

absl::Status ReceivedFile::Write(std::string_view bytes) {
  COHOST_RETURN_IF_ERROR(Annotate(WriteAll(fd_.get(), bytes), temporary_));
  size_.count += bytes.size();
  return absl::OkStatus();
}

absl::Status ReceivedFile::Finish() {
  if (::fsync(fd_.get()) != 0) return ErrnoStatus(errno, "fsync", temporary_);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return ErrnoStatus(errno, "rename", path_);
  temporary_.clear();
  RemoveAtSignals("");
  return absl::OkStatus();
}

}  // namespace cohost::supervisor
