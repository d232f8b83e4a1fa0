// SPDX-License-Identifier: Apache-2.0
//
// A module through cohost.hpp: what a service gets besides requests, one target each.
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "worker/sdk/cohost.hpp"

#ifndef FLAGS
#define FLAGS 0
#endif

namespace {

using std::chrono::milliseconds;

std::string ThreadId() { return std::to_string(syscall(SYS_gettid)); }

class Probe final : public cohost::Service {
 public:
  explicit Probe(cohost::Context context)
      : Service(context), memory_(cohost::Allocator<char>(context.get())) {
    if (context.setting("fail", "") == "create") throw std::runtime_error("create failed as asked");
    targets_ = {
        {"/tid", &Probe::Tid},
        {"/settings", &Probe::Settings},
        {"/image", &Probe::Image},
        {"/post", &Probe::Post},
        {"/after", &Probe::After},
        {"/every", &Probe::Every},
        {"/ticks", &Probe::Ticks},
        {"/alloc", &Probe::Allocate},
        {"/metrics", &Probe::Metrics},
        {"/call", &Probe::Call},
        {"/inside", &Probe::Inside},
        {"/throw", &Probe::Throw},
        {"/read", &Probe::Read},
        {"/forever", &Probe::Forever},
        {"/cancel", &Probe::CancelTimer},
    };
  }
  ~Probe() override { context().Info("destroyed"); }

  void Start() override {
    context().Progress("warming up");
    if (context().setting("fail", "") == "start") throw std::runtime_error("start failed as asked");
  }
  void Drain() override { context().Info("drained"); }
  void Stop() override {
    for (const cohost_thread thread : threads_) context().Join(thread);
    context().Info("stopped");
  }
  std::string Health() override { return std::string(context().setting("sick", "")); }

  void Handle(cohost::Request request) override {
    const auto target = targets_.find(request.path());
    if (target == targets_.end()) return (void)request.NotFound();
    (this->*target->second)(std::move(request));
  }

 private:
  using Target = void (Probe::*)(cohost::Request);

  void Tid(cohost::Request request) { request.Text(ThreadId()); }

  void Settings(cohost::Request request) {
    std::string text = std::string(context().name()) + " " +
                       std::to_string(context().info().generation) + " " +
                       std::to_string(context().number("number", -1));
    for (const std::string_view item : context().list("list")) text += " " + std::string(item);
    request.Text(text);
  }

  void Image(cohost::Request request) {
    const cohost::DataImage image = context().image("data");
    request.Text(image.Find(request.query("key").value_or("")).value_or("absent"));
  }

  // Answers from a task, with the thread that ran it.
  void Post(cohost::Request request) {
    const auto held = std::make_shared<cohost::Request>(std::move(request));
    if (!context().Post([held] { held->Text(ThreadId()); })) held->Text("full", 503);
  }

  void After(cohost::Request request) {
    const auto begin = std::chrono::steady_clock::now();
    const auto held = std::make_shared<cohost::Request>(std::move(request));
    context().After(milliseconds(20), [held, begin] {
      const bool early = std::chrono::steady_clock::now() - begin < milliseconds(20);
      held->Text(early ? "early" : "due");
    });
  }

  void Every(cohost::Request request) {
    timer_ = context().Every(milliseconds(1), [this] { ++ticks_; });
    request.Text("armed");
  }
  void Ticks(cohost::Request request) { request.Text(std::to_string(ticks_)); }
  void CancelTimer(cohost::Request request) {
    const cohost_timer timer = context().After(std::chrono::hours(1), [] {});
    const cohost_status first = context().Cancel(timer);
    const cohost_status second = context().Cancel(timer);
    request.Text(std::to_string(first) + " " + std::to_string(second));
  }

  // Takes ?bytes= and keeps them.
  void Allocate(cohost::Request request) {
    const size_t bytes = std::stoul(request.query("bytes").value_or("0"));
    const std::lock_guard<std::mutex> lock(mutex_);
    try {
      memory_.resize(bytes);
      memory_.shrink_to_fit();
      request.Text("ok");
    } catch (const std::bad_alloc&) {
      request.Text("no memory");
    }
  }

  void Metrics(cohost::Request request) {
    context().Counter("hits").Add(2);
    context().Gauge("level").Set(-1.5);
    for (int i = 0; i < 20; ++i) context().Counter("extra_" + std::to_string(i)).Add();
    request.Text("ok");
  }

  // Calls ?service= on behalf of the request.
  void Call(cohost::Request request) {
    const std::string service = request.query("service").value_or("");
    cohost_call_request call{};
    call.size = sizeof(call);
    call.service = cohost::ToC(service);
    call.target = cohost::ToC("/there");
    call.body = cohost::ToC("body");
    call.parent = request.id();
    auto held = std::make_unique<cohost::Request>(std::move(request));
    // From the call on the held request is its callback's, which may run before `call` returns; one
    // that is never answered gets none.
    const bool waits = service == "silent";
    const cohost_status status =
        cohost::host->call(context().get(), &call, Answered, waits ? nullptr : held.get(), nullptr);
    if (status != COHOST_OK) {
      held->Text("refused " + std::to_string(status));
    } else if (waits) {
      held->Text("waiting");
    } else {
      (void)held.release();
    }
  }
  static void Answered(void* data, cohost_call, cohost_status status,
                       const cohost_call_answer* answer) {
    const std::unique_ptr<cohost::Request> held(static_cast<cohost::Request*>(data));
    if (held == nullptr) return;
    std::string text = std::to_string(status) + " " + std::to_string(answer->http_status) + " " +
                       std::string(cohost::ToView(answer->body));
    for (size_t i = 0; i < answer->header_count; ++i) {
      text += " " + std::string(cohost::ToView(answer->headers[i].value));
    }
    held->Text(text);
  }

  // How many were inside this function at most, so far.
  void Inside(cohost::Request request) {
    const int inside = ++inside_;
    if (inside > most_inside_) most_inside_ = inside;
    std::this_thread::sleep_for(milliseconds(5));
    --inside_;
    request.Text(std::to_string(most_inside_));
  }

  void Throw(cohost::Request) { throw std::runtime_error("thrown by Handle"); }

  void Read(cohost::Request request) {
    const auto body = request.ReadAll(100000);
    request.Text(body ? std::to_string(body->size()) : "too long or gone");
  }

  // Runs until the service is stopped.
  void Forever(cohost::Request request) {
    context().Post([] { std::this_thread::sleep_for(milliseconds(50)); });
    context().After(std::chrono::hours(1), [] {});
    threads_.push_back(context().Spawn("probe", [] {}));
    request.Text("ok");
  }

  std::map<std::string, Target> targets_;
  std::mutex mutex_;
  std::vector<char, cohost::Allocator<char>> memory_;
  std::vector<cohost_thread> threads_;
  cohost_timer timer_ = 0;
  std::atomic<int> ticks_{0};
  std::atomic<int> inside_{0};
  std::atomic<int> most_inside_{0};
};

}  // namespace

COHOST_MODULE(Probe, FLAGS)
