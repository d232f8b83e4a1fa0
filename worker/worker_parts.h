// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/clock.h"
#include "base/log.h"
#include "boost/asio/io_context.hpp"
#include "worker/accept/acceptor.h"
#include "worker/http/http_server.h"
#include "worker/loop/handler_pool.h"
#include "worker/services/internal_calls.h"
#include "worker/services/service_table.h"

namespace cohost::worker {

// What loading, probing and removing a service work with. Owned by the Worker, which outlives all
// who hold a reference.
struct WorkerParts {
  boost::asio::io_context& io;
  ServiceTable& table;
  HttpServer& http;
  Acceptor& acceptor;
  InternalCalls& calls;
  HandlerPool& pool;
  const Clock& clock;
  Log& log;
};

// What serves the connections of `entry`, which has its HostedService.
inline ConnectionServer& ServerOf(WorkerParts& parts, ServiceEntry& entry) {
  ConnectionServer* const own = entry.hosted()->connection_server();
  return own == nullptr ? parts.http : *own;
}

}  // namespace cohost::worker
