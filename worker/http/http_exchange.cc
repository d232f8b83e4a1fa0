// SPDX-License-Identifier: Apache-2.0
#include "worker/http/http_exchange.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

namespace cohost::worker {
namespace {

// A request body that nobody has read and of which no more than this is to come is read and thrown
// away, so that the connection can be kept.
constexpr uint64_t kDiscardedForKeepAlive = 64 << 10;
// Memory that an exchange keeps for the next request.
constexpr size_t kKeptCapacity = 4 << 10;

void AppendChunk(std::string& out, std::string_view part) {
  std::array<char, 16> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), part.size(), 16).ptr;
  out.append(digits.data(), static_cast<size_t>(end - digits.data())).append("\r\n");
  out.append(part).append("\r\n");
}

void ClearText(std::string& text) {
  text.clear();
  if (text.capacity() > kKeptCapacity) text = std::string();
}

}  // namespace

uint32_t HttpExchange::Open(std::string_view bytes, std::string_view peer, SteadyTime start) {
  bytes_.assign(bytes);
  peer_.assign(peer);
  start_ = start;
  return ParseRequestHead(bytes_, head_);
}

void HttpExchange::Attach(ExchangeConnection* connection, ServiceEntry& entry,
                          SteadyTime deadline) {
  connection_ = connection;
  deadline_ = deadline;
  row_ = entry.row_index();
  MutexLock lock(mutex_);
  entry_ = &entry;
  quiet_ = true;
  continue_owed_ = head_.expects_continue;
  input_complete_ = head_.content_length == uint64_t{0};
}

HttpExchange::State HttpExchange::Take(std::string& output, size_t sent) {
  MutexLock lock(mutex_);
  if (output.empty()) output.swap(output_);
  unsent_ = output.size() - sent;
  if (output_.size() + unsent_ < kExchangeWindow) writer_waits_ = false;
  return StateLocked();
}

void HttpExchange::ReturnOutput(std::string output) {
  output.clear();
  MutexLock lock(mutex_);
  if (output_.empty()) output_.swap(output);
}

HttpExchange::State HttpExchange::state() {
  MutexLock lock(mutex_);
  return StateLocked();
}

void HttpExchange::EndQuiet() {
  MutexLock lock(mutex_);
  quiet_ = false;
}

HttpExchange::State HttpExchange::StateLocked() const {
  State state = answer_;
  const bool over = ended_ || stage_ == Stage::kComplete;
  state.wants_body = !input_complete_ && (over || unread() < kExchangeWindow);
  state.waits_for_client = reader_waits_ || writer_waits_;
  return state;
}

size_t HttpExchange::BodyRoom() {
  MutexLock lock(mutex_);
  // What nobody will read is thrown away by AddBody.
  if (ended_ || stage_ == Stage::kComplete) return kExchangeWindow;
  return kExchangeWindow - std::min(kExchangeWindow, unread());
}

void HttpExchange::AddBody(std::string_view part) {
  MutexLock lock(mutex_);
  continue_owed_ = false;
  input_total_ += part.size();
  if (ended_ || stage_ == Stage::kComplete) return;
  reader_waits_ = false;
  if (input_read_ > kExchangeWindow / 2) {
    input_.erase(0, input_read_);
    input_read_ = 0;
  }
  input_.append(part);
}

void HttpExchange::CompleteBody(const std::vector<std::pair<std::string, std::string>>* trailers) {
  MutexLock lock(mutex_);
  input_complete_ = true;
  reader_waits_ = false;
  if (trailers == nullptr) return;
  trailer_texts_ = *trailers;
  for (const auto& [name, value] : trailer_texts_) trailers_.push_back({name, value});
}

bool HttpExchange::AnswerByHost(uint32_t status, bool close) {
  MutexLock lock(mutex_);
  if (stage_ != Stage::kNoHead) return false;
  AnswerLocked(status, close);
  ended_ = true;
  return true;
}

void HttpExchange::EndForService() {
  MutexLock lock(mutex_);
  ended_ = true;
  reader_waits_ = writer_waits_ = false;
}

void HttpExchange::CallWaiting() {
  std::function<void()> readable;
  std::function<void()> writable;
  {
    MutexLock lock(mutex_);
    if (!on_readable_ && !on_writable_) return;
    const bool over = ended_ || stage_ == Stage::kComplete;
    if (over || input_complete_ || unread() > 0) readable.swap(on_readable_);
    if (over || output_.size() + unsent_ < kExchangeWindow) writable.swap(on_writable_);
  }
  if (!readable && !writable) return;
  const ScopedWork work(slots_, row_, start_);
  if (readable) readable();
  if (writable) writable();
}

void HttpExchange::Clear() {
  runtime_tag = 0;
  connection_ = nullptr;
  ClearText(bytes_);
  MutexLock lock(mutex_);
  quiet_ = ended_ = chunked_ = writer_waits_ = false;
  entry_ = nullptr;
  stage_ = Stage::kNoHead;
  answer_ = {};
  length_left_.reset();
  ClearText(output_);
  unsent_ = 0;
  on_writable_ = nullptr;
  ClearText(input_);
  input_read_ = 0;
  input_total_ = 0;
  input_complete_ = continue_owed_ = reader_waits_ = trailers_shown_ = false;
  trailer_texts_.clear();
  trailers_.clear();
  on_readable_ = nullptr;
}

void HttpExchange::OnLoop() {
  NoteCall();
  if (connection_ != nullptr) {
    connection_->OnExchange();
  } else {
    CallWaiting();
  }
}

void HttpExchange::OnRefused() {
  bool quiet = false;
  {
    MutexLock lock(mutex_);
    if (stage_ != Stage::kNoHead || ended_) return;
    Add(entry_->counters().limit_hits[static_cast<size_t>(LimitHit::kQueueFull)], 1);
    AnswerLocked(503, /*close=*/false);
    ended_ = true;
    quiet = quiet_;
  }
  Notify(quiet);
}

void HttpExchange::Notify(bool quiet) {
  if (!quiet) inbox_.Push(std::static_pointer_cast<HttpExchange>(shared_from_this()));
}

ExchangeResult HttpExchange::ReadBody(char* buffer, size_t size, size_t* read) {
  *read = 0;
  bool quiet = false;
  {
    MutexLock lock(mutex_);
    if (ended_ || stage_ == Stage::kComplete) return ExchangeResult::kGone;
    if (unread() > 0 && size > 0) {
      const bool was_full = unread() >= kExchangeWindow / 2;
      *read = std::min(size, unread());
      std::memcpy(buffer, input_.data() + input_read_, *read);
      input_read_ += *read;
      if (unread() == 0) {
        input_.clear();
        input_read_ = 0;
      }
      // The connection stops reading when the window is full, and goes on at half of it.
      if (!was_full || unread() >= kExchangeWindow / 2 || input_complete_) {
        return ExchangeResult::kOk;
      }
      quiet = quiet_;
    } else if (unread() > 0) {
      return ExchangeResult::kInvalid;
    } else if (input_complete_) {
      trailers_shown_ = true;
      return ExchangeResult::kEnd;
    } else {
      if (continue_owed_ && stage_ == Stage::kNoHead) {
        output_.append("HTTP/1.1 100 Continue\r\n\r\n");
        continue_owed_ = false;
      }
      reader_waits_ = true;
      quiet = quiet_;
    }
  }
  Notify(quiet);
  return *read > 0 ? ExchangeResult::kOk : ExchangeResult::kWouldBlock;
}

std::span<const HeaderView> HttpExchange::trailers() const {
  MutexLock lock(mutex_);
  if (!trailers_shown_) return {};
  return trailers_;
}

void HttpExchange::OnReadable(std::function<void()> ready) {
  bool quiet = false;
  {
    MutexLock lock(mutex_);
    on_readable_ = std::move(ready);
    quiet = quiet_;
  }
  Notify(quiet);
}

void HttpExchange::OnWritable(std::function<void()> ready) {
  bool quiet = false;
  {
    MutexLock lock(mutex_);
    on_writable_ = std::move(ready);
    quiet = quiet_;
  }
  Notify(quiet);
}

ExchangeResult HttpExchange::CheckHead(uint32_t status, std::span<const HeaderView> headers) const {
  if (ended_ || stage_ == Stage::kComplete) return ExchangeResult::kGone;
  if (stage_ != Stage::kNoHead || !IsAllowedHead(status, headers)) return ExchangeResult::kInvalid;
  return ExchangeResult::kOk;
}

Persistence HttpExchange::DecidePersistence(bool close) {
  close = close || !head_.keep_alive || entry_->draining();
  // A client that was not told to continue may send the body or not: nobody can tell what follows.
  close = close || continue_owed_;
  if (!input_complete_) {
    close = close || !head_.content_length.has_value() ||
            *head_.content_length - input_total_ > kDiscardedForKeepAlive;
  }
  answer_.close = close;
  if (close) return Persistence::kClose;
  return head_.http_1_0 ? Persistence::kKeepAliveHttp10 : Persistence::kKeepAlive;
}

void HttpExchange::StartHead(uint32_t status, std::span<const HeaderView> headers,
                             Framing framing) {
  answer_.head_made = true;
  answer_.status = status;
  answer_.until_close = framing.kind == Framing::kUntilClose;
  AppendResponseHead(output_, status, headers, framing,
                     DecidePersistence(/*close=*/answer_.until_close));
  stage_ = Stage::kBody;
}

void HttpExchange::AnswerLocked(uint32_t status, bool close) {
  answer_.head_made = answer_.complete = true;
  answer_.status = status;
  AppendHostAnswer(output_, status, DecidePersistence(close), head_.is_head());
  stage_ = Stage::kComplete;
  reader_waits_ = writer_waits_ = false;
}

ExchangeResult HttpExchange::Respond(uint32_t status, std::span<const HeaderView> headers,
                                     std::string_view body) {
  bool quiet = false;
  {
    MutexLock lock(mutex_);
    if (const auto result = CheckHead(status, headers); result != ExchangeResult::kOk) {
      return result;
    }
    if (HasNoBody(status) && !body.empty()) return ExchangeResult::kInvalid;
    StartHead(status, headers,
              HasNoBody(status) ? Framing{} : Framing{Framing::kLength, body.size()});
    if (!head_.is_head()) output_.append(body);
    stage_ = Stage::kComplete;
    answer_.complete = true;
    reader_waits_ = writer_waits_ = false;
    quiet = quiet_;
  }
  Notify(quiet);
  return ExchangeResult::kOk;
}

ExchangeResult HttpExchange::SendHead(uint32_t status, std::span<const HeaderView> headers,
                                      std::optional<uint64_t> content_length) {
  bool quiet = false;
  {
    MutexLock lock(mutex_);
    if (const auto result = CheckHead(status, headers); result != ExchangeResult::kOk) {
      return result;
    }
    if (HasNoBody(status)) {
      if (content_length.value_or(0) > 0 && status == 204) return ExchangeResult::kInvalid;
      StartHead(status, headers, {});
      length_left_ = 0;
    } else if (content_length.has_value()) {
      StartHead(status, headers, {Framing::kLength, *content_length});
      length_left_ = content_length;
    } else {
      chunked_ = !head_.http_1_0;
      StartHead(status, headers, {chunked_ ? Framing::kChunked : Framing::kUntilClose, 0});
    }
    quiet = quiet_;
  }
  Notify(quiet);
  return ExchangeResult::kOk;
}

ExchangeResult HttpExchange::WriteBody(std::string_view part) {
  bool quiet = false;
  bool full = false;
  {
    MutexLock lock(mutex_);
    if (ended_ || stage_ == Stage::kComplete) return ExchangeResult::kGone;
    if (stage_ != Stage::kBody) return ExchangeResult::kInvalid;
    if (length_left_.has_value() && part.size() > *length_left_) return ExchangeResult::kInvalid;
    full = output_.size() + unsent_ >= kExchangeWindow;
    quiet = quiet_;
    if (full) {
      writer_waits_ = true;
    } else {
      if (length_left_.has_value()) *length_left_ -= part.size();
      // An empty chunk would be the last one.
      if (part.empty() || head_.is_head()) return ExchangeResult::kOk;
      if (chunked_) {
        AppendChunk(output_, part);
      } else {
        output_.append(part);
      }
    }
  }
  Notify(quiet);
  return full ? ExchangeResult::kWouldBlock : ExchangeResult::kOk;
}

ExchangeResult HttpExchange::Finish(std::span<const HeaderView> trailers) {
  bool quiet = false;
  {
    MutexLock lock(mutex_);
    if (ended_ || stage_ == Stage::kComplete) return ExchangeResult::kGone;
    if (stage_ != Stage::kBody || !AreAllowedFields(trailers)) return ExchangeResult::kInvalid;
    if (length_left_.value_or(0) > 0 && !head_.is_head()) return ExchangeResult::kInvalid;
    if (chunked_ && !head_.is_head()) {
      output_.append("0\r\n");
      AppendFields(output_, trailers);
      output_.append("\r\n");
    }
    stage_ = Stage::kComplete;
    answer_.complete = true;
    reader_waits_ = writer_waits_ = false;
    quiet = quiet_;
  }
  Notify(quiet);
  return ExchangeResult::kOk;
}

void HttpExchange::Abort() {
  bool quiet = false;
  {
    MutexLock lock(mutex_);
    if (ended_ || stage_ == Stage::kComplete) return;
    if (stage_ == Stage::kNoHead) {
      AnswerLocked(500, /*close=*/false);
    } else {
      answer_.cut = answer_.complete = true;
      stage_ = Stage::kComplete;
    }
    quiet = quiet_;
  }
  Notify(quiet);
}

}  // namespace cohost::worker
