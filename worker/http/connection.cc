// SPDX-License-Identifier: Apache-2.0
#include "worker/http/connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>

namespace cohost::worker {
namespace {

namespace asio = boost::asio;

// What is read from a client that has been answered for the last time, so that its kernel does not
// throw the answer away: no longer and no more than this.
constexpr absl::Duration kLingerTime = absl::Seconds(2);
constexpr uint64_t kLingerBytes = 256 << 10;
// Who has just connected is about to ask, and a connection that ends unanswered looks like a crash:
// a drain without a successor lets it ask once, for so long after its arrival.
constexpr absl::Duration kFirstRequestGrace = absl::Seconds(1);
// Room to take for a head that does not fit into the connection, and for bodies.
constexpr size_t kHeadRoom = 4 << 10;
constexpr size_t kBodyRoom = 32 << 10;

// The claim of 2 KB for an idle connection: this, Asio's descriptor state and its waiting read.
static_assert(sizeof(Connection) <= 1280);

}  // namespace

Connection::Connection(ConnectionContext& context, ServiceEntry& entry, Arrival arrival,
                       std::string peer)
    : context_(context),
      entry_(entry),
      arrival_(arrival),
      peer_(std::move(peer)),
      socket_(context.io),
      body_sink_([this](std::string_view part) { TakeBodyPart(part); }) {}

Connection::~Connection() = default;

void Connection::Start(UniqueFd socket) {
  if (peer_ != "unix" && arrival_ != Arrival::kInternal) {
    const int on = 1;
    // Ignoring the result: without it small parts of an answer wait for the client's ACK.
    (void)setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  }
  boost::system::error_code error;
  // The family is only kept by Asio, not used.
  socket_.assign(asio::generic::stream_protocol(AF_UNIX, 0), socket.get(), error);
  if (error) return Close();
  socket.Release();
  socket_.native_non_blocking(true, error);
  if (error) return Close();
  active_ = Now();
  Process();
}

void Connection::Read() {
  if (reading_ || end_of_input_ || phase_ == Phase::kClosed) return;
  const bool in_body = phase_ != Phase::kIdle && phase_ != Phase::kHead && !body_.complete();
  if (in_body) body_awaited_ = Now();
  // What is awaited for long is awaited in the connection's own few bytes.
  if (!in_body) input_.Release();
  const std::span<char> room = input_.Prepare(in_body ? kBodyRoom : kHeadRoom);
  reading_ = true;
  // Not async_wait: that costs a call of epoll_ctl each time.
  socket_.async_read_some(
      asio::buffer(room.data(), room.size()),
      [self = shared_from_this()](const boost::system::error_code& error, size_t count) {
        self->OnRead(error, count);
      });
}

void Connection::OnRead(const boost::system::error_code& error, size_t count) {
  reading_ = false;
  if (phase_ == Phase::kClosed) return;
  if (error) return OnReadFailed(error);
  input_.Commit(count);
  Add(entry_.counters().bytes_received, count);
  active_ = Now();
  Process();
}

void Connection::OnReadFailed(const boost::system::error_code& error) {
  if (error == asio::error::operation_aborted) {
    // Drain stopped the read of an idle connection: nothing has been read.
    Process();
    return;
  }
  end_of_input_ = true;
  const bool half_closed = error == asio::error::eof;
  // A client that has sent all of its request may close its half and still wait for the answer. A
  // probe closes all: what it gave up must not keep a place in the service.
  const bool may_wait = arrival_ != Arrival::kInternal;
  if (half_closed && may_wait && phase_ == Phase::kRequest && body_.complete()) return;
  if (half_closed && phase_ == Phase::kLinger && writing_) return;
  Abandon(CancelReason::kClientGone);
  Close();
}

void Connection::Process() {
  bool more = true;
  while (more) {
    switch (phase_) {
      case Phase::kIdle:
        more = ProcessIdle();
        break;
      case Phase::kHead:
        more = ProcessHead();
        break;
      case Phase::kRequest:
        more = ReadBody() && Advance();
        break;
      case Phase::kBodyRest:
        more = ProcessBodyRest();
        break;
      case Phase::kLinger:
        more = ProcessLinger();
        break;
      case Phase::kClosed:
        more = false;
        break;
    }
  }
}

bool Connection::ProcessIdle() {
  scanner_.Reset();
  skipped_line_ = head_timed_ = false;
  if (!input_.empty()) {
    phase_ = Phase::kHead;
    return true;
  }
  if (end_of_input_) {
    Close();
    return false;
  }
  const bool may_ask = fresh_ && arrival_ == Arrival::kAccepted && !hand_over_;
  if (draining_ && may_ask && Now() < active_ + kFirstRequestGrace) {
    SetDeadline(active_, kFirstRequestGrace);
    Read();
    return false;
  }
  if (draining_) {
    LeaveIdle();
    return phase_ == Phase::kLinger;
  }
  SetDeadline(active_, entry_.limits().idle_timeout);
  Read();
  return false;
}

bool Connection::ProcessHead() {
  const ServiceLimits& limits = entry_.limits();
  const auto result = scanner_.Scan(input_.view());
  const bool whole = result == HeadScanner::Result::kComplete;
  const uint64_t size = whole ? scanner_.size() : input_.view().size();
  if (result == HeadScanner::Result::kMalformed) {
    Refuse(400, LimitHit::kMalformed);
    return true;
  }
  if (size > limits.header_bytes.count || (!whole && size == limits.header_bytes.count)) {
    Refuse(scanner_.past_request_line() ? 431 : 414, LimitHit::kHeaderTooLarge);
    return true;
  }
  if (whole && size == 2 && !skipped_line_) {
    // RFC 9112 2.2: an empty line before the request line is ignored. One.
    input_.Consume(2);
    scanner_.Reset();
    skipped_line_ = true;
    return true;
  }
  if (whole) {
    BeginRequest(scanner_.size());
    return true;
  }
  if (end_of_input_) {
    Close();
    return false;
  }
  if (!head_timed_) {
    head_timed_ = true;
    SetDeadline(active_, limits.header_timeout);
  }
  Read();
  return false;
}

void Connection::BeginRequest(size_t head_size) {
  const ServiceLimits& limits = entry_.limits();
  fresh_ = false;
  exchange_ = context_.exchanges.Take();
  const uint32_t refusal = exchange_->Open(input_.view().substr(0, head_size), peer_, active_);
  input_.Consume(head_size);
  if (refusal != 0) return Refuse(refusal, LimitHit::kMalformed);
  const RequestHead& head = exchange_->head();
  if (head.content_length.value_or(0) > limits.body_bytes.count) {
    return Refuse(413, LimitHit::kBodyTooLarge);
  }
  Add(entry_.counters().started, 1);
  phase_ = Phase::kRequest;
  answer_bytes_ = 0;
  body_.Start(head, limits.body_bytes.count, limits.header_bytes.count, body_sink_);
  exchange_->Attach(this, entry_, active_ + limits.request_timeout);
  // First what has come of the body: a small one is whole when the service looks, and a malformed
  // one never comes to it.
  if (!ReadBody()) return;
  if (!exchange_->state().complete) entry_.admission().Submit(exchange_);
  exchange_->EndQuiet();
}

bool Connection::ReadBody() {
  while (!body_.complete() && !input_.empty()) {
    const size_t room = exchange_ == nullptr ? kExchangeWindow : exchange_->BodyRoom();
    if (room == 0) break;
    size_t consumed = 0;
    const auto result = body_.Read(input_.view(), room, body_sink_, &consumed);
    input_.Consume(consumed);
    if (result == ChunkedBody::Result::kMalformed || result == ChunkedBody::Result::kTooLarge) {
      return BodyFailed(result);
    }
    if (result == ChunkedBody::Result::kComplete && exchange_ != nullptr) {
      exchange_->CompleteBody(body_.chunked() ? &body_.chunked()->trailers() : nullptr);
    }
    if (consumed == 0) break;
  }
  return true;
}

void Connection::TakeBodyPart(std::string_view part) {
  if (exchange_ != nullptr) {
    exchange_->AddBody(part);
  } else {
    discarded_ += part.size();
  }
}

bool Connection::BodyFailed(ChunkedBody::Result result) {
  const bool malformed = result == ChunkedBody::Result::kMalformed;
  body_.Clear();
  if (exchange_ != nullptr &&
      AnswerByHost(malformed ? 400 : 413,
                   malformed ? LimitHit::kMalformed : LimitHit::kBodyTooLarge,
                   CancelReason::kProtocol, /*close=*/true)) {
    return true;
  }
  // The service has begun to answer, or has answered: all that is left is to end.
  Abandon(CancelReason::kProtocol);
  Close();
  return false;
}

bool Connection::ProcessBodyRest() {
  if (!ReadBody()) return false;
  if (body_.complete()) {
    phase_ = Phase::kIdle;
    return true;
  }
  if (end_of_input_ || discarded_ > kLingerBytes) {
    Close();
    return false;
  }
  SetDeadline(active_, entry_.limits().io_timeout);
  Read();
  return false;
}

bool Connection::ProcessLinger() {
  discarded_ += input_.view().size();
  input_.Consume(input_.view().size());
  if (writing_) {
    Read();
  } else if (end_of_input_ || discarded_ > kLingerBytes) {
    Close();
  } else {
    Read();
  }
  return false;
}

bool Connection::Advance() {
  HttpExchange::State state = exchange_->Take(output_, sent_);
  while (!writing_ && !output_.empty()) {
    if (!Send()) break;
    state = exchange_->Take(output_, sent_);
  }
  if (phase_ == Phase::kClosed) return false;
  if (state.complete) {
    // The service's part ends here: what the client takes to read is not its.
    entry_.admission().End(*exchange_, nullptr);
    if (output_.empty()) return FinishRequest(state);
    exchange_->EndForService();
  } else {
    entry_.admission().SetClientWaits(*exchange_, state.waits_for_client);
  }
  exchange_->CallWaiting();
  // While the body is complete the read is for the client's end, and for one more piece of input.
  if (body_.complete() ? input_.empty() : state.wants_body) Read();
  UpdateRequestDeadline(state);
  return false;
}

void Connection::OnExchange() {
  const auto self = shared_from_this();
  if (phase_ == Phase::kRequest) Process();
}

bool Connection::FinishRequest(const HttpExchange::State& state) {
  const std::shared_ptr<HttpExchange> exchange = std::move(exchange_);
  const bool client_closes = !exchange->head().keep_alive;
  Record(*exchange, state.cut ? 0 : state.status);
  exchange->Detach();
  exchange->EndForService();
  exchange->CallWaiting();
  exchange->ReturnOutput(std::move(output_));
  output_ = std::string();
  discarded_ = 0;
  if (state.cut) {
    // The client must see that the answer is not whole, also when only the connection's end ends
    // it.
    boost::system::error_code ignored;
    if (state.until_close) socket_.set_option(asio::socket_base::linger(true, 0), ignored);
    Close();
    return false;
  }
  if (state.close) {
    if (client_closes && body_.complete() && input_.empty()) {
      Close();
      return false;
    }
    Linger();
    return true;
  }
  phase_ = body_.complete() ? Phase::kIdle : Phase::kBodyRest;
  return true;
}

bool Connection::Send() {
  while (sent_ < output_.size()) {
    const ssize_t count = ::send(socket_.native_handle(), output_.data() + sent_,
                                 output_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count > 0) {
      sent_ += static_cast<size_t>(count);
      answer_bytes_ += static_cast<uint64_t>(count);
      Add(entry_.counters().bytes_sent, static_cast<uint64_t>(count));
    } else if (errno == EAGAIN) {
      sending_ = Now();
      writing_ = true;
      socket_.async_wait(asio::socket_base::wait_write,
                         [self = shared_from_this()](const boost::system::error_code& error) {
                           self->OnWritable(error);
                         });
      return false;
    } else if (errno != EINTR) {
      Abandon(CancelReason::kClientGone);
      Close();
      return false;
    }
  }
  output_.clear();
  sent_ = 0;
  return true;
}

void Connection::OnWritable(const boost::system::error_code& error) {
  writing_ = false;
  if (phase_ == Phase::kClosed) return;
  if (error && error != asio::error::operation_aborted) {
    Abandon(CancelReason::kClientGone);
    return Close();
  }
  if (phase_ == Phase::kLinger) Linger();
  Process();
}

void Connection::UpdateRequestDeadline(const HttpExchange::State& state) {
  const absl::Duration io_timeout = entry_.limits().io_timeout;
  SteadyTime due;
  const auto consider = [&due](SteadyTime time) {
    if (due == SteadyTime{} || time < due) due = time;
  };
  if (!state.head_made) consider(exchange_->deadline());
  if (writing_) consider(sending_ + io_timeout);
  if (reading_ && !body_.complete()) consider(body_awaited_ + io_timeout);
  if (due == SteadyTime{}) return Clear();
  Deadline::Set(context_.deadlines, due);
}

void Connection::OnDeadline() {
  const auto self = shared_from_this();
  switch (phase_) {
    case Phase::kHead:
      Refuse(408, LimitHit::kClientTimeout);
      Process();
      break;
    case Phase::kRequest:
      RequestDeadline();
      break;
    case Phase::kIdle:
      if (!draining_) return Close();
      Linger();
      Process();
      break;
    case Phase::kBodyRest:
    case Phase::kLinger:
      Close();
      break;
    case Phase::kClosed:
      break;
  }
}

void Connection::RequestDeadline() {
  const SteadyTime now = Now();
  const absl::Duration io_timeout = entry_.limits().io_timeout;
  const HttpExchange::State state = exchange_->state();
  const bool sends_late = writing_ && now >= sending_ + io_timeout;
  const bool body_late = reading_ && !body_.complete() && now >= body_awaited_ + io_timeout;
  if (!sends_late && body_late &&
      AnswerByHost(408, LimitHit::kClientTimeout, CancelReason::kClientGone, /*close=*/true)) {
    return Process();
  }
  if (sends_late || body_late) {
    CountLimit(LimitHit::kClientTimeout);
    Abandon(CancelReason::kClientGone);
    return Close();
  }
  if (!state.head_made && now >= exchange_->deadline() &&
      AnswerByHost(504, LimitHit::kRequestTimeout, CancelReason::kRequestTimeout,
                   /*close=*/false)) {
    return Process();
  }
  UpdateRequestDeadline(exchange_->state());
}

void Connection::Refuse(uint32_t status, LimitHit hit) {
  CountLimit(hit);
  ServiceCounters& counters = entry_.counters();
  Add(counters.started, 1);
  Add(counters.finished, 1);
  Add(counters.answered[status / 100], 1);
  const std::shared_ptr<HttpExchange> exchange = std::move(exchange_);
  const bool is_head = exchange != nullptr && exchange->head().is_head();
  body_.Clear();
  AppendHostAnswer(output_, status, Persistence::kClose, is_head);
  discarded_ = answer_bytes_ = 0;
  Linger();
  // What was understood of it; bytes are those that the client took at once.
  LogAccess(exchange == nullptr ? "" : exchange->method(),
            exchange == nullptr ? "" : exchange->target(), status, absl::ZeroDuration());
}

bool Connection::AnswerByHost(uint32_t status, LimitHit hit, CancelReason reason, bool close) {
  if (!exchange_->AnswerByHost(status, close)) return false;
  CountLimit(hit);
  entry_.admission().End(*exchange_, &reason);
  return true;
}

void Connection::Abandon(CancelReason reason) {
  const std::shared_ptr<HttpExchange> exchange = std::move(exchange_);
  if (exchange == nullptr) return;
  exchange->EndForService();
  exchange->Detach();
  Record(*exchange, 0);
  entry_.admission().End(*exchange, &reason);
  exchange->CallWaiting();
}

void Connection::Record(const HttpExchange& exchange, uint32_t status) {
  ServiceCounters& counters = entry_.counters();
  active_ = Now();
  const absl::Duration latency = active_ - exchange.start();
  Add(counters.finished, 1);
  Add(counters.answered[status / 100], 1);
  Add(counters.latency[LatencyBucket(latency)], 1);
  Add(counters.latency_sum_ns, static_cast<uint64_t>(absl::ToInt64Nanoseconds(latency)));
  LogAccess(exchange.method(), exchange.target(), status, latency);
}

void Connection::LogAccess(std::string_view method, std::string_view target, uint32_t status,
                           absl::Duration latency) {
  if (!entry_.description().access_log || !context_.options.access_log) return;
  context_.options.access_log({.service = entry_.name(),
                               .peer = peer_,
                               .method = method,
                               .target = target,
                               .status = status,
                               .bytes_sent = answer_bytes_,
                               .latency = latency});
}

void Connection::CountLimit(LimitHit hit) {
  Add(entry_.counters().limit_hits[static_cast<size_t>(hit)], 1);
}

void Connection::Drain(const HttpServer::HandOver& hand_over) {
  const auto self = shared_from_this();
  draining_ = true;
  if (arrival_ != Arrival::kInternal) hand_over_ = hand_over;
  if (phase_ == Phase::kIdle) Process();
}

bool Connection::Cut(CancelReason reason) {
  const auto self = shared_from_this();
  const bool in_work = exchange_ != nullptr && exchange_->admitted();
  Abandon(reason);
  Close();
  return in_work;
}

void Connection::LeaveIdle() {
  if (!hand_over_) return Linger();
  if (reading_) {
    // The read ends with operation_aborted, or with bytes that came just now; then they are a
    // request of ours.
    boost::system::error_code ignored;
    socket_.cancel(ignored);
    return;
  }
  boost::system::error_code error;
  UniqueFd socket(socket_.release(error));
  if (error) return Close();
  phase_ = Phase::kClosed;
  Leave();
  const HttpServer::HandOver hand_over = std::move(hand_over_);
  context_.closed(*this);
  hand_over(std::move(socket), entry_.id());
}

void Connection::Linger() {
  phase_ = Phase::kLinger;
  if (!output_.empty() && !Send()) {
    if (phase_ != Phase::kClosed) SetDeadline(sending_, entry_.limits().io_timeout);
    return;
  }
  boost::system::error_code ignored;
  // A client that is gone is seen by the read.
  socket_.shutdown(asio::socket_base::shutdown_send, ignored);
  SetDeadline(Now(), kLingerTime);
}

void Connection::Close() {
  if (phase_ == Phase::kClosed) return;
  phase_ = Phase::kClosed;
  Leave();
  boost::system::error_code ignored;
  socket_.close(ignored);
  context_.closed(*this);
}

}  // namespace cohost::worker
