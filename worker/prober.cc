// SPDX-License-Identifier: Apache-2.0
#include "worker/prober.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/system/seqpacket.h"
#include "boost/asio/post.hpp"
#include "worker/loop/loop_timer.h"
#include "worker/loop/thread_slots.h"
#include "worker/services/local_request.h"

namespace cohost::worker {

// One probe. Kept by what it waits for: the timer always, so that it ends in any case.
class Prober::Run : public std::enable_shared_from_this<Run> {
 public:
  Run(Prober& prober, ServiceEntry& entry, std::string path, absl::Duration limit,
      std::function<void(ProbeResult)> done)
      : parts_(prober.parts_),
        in_callback_(prober.in_callback_),
        service_id_(entry.id()),
        path_(std::move(path)),
        begin_(parts_.clock.Steady()),
        end_(begin_ + limit),
        timer_(parts_.io),
        done_(std::move(done)) {}

  void Start(ServiceEntry& entry) {
    timer_.Start(end_ - begin_, [self = shared_from_this()] {
      self->End(absl::DeadlineExceededError("the health callback has not returned"));
    });
    if (!in_callback_->insert(service_id_).second) {
      return End(absl::DeadlineExceededError("an earlier health callback has not returned"));
    }
    // The entry stays as long as its id is in in_callback_.
    const bool posted = parts_.pool.Post([self = shared_from_this(), &entry] {
      HealthAnswer answer;
      {
        const ScopedWork work(self->parts_.pool.slots(), entry.row_index(),
                              self->parts_.clock.Steady());
        answer = entry.hosted()->Health();
      }
      boost::asio::post(self->parts_.io, [self, answer = std::move(answer)] {
        self->in_callback_->erase(self->service_id_);
        self->OnAnswer(answer);
      });
    });
    if (posted) return;
    in_callback_->erase(service_id_);
    End(absl::ResourceExhaustedError("no thread for the health callback"));
  }

 private:
  void OnAnswer(const HealthAnswer& answer) {
    if (done_ == nullptr) return;
    if (!answer.healthy) return End(absl::UnavailableError(answer.reason));
    if (path_.empty()) return End(absl::OkStatus());
    ServiceEntry* const entry = parts_.table.Find(service_id_);
    if (entry == nullptr) return End(absl::NotFoundError("the service was removed"));
    timer_.Cancel();
    RequestInside(parts_, *entry, path_, end_ - parts_.clock.Steady(),
                  [self = shared_from_this()](absl::StatusOr<int> code) {
                    self->OnResponse(std::move(code));
                  });
  }

  void OnResponse(absl::StatusOr<int> code) {
    if (!code.ok()) {
      return End(absl::Status(code.status().code(),
                              absl::StrCat("GET ", path_, ": ", code.status().message())));
    }
    if (*code >= 200 && *code <= 399) return End(absl::OkStatus());
    End(absl::UnavailableError(absl::StrCat("GET ", path_, " answered ", *code)));
  }

  void End(absl::Status status) {
    timer_.Cancel();
    if (auto done = std::exchange(done_, nullptr)) {
      done({std::move(status), parts_.clock.Steady() - begin_});
    }
  }

  WorkerParts& parts_;
  const std::shared_ptr<std::set<uint64_t>> in_callback_;
  const uint64_t service_id_;
  const std::string path_;
  const SteadyTime begin_;
  const SteadyTime end_;
  LoopTimer timer_;
  std::function<void(ProbeResult)> done_;  // null: has ended
};

Prober::Prober(WorkerParts& parts)
    : parts_(parts), in_callback_(std::make_shared<std::set<uint64_t>>()) {}

Prober::~Prober() = default;

void Prober::Probe(ServiceEntry& entry, const std::string& path, absl::Duration limit,
                   std::function<void(ProbeResult)> done) {
  std::make_shared<Run>(*this, entry, path, limit, std::move(done))->Start(entry);
}

void RequestInside(WorkerParts& parts, ServiceEntry& entry, const std::string& target,
                   absl::Duration limit, std::function<void(absl::StatusOr<int>)> done) {
  absl::StatusOr<SocketPair> pair = MakeStreamPair();
  if (!pair.ok()) {
    return boost::asio::post(parts.io,
                             [done = std::move(done), status = pair.status()] { done(status); });
  }
  ServerOf(parts, entry)
      .Serve(std::move(pair->first), entry, Arrival::kInternal, "unix",
             /*listener=*/0);
  // The request is owned by its own completion, which always comes.
  auto request = std::make_shared<std::unique_ptr<LocalRequest>>();
  *request =
      std::make_unique<LocalRequest>(parts.io, std::move(pair->second), target, limit,
                                     [request, done = std::move(done)](absl::StatusOr<int> code) {
                                       done(std::move(code));
                                       request->reset();
                                     });
}

}  // namespace cohost::worker
