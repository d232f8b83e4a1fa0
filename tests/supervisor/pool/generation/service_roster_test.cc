// SPDX-License-Identifier: Apache-2.0
#include "supervisor/pool/generation/service_roster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/system/seqpacket.h"
#include "base/system/unique_fd.h"
#include "boost/asio/io_context.hpp"
#include "tests/fakes/manual_time.h"

namespace cohost::supervisor {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// A client whose calls wait until the test answers them.
class WaitingClient final : public WorkerClient {
 public:
  void Assign(const ServiceTarget& service, absl::Duration, absl::Duration deadline,
              std::function<void(absl::StatusOr<AssignOutcome>)> done) override {
    assigns.push_back(service.id);
    last_deadline = deadline;
    assign_done_ = std::move(done);
  }
  void Remove(uint64_t service_id, absl::Duration,
              std::function<void(absl::Status)> done) override {
    removes.push_back(service_id);
    remove_done_[service_id] = std::move(done);
  }
  void Probe(absl::Duration,
             std::function<void(absl::StatusOr<std::vector<ProbeOutcome>>)>) override {}
  void WatchStatistics(absl::Duration, std::function<void(const WorkerGauges&)>,
                       std::function<void(absl::Status)>) override {}

  void AnswerAssign(absl::StatusOr<AssignOutcome> outcome) {
    ASSERT_TRUE(assign_done_ != nullptr) << "nothing is being assigned";
    std::exchange(assign_done_, nullptr)(std::move(outcome));
  }
  void AnswerRemove(uint64_t service_id, const absl::Status& status) {
    const auto done = remove_done_.extract(service_id);
    ASSERT_FALSE(done.empty()) << "nothing is being removed";
    done.mapped()(status);
  }

  std::vector<uint64_t> assigns;
  std::vector<uint64_t> removes;
  absl::Duration last_deadline;

 private:
  std::function<void(absl::StatusOr<AssignOutcome>)> assign_done_;
  std::map<uint64_t, std::function<void(absl::Status)>> remove_done_;
};

// The roster, a real link, and the test as everybody around them.
class ServiceRosterTest : public ::testing::Test,
                          public RosterHost,
                          public RosterObserver,
                          public WorkerLink::Observer {
 protected:
  ServiceRosterTest() {
    absl::StatusOr<SocketPair> link = MakeSeqpacketPair();
    worker_end_ = std::move(link->second);
    link_ =
        std::make_unique<WorkerLink>(loop_, time_, time_, std::move(link->first), "build-1", *this);
    client_ = std::make_unique<WaitingClient>();
    link_->SendHello();
    Run();
  }

  std::shared_ptr<const ServiceTarget> Service(uint64_t id, uint64_t revision = 1) {
    std::shared_ptr<const ServiceTarget>& known = targets_[{id, revision}];
    if (known != nullptr) return known;
    UniqueFd& listener = listeners_[id];
    if (!listener.valid()) listener.Reset(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    auto service = std::make_shared<ServiceTarget>();
    service->id = id;
    service->revision = revision;
    service->name = absl::StrCat("s", id);
    service->listeners.push_back({absl::StrCat("http://127.0.0.1:", 8000 + id), listener.get()});
    known = std::move(service);
    return known;
  }
  uint64_t TokenOf(uint64_t id) {
    return ListenerToken(Service(id)->listeners[0].descriptor).value_or(0);
  }
  void Want(std::vector<std::shared_ptr<const ServiceTarget>> services) {
    roster_.SetServices(std::move(services), policy_);
    Run();
  }
  static AssignOutcome Ready(uint64_t id, uint64_t revision = 1) {
    AssignOutcome outcome;
    outcome.service_id = id;
    outcome.revision = revision;
    outcome.ready = true;
    outcome.row = static_cast<uint32_t>(id);
    return outcome;
  }
  static AssignOutcome Failed(uint64_t id, const std::string& reason) {
    AssignOutcome outcome = Ready(id);
    outcome.ready = false;
    outcome.reason = reason;
    return outcome;
  }
  void Answer(absl::StatusOr<AssignOutcome> outcome) {
    client_->AnswerAssign(std::move(outcome));
    Run();
  }
  void AnswerRemove(uint64_t id, const absl::Status& status) {
    client_->AnswerRemove(id, status);
    Run();
  }
  // Wants and gets these, one after the other.
  void Host(const std::vector<uint64_t>& ids) {
    std::vector<std::shared_ptr<const ServiceTarget>> services;
    for (const uint64_t id : ids) services.push_back(Service(id));
    Want(services);
    for (const uint64_t id : ids) Answer(Ready(id));
    client_->assigns.clear();
  }
  // A channel instead of the one that failed.
  void Reconnect() {
    client_ = std::make_unique<WaitingClient>();
    roster_.BeginAgain();
    Run();
  }
  ServiceStatus StatusOf(uint64_t id) { return roster_.services().at(id).status; }
  LinkServiceState StateOf(uint64_t id, RowState state, uint64_t revision = 1) {
    return {id, revision, static_cast<uint32_t>(id), static_cast<uint32_t>(state)};
  }

  // Both ends of the link, until nothing happens any more. The worker answers what it is told to.
  void Run() {
    for (bool happened = true; happened;) {
      loop_.restart();
      happened = loop_.poll() > 0;
      while (true) {
        absl::StatusOr<Message> message = ReceiveMessage(worker_end_.get());
        if (!message.ok()) break;
        happened = true;
        received_.push_back(*std::move(message));
      }
      while (answering_ && !received_.empty()) {
        const absl::StatusOr<LinkMessage> asked =
            DecodeLinkMessage(received_.front().bytes, received_.front().descriptors.size());
        received_.pop_front();
        ASSERT_TRUE(asked.ok()) << asked.status();
        AnswerOnLink(*asked);
        happened = true;
      }
    }
  }
  void AnswerOnLink(const LinkMessage& asked) {
    LinkMessage answer;
    answer.type = asked.type == LinkType::kHello ? LinkType::kState : LinkType::kAck;
    answer.sequence = asked.sequence;
    if (asked.type == LinkType::kListener) {
      ++offered_[asked.token];
      if (refused_.contains(asked.token)) {
        answer.code = static_cast<int32_t>(absl::StatusCode::kResourceExhausted);
        answer.message = "too many open files";
      } else {
        tokens_.insert(asked.token);
      }
    }
    if (asked.type == LinkType::kReleaseListener) tokens_.erase(asked.token);
    EXPECT_TRUE(SendMessage(worker_end_.get(), EncodeLinkMessage(answer, 0)).ok());
  }

  // RosterHost
  WorkerClient* channel() override { return connected_ ? client_.get() : nullptr; }
  WorkerLink& link() override { return *link_; }
  void ChannelFailed(const absl::Status& why) override { channel_failures_.push_back(why); }
  void ChannelWorks() override { ++channel_works_; }
  bool TakeRow(uint64_t service_id, uint32_t row) override {
    if (row == kBadRow) return false;
    rows_[service_id] = row;
    return true;
  }
  // RosterObserver
  void OnServiceChanged(uint64_t service_id, const HostedService& service,
                        ServiceStatus before) override {
    changes_.push_back(absl::StrCat(service_id, " ", Name(before), " -> ", Name(service.status)));
  }
  void OnProgress() override { ++progress_; }
  void OnIntakeStopped() override { ++intake_stops_; }
  void OnFault(const absl::Status& why) override { faults_.push_back(why); }
  void OnRemark(const std::string& text) override { remarks_.push_back(text); }
  // WorkerLink::Observer
  void OnLinkState(const LinkMessage&) override {}
  void OnServiceState(const LinkServiceState&) override {}
  void OnDrained() override {}
  void OnLinkLost(const absl::Status& why) override { ADD_FAILURE() << why; }

  static constexpr uint32_t kBadRow = 999;

  boost::asio::io_context loop_;
  ManualTime time_;
  GroupPolicy policy_;
  UniqueFd worker_end_;
  std::map<uint64_t, UniqueFd> listeners_;
  std::map<std::pair<uint64_t, uint64_t>, std::shared_ptr<const ServiceTarget>> targets_;
  std::unique_ptr<WorkerLink> link_;
  std::unique_ptr<WaitingClient> client_;
  bool connected_ = true;
  // Of the worker's end.
  bool answering_ = true;
  std::deque<Message> received_;
  std::set<uint64_t> refused_;
  std::map<uint64_t, int> offered_;
  std::set<uint64_t> tokens_;
  // What the roster has said.
  std::vector<absl::Status> channel_failures_;
  std::vector<absl::Status> faults_;
  std::vector<std::string> remarks_;
  std::vector<std::string> changes_;
  std::map<uint64_t, uint32_t> rows_;
  int channel_works_ = 0;
  int progress_ = 0;
  int intake_stops_ = 0;
  ServiceRoster roster_{*this, *this};
};

TEST_F(ServiceRosterTest, AssignsInOrderOneAtATimeAndNeverBeforeTheListenersAreThere) {
  answering_ = false;
  Want({Service(2), Service(1)});
  EXPECT_THAT(client_->assigns, IsEmpty());
  answering_ = true;
  Run();
  EXPECT_THAT(tokens_, UnorderedElementsAre(TokenOf(1), TokenOf(2)));
  EXPECT_THAT(client_->assigns, ElementsAre(2));
  EXPECT_EQ(roster_.suspect(), 2);
  EXPECT_EQ(client_->last_deadline, policy_.start_timeout + ServiceRoster::kLoadMargin);
  Answer(Ready(2));
  EXPECT_THAT(client_->assigns, ElementsAre(2, 1));
  EXPECT_FALSE(roster_.settled());
  Answer(Failed(1, "no such table"));
  EXPECT_TRUE(roster_.settled());
  EXPECT_EQ(roster_.suspect(), 0);
  EXPECT_THAT(changes_, ElementsAre("2 loading -> ready", "1 loading -> failed"));
  EXPECT_EQ(rows_, (std::map<uint64_t, uint32_t>{{1, 1}, {2, 2}}));
}

TEST_F(ServiceRosterTest, NothingIsSettledBeforeSomebodyHasSaidWhatShouldBeThere) {
  LinkMessage state;
  state.services = {StateOf(1, RowState::kReady)};
  ASSERT_TRUE(roster_.TakeState(state));
  roster_.BeginAgain();
  Run();
  EXPECT_FALSE(roster_.settled());
  EXPECT_THAT(client_->removes, IsEmpty());
  Want({});
  EXPECT_THAT(client_->removes, ElementsAre(1));
}

TEST_F(ServiceRosterTest, AnAnswerAboutAnotherServiceOrRevisionIsAFault) {
  for (const AssignOutcome& nonsense : {Ready(2), Ready(1, /*revision=*/9)}) {
    Want({});
    Want({Service(1)});
    Answer(nonsense);
    ASSERT_EQ(faults_.size(), 1);
    EXPECT_TRUE(absl::IsInvalidArgument(faults_[0])) << faults_[0];
    EXPECT_NE(StatusOf(1), ServiceStatus::kReady);
    EXPECT_THAT(rows_, IsEmpty());
    faults_.clear();
    // The next round begins with it removed.
    Want({});
    AnswerRemove(1, absl::OkStatus());
  }
}

TEST_F(ServiceRosterTest, ARowThatCannotBeRightMakesNoServiceReady) {
  Want({Service(1), Service(2)});
  AssignOutcome outcome = Ready(1);
  outcome.row = kBadRow;
  Answer(outcome);
  EXPECT_NE(StatusOf(1), ServiceStatus::kReady);
  EXPECT_FALSE(roster_.settled());
}

TEST_F(ServiceRosterTest, AFailureAlwaysHasAReasonSoThatItIsNotAskedForAgain) {
  Want({Service(1), Service(2)});
  Answer(Failed(1, ""));
  EXPECT_FALSE(roster_.services().at(1).reason.empty());
  Answer(absl::InvalidArgumentError(""));
  EXPECT_FALSE(roster_.services().at(2).reason.empty());
  EXPECT_TRUE(roster_.settled());
  client_->assigns.clear();
  Want({Service(2), Service(1)});
  EXPECT_THAT(client_->assigns, IsEmpty());
}

TEST_F(ServiceRosterTest, AnAnswerThatComesTooLateIsAFaultAndKeepsItsSuspect) {
  Want({Service(1), Service(2)});
  Answer(absl::DeadlineExceededError(""));
  ASSERT_EQ(faults_.size(), 1);
  EXPECT_TRUE(absl::IsDeadlineExceeded(faults_[0]));
  EXPECT_EQ(roster_.suspect(), 1);
  EXPECT_TRUE(roster_.hung());
  EXPECT_THAT(client_->assigns, ElementsAre(1));
}

TEST_F(ServiceRosterTest, OnlyWhatIsBeingLoadedCanHang) {
  Host({1});
  roster_.GiveUp();
  EXPECT_FALSE(roster_.hung());
  Want({Service(1), Service(2)});
  roster_.GiveUp();
  EXPECT_TRUE(roster_.hung());
}

TEST_F(ServiceRosterTest, ARefusedListenerFailsItsServiceOnly) {
  refused_.insert(TokenOf(1));
  Want({Service(1), Service(2)});
  EXPECT_EQ(StatusOf(1), ServiceStatus::kFailed);
  EXPECT_THAT(roster_.services().at(1).reason, HasSubstr("http://127.0.0.1:8001"));
  EXPECT_THAT(client_->assigns, ElementsAre(2));
  Answer(Ready(2));
  EXPECT_TRUE(roster_.settled());
}

TEST_F(ServiceRosterTest, ARefusedListenerIsOfferedAgainWhenItsServiceIsRetried) {
  refused_.insert(TokenOf(1));
  Want({Service(1)});
  ASSERT_EQ(StatusOf(1), ServiceStatus::kFailed);
  EXPECT_EQ(offered_[TokenOf(1)], 1);
  refused_.clear();
  roster_.Retry(1);
  AnswerRemove(1, absl::NotFoundError("not here"));
  EXPECT_EQ(offered_[TokenOf(1)], 2);
  EXPECT_THAT(client_->assigns, ElementsAre(1));
  Answer(Ready(1));
  EXPECT_EQ(StatusOf(1), ServiceStatus::kReady);
}

TEST_F(ServiceRosterTest, OnlyAFailedServiceIsRetried) {
  Host({1});
  roster_.Retry(1);
  roster_.Retry(7);
  EXPECT_THAT(client_->removes, IsEmpty());
  Want({Service(1), Service(2)});
  Answer(Failed(2, "no such table"));
  roster_.Retry(2);
  // Asked for twice by an impatient operator.
  roster_.Retry(2);
  EXPECT_THAT(client_->removes, ElementsAre(2));
  AnswerRemove(2, absl::OkStatus());
  EXPECT_THAT(client_->assigns, ElementsAre(2, 2));
}

TEST_F(ServiceRosterTest, AServiceThatNobodyWantsAnyMoreWhenItHasLoadedIsRemoved) {
  for (const bool loads : {true, false}) {
    SCOPED_TRACE(loads);
    client_ = std::make_unique<WaitingClient>();
    Want({Service(1)});
    Want({});
    // Not while it loads: its answer is still to come.
    EXPECT_THAT(client_->removes, IsEmpty());
    Answer(loads ? Ready(1) : Failed(1, "no such table"));
    EXPECT_THAT(client_->removes, ElementsAre(1));
    AnswerRemove(1, absl::OkStatus());
    EXPECT_THAT(roster_.services(), IsEmpty());
    EXPECT_THAT(tokens_, IsEmpty());
  }
}

TEST_F(ServiceRosterTest, CallsThatANewChannelFindsOpenAreMadeAgain) {
  Host({1, 2});
  Want({Service(1), Service(3)});
  EXPECT_THAT(client_->removes, ElementsAre(2));
  EXPECT_THAT(client_->assigns, ElementsAre(3));
  AnswerRemove(2, absl::UnavailableError("closed"));
  Answer(absl::UnavailableError("closed"));
  EXPECT_EQ(channel_failures_.size(), 2);
  EXPECT_THAT(faults_, IsEmpty());
  Reconnect();
  EXPECT_THAT(client_->removes, ElementsAre(2));
  EXPECT_THAT(client_->assigns, ElementsAre(3));
  // The worker had done both already.
  AnswerRemove(2, absl::NotFoundError("not here"));
  Answer(Ready(3));
  EXPECT_TRUE(roster_.settled());
  EXPECT_EQ(roster_.services().size(), 2);
}

TEST_F(ServiceRosterTest, AServiceWhoseAssignmentWasCutAndThatNobodyWantsIsRemoved) {
  Want({Service(1)});
  Answer(absl::UnavailableError("closed"));
  connected_ = false;
  Want({});
  connected_ = true;
  Reconnect();
  // The worker may have it.
  EXPECT_THAT(client_->removes, ElementsAre(1));
  EXPECT_EQ(roster_.suspect(), 1);
  AnswerRemove(1, absl::OkStatus());
  EXPECT_THAT(roster_.services(), IsEmpty());
  EXPECT_EQ(roster_.suspect(), 0);
}

// The worker would refuse it; a new worker gets the new one.
TEST_F(ServiceRosterTest, AnAssignmentThatWasCutIsNotMadeAgainInAnotherRevision) {
  Want({Service(1)});
  Answer(absl::UnavailableError("closed"));
  connected_ = false;
  Want({Service(1, /*revision=*/2)});
  connected_ = true;
  Reconnect();
  EXPECT_THAT(client_->assigns, IsEmpty());
  EXPECT_EQ(roster_.services().at(1).revision, 1);
  EXPECT_FALSE(roster_.settled());
}

TEST_F(ServiceRosterTest, ARemovalThatFailsIsToldOnceAndNotRepeated) {
  Host({1, 2});
  Want({Service(2)});
  AnswerRemove(1, absl::InternalError("its code has not returned"));
  ASSERT_EQ(remarks_.size(), 1);
  EXPECT_THAT(remarks_[0], HasSubstr("its code has not returned"));
  EXPECT_TRUE(roster_.services().contains(1));
  // It may use its listener still.
  EXPECT_TRUE(tokens_.contains(TokenOf(1)));
  Want({Service(2), Service(3)});
  Answer(Ready(3));
  EXPECT_THAT(client_->removes, ElementsAre(1));
}

TEST_F(ServiceRosterTest, AServiceThatIsWantedAgainWhileItGoesComesBackAfterwards) {
  Host({1});
  Want({});
  Want({Service(1, /*revision=*/2)});
  EXPECT_THAT(client_->assigns, IsEmpty());
  EXPECT_FALSE(roster_.settled());
  AnswerRemove(1, absl::OkStatus());
  EXPECT_THAT(client_->assigns, ElementsAre(1));
  Answer(Ready(1, /*revision=*/2));
  EXPECT_EQ(roster_.services().at(1).revision, 2);
  EXPECT_TRUE(roster_.settled());
  EXPECT_TRUE(tokens_.contains(TokenOf(1)));
}

TEST_F(ServiceRosterTest, AnotherRevisionStaysAsItIs) {
  Host({1});
  Want({Service(1, /*revision=*/2)});
  EXPECT_THAT(client_->assigns, IsEmpty());
  EXPECT_THAT(client_->removes, IsEmpty());
  EXPECT_EQ(roster_.services().at(1).revision, 1);
}

TEST_F(ServiceRosterTest, ARemovalTellsTheSiblingsAndReleasesTheListener) {
  Host({1, 2});
  Want({Service(2)});
  EXPECT_TRUE(tokens_.contains(TokenOf(1)));
  EXPECT_EQ(intake_stops_, 0);
  AnswerRemove(1, absl::OkStatus());
  EXPECT_EQ(intake_stops_, 1);
  EXPECT_THAT(tokens_, UnorderedElementsAre(TokenOf(2)));
  EXPECT_EQ(roster_.tokens(), tokens_);
}

// As the slot keeps a service that has moved: by its name, without its listeners.
TEST_F(ServiceRosterTest, AServiceThatOnlyStaysKeepsItsListener) {
  Host({1, 2, 3});
  auto kept = std::make_shared<ServiceTarget>();
  kept->id = 1;
  kept->revision = 1;
  Want({kept, Service(2)});
  AnswerRemove(3, absl::OkStatus());
  EXPECT_THAT(tokens_, UnorderedElementsAre(TokenOf(1), TokenOf(2)));
  Want({Service(2)});
  AnswerRemove(1, absl::OkStatus());
  EXPECT_THAT(tokens_, UnorderedElementsAre(TokenOf(2)));
}

TEST_F(ServiceRosterTest, WhileTheListenersOfSomeServiceAreNotKnownNoneIsReleased) {
  tokens_ = {TokenOf(1), TokenOf(2), TokenOf(3)};
  LinkMessage state;
  state.listener_tokens.assign(tokens_.begin(), tokens_.end());
  state.services = {StateOf(1, RowState::kReady), StateOf(2, RowState::kReady),
                    StateOf(3, RowState::kReady)};
  ASSERT_TRUE(roster_.TakeState(state));
  auto kept = std::make_shared<ServiceTarget>();
  kept->id = 1;
  kept->revision = 1;
  Want({kept, Service(2)});
  AnswerRemove(3, absl::OkStatus());
  EXPECT_THAT(tokens_, UnorderedElementsAre(TokenOf(1), TokenOf(2), TokenOf(3)));
  Want({Service(2)});
  AnswerRemove(1, absl::OkStatus());
  EXPECT_THAT(tokens_, UnorderedElementsAre(TokenOf(2)));
}

TEST_F(ServiceRosterTest, AFailedServiceDoesNotHoldTheListenersOfOthers) {
  refused_.insert(TokenOf(1));
  Want({Service(1), Service(2), Service(3)});
  Answer(Ready(2));
  Answer(Failed(3, "no such table"));
  Want({Service(1), Service(3)});
  AnswerRemove(2, absl::OkStatus());
  EXPECT_THAT(tokens_, UnorderedElementsAre(TokenOf(3)));
}

TEST_F(ServiceRosterTest, WhatAnAdoptedWorkerHasIsNeitherSentNorAssignedAgain) {
  LinkMessage state;
  state.listener_tokens = {TokenOf(1)};
  state.services = {StateOf(1, RowState::kReady), StateOf(2, RowState::kDraining),
                    StateOf(3, RowState::kFailed), StateOf(4, RowState::kLoading)};
  ASSERT_TRUE(roster_.TakeState(state));
  Want({Service(1), Service(2), Service(3), Service(4)});
  EXPECT_EQ(offered_[TokenOf(1)], 0);
  // A removal that was begun is asked for again; a failure is asked for its reason.
  EXPECT_THAT(client_->removes, ElementsAre(2));
  EXPECT_THAT(client_->assigns, ElementsAre(3));
  Answer(Failed(3, "no such table"));
  EXPECT_EQ(roster_.services().at(3).reason, "no such table");
  EXPECT_THAT(client_->assigns, ElementsAre(3));
  AnswerRemove(2, absl::OkStatus());
  EXPECT_THAT(client_->assigns, ElementsAre(3, 2));
  Answer(Ready(2));
  EXPECT_FALSE(roster_.settled());
  roster_.TakeServiceState(StateOf(4, RowState::kReady));
  EXPECT_TRUE(roster_.settled());
}

TEST_F(ServiceRosterTest, AStateWithARowThatCannotBeRightIsRefused) {
  LinkMessage state;
  state.services = {StateOf(1, RowState::kReady)};
  state.services[0].row = kBadRow;
  EXPECT_FALSE(roster_.TakeState(state));
  EXPECT_FALSE(roster_.services().contains(1));
}

TEST_F(ServiceRosterTest, StatesOfOtherRevisionsAndOfWhatIsUnderWayAreNotTaken) {
  Host({1, 2});
  roster_.TakeServiceState(StateOf(1, RowState::kFailed, /*revision=*/9));
  roster_.TakeServiceState(StateOf(7, RowState::kReady));
  EXPECT_EQ(StatusOf(1), ServiceStatus::kReady);
  EXPECT_FALSE(roster_.services().contains(7));
  // Removed here, and asked for: the answers say more.
  Want({Service(1), Service(3)});
  roster_.TakeServiceState(StateOf(2, RowState::kReady));
  roster_.TakeServiceState(StateOf(3, RowState::kFailed));
  EXPECT_EQ(StatusOf(2), ServiceStatus::kDraining);
  EXPECT_EQ(StatusOf(3), ServiceStatus::kLoading);
}

TEST_F(ServiceRosterTest, AProbeChangesTheReasonOfReadyServicesOnly) {
  Host({1});
  Want({Service(1), Service(2)});
  Answer(Failed(2, "no such table"));
  changes_.clear();
  const std::vector<ProbeOutcome> outcomes = {
      {1, false, "status 503"}, {2, true, ""}, {7, false, "who?"}};
  roster_.TakeProbe(outcomes);
  roster_.TakeProbe(outcomes);
  EXPECT_EQ(StatusOf(1), ServiceStatus::kReady);
  EXPECT_EQ(roster_.services().at(1).reason, "unhealthy: status 503");
  EXPECT_EQ(roster_.services().at(2).reason, "no such table");
  EXPECT_THAT(changes_, ElementsAre("1 ready -> ready"));
  roster_.TakeProbe({{1, true, ""}});
  EXPECT_EQ(roster_.services().at(1).reason, "");
}

TEST_F(ServiceRosterTest, OnceClosedNothingIsBegun) {
  Host({1});
  Want({Service(1), Service(2)});
  Answer(Failed(2, "no such table"));
  client_->assigns.clear();
  roster_.Close();
  Want({Service(3)});
  roster_.Retry(2);
  roster_.BeginAgain();
  Run();
  EXPECT_THAT(client_->assigns, IsEmpty());
  EXPECT_THAT(client_->removes, IsEmpty());
}

TEST_F(ServiceRosterTest, WhatIsWantedWithoutAChannelWaitsForOne) {
  connected_ = false;
  Want({Service(1)});
  EXPECT_THAT(offered_, IsEmpty());
  EXPECT_FALSE(roster_.settled());
  connected_ = true;
  Reconnect();
  EXPECT_THAT(client_->assigns, ElementsAre(1));
}

}  // namespace
}  // namespace cohost::supervisor
