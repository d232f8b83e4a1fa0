// SPDX-License-Identifier: Apache-2.0
#include "tests/worker/native/native_harness.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <string>
#include <utility>

#include "base/strings.h"

namespace cohost::worker::native {
namespace {

class Silent final : public PendingCall {
 public:
  explicit Silent(std::function<void()> cancel) : cancel_(std::move(cancel)) {}
  void Cancel() override {
    if (cancel_ != nullptr) cancel_();
  }

 private:
  const std::function<void()> cancel_;
};

}  // namespace

IoThread::IoThread() : thread_([this] { Loop(); }) {}

IoThread::~IoThread() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

void IoThread::Post(std::function<void()> function) {
  MutexLock lock(mutex_);
  functions_.push_back(std::move(function));
  changed_.NotifyAll();
}

void IoThread::Run(std::function<void()> function) {
  Promised<bool> done;
  Post([&] {
    function();
    done.Give(true);
  });
  ASSERT_TRUE(done.Wait().has_value());
}

void IoThread::Loop() {
  for (;;) {
    std::function<void()> next;
    {
      MutexLock lock(mutex_);
      while (functions_.empty() && !stopping_) changed_.Wait(mutex_);
      if (functions_.empty()) return;
      next = std::move(functions_.front());
      functions_.pop_front();
    }
    next();
  }
}

std::shared_ptr<PendingCall> EchoingCallTarget::Call(OutgoingCall call,
                                                     std::function<void(CallResult)> done) {
  if (call.service == "silent") {
    return std::make_shared<Silent>([this, done] {
      io_.Post([done] { done({COHOST_CANCELLED, 0, {}, ""}); });
    });
  }
  CallResult result;
  result.http_status = 200;
  result.headers = call.headers;
  result.body = call.service + " " + call.method + " " + call.target + " " + call.body;
  io_.Post([done, result] { done(result); });
  return std::make_shared<Silent>(nullptr);
}

NativeHarness::NativeHarness()
    : slots_(segment_.segment()),
      pool_(slots_, SystemClock(), HandlerPool::Options()),
      log_file_(::memfd_create("log", MFD_CLOEXEC)),
      log_(log_file_.get(), "test", LogLevel::kDebug),
      call_target_(io_),
      runtime_({pool_, SystemClock(), log_,
                [this](std::function<void()> function) { io_.Post(std::move(function)); },
                call_target_, /*generation=*/7}) {}

NativeHarness::~NativeHarness() {
  for (const auto& service : services_) (void)Stop(*service);
  pool_.Stop();
}

NativeServiceDescription NativeHarness::Describe(const std::string& module) {
  NativeServiceDescription description;
  description.name = "test";
  description.row = 3;
  description.module_path = "tests/worker/native/modules/" + module + ".so";
  return description;
}

absl::StatusOr<HostedService*> NativeHarness::Start(NativeServiceDescription description) {
  std::unique_ptr<HostedService> service;
  // Code and message: a Status would be shared by two threads.
  Promised<std::pair<absl::StatusCode, std::string>> started;
  io_.Run([&] {
    service = runtime_.Create(std::move(description));
    service->Start([&started](const absl::Status& status) {
      started.Give({status.code(), std::string(AsStd(status.message()))});
    });
  });
  const auto outcome = started.Wait();
  if (!outcome) return absl::DeadlineExceededError("the service did not start");
  services_.push_back(std::move(service));
  if (outcome->first != absl::StatusCode::kOk) return absl::Status(outcome->first, outcome->second);
  return services_.back().get();
}

HostedService& NativeHarness::MustStart(const std::string& module) {
  const absl::StatusOr<HostedService*> service = Start(Describe(module));
  EXPECT_TRUE(service.ok()) << service.status().message();
  return **service;
}

std::shared_ptr<FakeExchange> NativeHarness::Send(HostedService& service, FakeRequest request) {
  const auto exchange = std::make_shared<FakeExchange>(
      std::move(request),
      [this](std::function<void()> function) { io_.Post(std::move(function)); });
  auto handle = [&service, exchange] { service.Handle(exchange); };
  if (service.dispatch() == Dispatch::kInline) {
    io_.Post(std::move(handle));
  } else {
    EXPECT_TRUE(pool_.Post(std::move(handle)));
  }
  return exchange;
}

FakeAnswer NativeHarness::Get(HostedService& service, const std::string& target) {
  FakeRequest request;
  request.target = target;
  const auto exchange = Send(service, std::move(request));
  EXPECT_TRUE(exchange->WaitForEnd()) << target;
  io_.Run([&] { service.Ended(*exchange, nullptr); });
  return exchange->answer();
}

void NativeHarness::Cancel(HostedService& service, FakeExchange& exchange, CancelReason reason) {
  io_.Run([&] {
    exchange.Cancel();
    service.Ended(exchange, &reason);
  });
}

bool NativeHarness::Drain(HostedService& service, absl::Duration limit) {
  const auto done = std::make_shared<Promised<bool>>();
  io_.Run([&] { service.Drain([done] { done->Give(true); }); });
  return done->Wait(limit).has_value();
}

bool NativeHarness::Stop(HostedService& service, absl::Duration limit) {
  const auto done = std::make_shared<Promised<bool>>();
  io_.Run([&] { service.Stop([done] { done->Give(true); }); });
  return done->Wait(limit).has_value();
}

std::string NativeHarness::LogText() {
  std::string text;
  std::array<char, 4096> buffer;
  for (off_t offset = 0;;) {
    const ssize_t n = ::pread(log_file_.get(), buffer.data(), buffer.size(), offset);
    if (n <= 0) return text;
    text.append(buffer.data(), static_cast<size_t>(n));
    offset += n;
  }
}

}  // namespace cohost::worker::native
