// SPDX-License-Identifier: Apache-2.0
#include "supervisor/admin/stream/log_stream.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/valid_utf8.h"

namespace cohost::supervisor {
namespace {

// Slots change rarely, and a snapshot costs the loop something.
constexpr absl::Duration kSearchInterval = absl::Seconds(1);

// Value of a line's first key when that is "time", as base/log.h writes it.
std::string_view TimeOf(std::string_view line) {
  constexpr std::string_view kStart = "{\"time\":\"";
  if (line.substr(0, kStart.size()) != kStart) return {};
  line.remove_prefix(kStart.size());
  return line.substr(0, line.find('"'));
}

struct PastLine {
  std::string time;
  admin::v1::LogLine line;
};

admin::v1::LogLine Message(const std::string& group, uint32_t slot, std::string_view line) {
  admin::v1::LogLine message;
  message.set_group(group);
  message.set_slot(slot);
  // A proto string is UTF-8; a service may print anything.
  message.set_line(ValidUtf8(line));
  return message;
}

}  // namespace

LogStream::LogStream(HostControl& host, const admin::v1::WatchLogsRequest& request)
    : host_(host),
      request_(request),
      needle_(request.service().empty() ? ""
                                        : absl::StrCat("\"service\":\"", request.service(), "\"")),
      opened_(absl::Now()),
      stream_(std::make_shared<MessageStream<admin::v1::LogLine>>(kQueue)) {}

grpc::ServerWriteReactor<admin::v1::LogLine>* LogStream::Open(
    HostControl& host, StreamPoller& poller, const admin::v1::WatchLogsRequest& request) {
  const std::shared_ptr<LogStream> self(new LogStream(host, request));
  self->stream_->OnRoom([&poller] { poller.Wake(); });
  // Holds the stream as long as gRPC's call lives.
  self->stream_->OnClosed([self] {});
  auto* call = self->stream_->Open();
  poller.Add(self);
  return call;
}

bool LogStream::Wants(const WorkerView& worker) const {
  if (worker.log_file.empty()) return false;
  if (!request_.service().empty()) {
    return std::find(worker.services.begin(), worker.services.end(), request_.service()) !=
           worker.services.end();
  }
  return worker.group == request_.group() &&
         (!request_.has_slot() || worker.slot == request_.slot());
}

bool LogStream::Wants(std::string_view line) const {
  return needle_.empty() || line.find(needle_) != std::string_view::npos;
}

void LogStream::FindSources() {
  const SteadyTime now = SystemClock().Steady();
  if (past_read_ && now - searched_ < kSearchInterval) return;
  searched_ = now;
  const std::shared_ptr<const HostSnapshot> snapshot = host_.snapshot();
  for (const WorkerView& worker : snapshot->workers) {
    if (!Wants(worker) || sources_.count(worker.log_file) != 0) continue;
    LogFile::From from = LogFile::From::kTail;
    if (past_read_) {
      // A slot that is new to us: all of it when it began after this call.
      from = worker.started >= opened_ ? LogFile::From::kStart : LogFile::From::kEnd;
    }
    sources_.emplace(worker.log_file,
                     Source{worker.group, worker.slot, LogFile(worker.log_file, from)});
  }
}

void LogStream::ReadPast() {
  size_t wanted = request_.last();
  if (wanted == 0 && !request_.follow()) wanted = kDefaultLast;
  std::vector<PastLine> lines;
  for (auto& [path, source] : sources_) {
    std::string time;
    // No more lines than bytes: this reads up to the present end.
    for (std::string& line : source.file.Read(LogFile::kTail)) {
      if (const std::string_view own = TimeOf(line); !own.empty()) time = own;
      if (!Wants(line)) continue;
      lines.push_back({time, Message(source.group, source.slot, line)});
    }
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const PastLine& a, const PastLine& b) { return a.time < b.time; });
  if (lines.size() > wanted) {
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(wanted));
  }
  for (PastLine& past : lines) past_.push_back(std::move(past.line));
  past_read_ = true;
}

void LogStream::ReadNew() {
  for (auto& [path, source] : sources_) {
    // A block holds more lines than were asked for; those wait in past_.
    const size_t room = stream_->room();
    if (room == 0 || !past_.empty()) return;
    for (std::string& line : source.file.Read(room)) {
      if (!Wants(line)) continue;
      past_.push_back(Message(source.group, source.slot, line));
    }
    while (!past_.empty() && stream_->room() > 0) {
      stream_->Push(std::move(past_.front()));
      past_.pop_front();
    }
  }
}

void LogStream::Poll() {
  if (stream_->closed()) return;
  FindSources();
  if (!past_read_) ReadPast();
  while (!past_.empty() && stream_->room() > 0) {
    stream_->Push(std::move(past_.front()));
    past_.pop_front();
  }
  if (!past_.empty()) return;
  if (!request_.follow()) return stream_->Close(grpc::Status::OK);
  ReadNew();
}

}  // namespace cohost::supervisor
