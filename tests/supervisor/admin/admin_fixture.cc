// SPDX-License-Identifier: Apache-2.0
#include "tests/supervisor/admin/admin_fixture.h"

#include <chrono>
#include <future>
#include <thread>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "base/system/unique_fd.h"
#include "grpcpp/create_channel_posix.h"
#include "tests/supervisor/admin/unix_socket.h"

namespace cohost::supervisor {
class AdminFixture::Loop {
 public:
  Loop() : guard_(context_.get_executor()), thread_([this] { context_.run(); }) {}
  ~Loop() {
    guard_.reset();
    context_.stop();
    thread_.join();
  }
  boost::asio::io_context& context() { return context_; }

 private:
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_;
  std::thread thread_;
};

AdminFixture::AdminFixture(HostSnapshot snapshot) : host_(std::move(snapshot)) {}

AdminFixture::~AdminFixture() {
  if (server_ != nullptr) OnLoop([this] { server_ = nullptr; });
}

void AdminFixture::OnLoop(const std::function<void()>& work) {
  std::promise<void> done;
  boost::asio::post(loop_->context(), [&] {
    work();
    done.set_value();
  });
  done.get_future().wait();
}

void AdminFixture::StartServer(AdminServerOptions options) {
  options.version = "1.2.3";
  options.on_problem = [this](std::string_view problem) {
    MutexLock lock(mutex_);
    problems_.emplace_back(problem);
    told_.NotifyAll();
  };
  loop_ = std::make_unique<Loop>();
  OnLoop([&] {
    auto server = AdminServer::Start(host_, loop_->context(), testing::ListenOn(socket_path()),
                                     std::move(options));
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  });
}

absl::Status AdminFixture::StopServer(absl::Duration limit) {
  absl::Status status;
  OnLoop([&] { status = server_->Stop(limit); });
  return status;
}

std::shared_ptr<grpc::Channel> AdminFixture::Connect() {
  UniqueFd fd = testing::UnixSocket();
  EXPECT_TRUE(testing::ConnectTo(fd, socket_path()));
  return grpc::CreateInsecureChannelFromFd("admin", fd.Release());
}

uint64_t AdminFixture::AcceptErrors() {
  uint64_t errors = 0;
  OnLoop([&] { errors = server_->accept_errors(); });
  return errors;
}

std::vector<std::string> AdminFixture::Problems() {
  MutexLock lock(mutex_);
  return problems_;
}

bool AdminFixture::WaitForProblem(std::string_view part) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  MutexLock lock(mutex_);
  while (true) {
    for (const std::string& problem : problems_) {
      if (problem.find(part) != std::string::npos) return true;
    }
    if (!told_.WaitUntil(mutex_, deadline)) return false;
  }
}

std::unique_ptr<grpc::ClientContext> Context() {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  return context;
}

}  // namespace cohost::supervisor
