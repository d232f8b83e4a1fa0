// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/system/seqpacket.h"
#include "boost/asio/executor_work_guard.hpp"
#include "boost/asio/io_context.hpp"
#include "boost/asio/post.hpp"
#include "grpcpp/create_channel_posix.h"
#include "gtest/gtest.h"
#include "worker/control/control_server.h"

namespace cohost::worker {

// A handler that answers when the test says so. I/O thread only, apart from the counts.
class HeldControlHandler final : public ControlHandler {
 public:
  void Assign(const v1::AssignRequest& request,
              std::function<void(absl::StatusOr<v1::AssignResponse>)> done) override {
    assigns.push_back({request, std::move(done)});
    ++assign_count;
  }
  void Remove(const v1::RemoveRequest&,
              std::function<void(absl::StatusOr<v1::RemoveResponse>)> done) override {
    removes.push_back(std::move(done));
    ++remove_count;
  }
  void Probe(const v1::ProbeRequest&, std::function<void(v1::ProbeResponse)> done) override {
    probes.push_back(std::move(done));
    ++probe_count;
  }
  v1::StatisticsBatch Statistics() override {
    v1::StatisticsBatch batch;
    const uint32_t number = ++batches;
    batch.mutable_time()->set_seconds(number);
    batch.set_pool_threads(calm ? 1 : number);
    if (batch_bytes > 0) {
      batch.add_services()->add_metrics()->set_name(std::string(batch_bytes, 'x'));
    }
    return batch;
  }

  struct HeldAssign {
    v1::AssignRequest request;
    std::function<void(absl::StatusOr<v1::AssignResponse>)> done;
  };
  std::vector<HeldAssign> assigns;
  std::vector<std::function<void(absl::StatusOr<v1::RemoveResponse>)>> removes;
  std::vector<std::function<void(v1::ProbeResponse)>> probes;
  size_t batch_bytes = 0;
  std::atomic<bool> calm{false};  // batches differ in their time alone
  std::atomic<uint32_t> batches{0};
  std::atomic<uint32_t> assign_count{0};
  std::atomic<uint32_t> remove_count{0};
  std::atomic<uint32_t> probe_count{0};
};

// The worker's services on a loop of its own thread, and channels to them over socketpairs. The
// server lives until the program ends, as in the worker.
class ControlHarness : public ::testing::Test {
 protected:
  struct Parts {
    boost::asio::io_context io;
    HeldControlHandler handler;
    ControlServer server{io, handler};
  };

  ControlHarness() : parts_(*new Parts), work_(boost::asio::make_work_guard(parts_.io)) {
    thread_ = std::thread([this] { parts_.io.run(); });
  }
  ~ControlHarness() override {
    parts_.io.stop();
    thread_.join();
  }

  std::shared_ptr<grpc::Channel> Connect() {
    absl::StatusOr<SocketPair> pair = MakeStreamPair();
    EXPECT_TRUE(pair.ok());
    OnLoop([&] { EXPECT_TRUE(parts_.server.AddChannel(std::move(pair->second)).ok()); });
    return grpc::CreateInsecureChannelFromFd("server", pair->first.Release());
  }
  // Returns when the loop has done it.
  void OnLoop(const std::function<void()>& function) {
    std::promise<void> done;
    boost::asio::post(parts_.io, [&] {
      function();
      done.set_value();
    });
    done.get_future().wait();
  }
  static std::unique_ptr<grpc::ClientContext> Context() {
    auto context = std::make_unique<grpc::ClientContext>();
    context->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    return context;
  }
  static bool Eventually(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition()) {
      if (std::chrono::steady_clock::now() >= end) return false;
      std::this_thread::yield();
    }
    return true;
  }

  Parts& parts_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::thread thread_;
};

}  // namespace cohost::worker
