// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/system/error_code.hpp>

#include "base/clock.h"
#include "base/system/unique_fd.h"
#include "worker/http/exchange_pool.h"
#include "worker/http/http_exchange.h"
#include "worker/http/http_server.h"
#include "worker/http/read_buffer.h"
#include "worker/http/request_body.h"
#include "worker/loop/deadline_queue.h"
#include "worker/services/service_entry.h"

namespace cohost::worker {

class Connection;

// What connections share: the server.
struct ConnectionContext {
  boost::asio::io_context& io;
  DeadlineQueue& deadlines;
  ExchangePool& exchanges;
  const HttpServer::Options& options;
  // The socket is closed or given away: the last that a connection does with its context.
  std::function<void(Connection&)> closed;
};

// One HTTP/1.1 connection of one service, from its socket's arrival until it is closed: reads
// heads, has one exchange at a time in work, sends its answer, and so on. I/O thread only. Held by
// the HttpServer until it is closed, and by the operations of its socket. While it is idle it holds
// no memory beyond itself.
class Connection final : public std::enable_shared_from_this<Connection>,
                         private Deadline,
                         private ExchangeConnection {
 public:
  Connection(ConnectionContext& context, ServiceEntry& entry, Arrival arrival, std::string peer);
  ~Connection() override;

  // Takes the socket. May close it at once.
  void Start(UniqueFd socket);

  // Idle ones end now: given to `hand_over`, or closed gracefully when it is empty; one that has
  // just been accepted may ask once before that. Others close after their answer.
  void Drain(const HttpServer::HandOver& hand_over);
  // Cancels what is in work (true: there was an exchange) and closes.
  bool Cut(CancelReason reason);

  ServiceEntry& entry() { return entry_; }
  Arrival arrival() const { return arrival_; }
  // For the owner's list.
  std::list<std::shared_ptr<Connection>>::iterator position;

 private:
  enum class Phase {
    kIdle,      // between requests, nothing of the next one is there
    kHead,      // part of a head is there
    kRequest,   // an exchange is in work
    kBodyRest,  // it is answered, the rest of its request's body is thrown away
    kLinger,    // answered for the last time; reading until the client has seen it
    kClosed,
  };

  void OnDeadline() override;
  void OnExchange() override;

  // Reading.
  void Read();
  void OnRead(const boost::system::error_code& error, size_t count);
  void OnReadFailed(const boost::system::error_code& error);
  // Goes on with what has been read, as far as it goes. The steps return true when there may be
  // more to do at once.
  void Process();
  bool ProcessIdle();
  bool ProcessHead();
  bool ProcessBodyRest();
  bool ProcessLinger();
  void BeginRequest(size_t head_size);
  // Gives the exchange what is there of its body. False: the connection is over.
  bool ReadBody();
  bool BodyFailed(ChunkedBody::Result result);
  void TakeBodyPart(std::string_view part);

  // Answering.
  // Sends and looks after the exchange in work.
  bool Advance();
  bool FinishRequest(const HttpExchange::State& state);
  // Sends what is in output_. False: the client must take some first, or is gone.
  bool Send();
  void OnWritable(const boost::system::error_code& error);
  void UpdateRequestDeadline(const HttpExchange::State& state);
  void RequestDeadline();

  // Ends.
  // Answers a request that never came to the service; the last answer of the connection.
  void Refuse(uint32_t status, LimitHit hit);
  // Answers for the service and cancels its exchange; false when it has begun to answer.
  bool AnswerByHost(uint32_t status, LimitHit hit, CancelReason reason, bool close);
  // The exchange in work, if there is one, ends without its answer.
  void Abandon(CancelReason reason);
  void Record(const HttpExchange& exchange, uint32_t status);
  void LogAccess(std::string_view method, std::string_view target, uint32_t status,
                 absl::Duration latency);
  void CountLimit(LimitHit hit);
  void LeaveIdle();
  void Linger();
  void Close();

  SteadyTime Now() const { return context_.deadlines.clock().Steady(); }
  void SetDeadline(SteadyTime from, absl::Duration limit) {
    Deadline::Set(context_.deadlines, from + limit);
  }

  // Set in the constructor, never changed.
  ConnectionContext& context_;
  ServiceEntry& entry_;
  const Arrival arrival_;
  const std::string peer_;

  boost::asio::generic::stream_protocol::socket socket_;
  ReadBuffer input_;
  HeadScanner scanner_;
  RequestBody body_;
  ChunkedBody::Sink body_sink_;
  std::shared_ptr<HttpExchange> exchange_;
  std::string output_;
  size_t sent_ = 0;            // of output_
  uint64_t answer_bytes_ = 0;  // sent of the present answer
  uint64_t discarded_ = 0;     // read and thrown away since the last answer
  SteadyTime active_;          // when bytes came last, or an answer was sent
  SteadyTime body_awaited_;    // since when more of a body is awaited
  SteadyTime sending_;         // since when the client has taken nothing
  HttpServer::HandOver hand_over_;
  Phase phase_ = Phase::kIdle;
  bool reading_ = false;
  bool writing_ = false;  // waits until the socket is writable
  bool end_of_input_ = false;
  bool skipped_line_ = false;  // an empty line before a head
  bool head_timed_ = false;    // the limit of the present head runs
  bool draining_ = false;
  bool fresh_ = true;  // no request has begun
};

}  // namespace cohost::worker
