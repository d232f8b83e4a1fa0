// SPDX-License-Identifier: Apache-2.0
#include "supervisor/admin/admin_service.h"

#include <unistd.h>

#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/admin.grpc.pb.h"
#include "tests/supervisor/admin/admin_fixture.h"

namespace cohost::supervisor {
namespace {

namespace v1 = admin::v1;
using grpc::StatusCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class AdminServiceTest : public AdminFixture {
 protected:
  AdminServiceTest() {
    StartServer();
    stub_ = v1::Admin::NewStub(Connect());
  }

  grpc::Status Stop(const std::string& name, const std::string& id, uint64_t if_revision,
                    uint64_t* event_id = nullptr) {
    v1::StopServiceRequest request;
    request.set_name(name);
    request.set_request_id(id);
    request.set_if_revision(if_revision);
    v1::StopServiceResponse response;
    const grpc::Status status = stub_->StopService(Context().get(), request, &response);
    if (event_id != nullptr) *event_id = response.event_id();
    return status;
  }

  std::string Uid() const { return std::to_string(::getuid()); }

  std::unique_ptr<v1::Admin::Stub> stub_;
};

TEST_F(AdminServiceTest, StatusCountsAndSums) {
  v1::Status status;
  ASSERT_TRUE(stub_->GetStatus(Context().get(), {}, &status).ok());
  EXPECT_EQ(status.version(), "1.2.3");
  EXPECT_EQ(status.revision(), 3u);
  EXPECT_EQ(status.services(), 5u);
  EXPECT_EQ(status.services_ready(), 4u);
  EXPECT_EQ(status.services_failed(), 1u);
  EXPECT_EQ(status.services_stopped(), 0u);
  EXPECT_EQ(status.groups(), 3u);
  EXPECT_EQ(status.workers(), 4u);
  EXPECT_EQ(status.workers_expected(), 4u);
  EXPECT_EQ(status.pss_bytes(), 4u * 1'830'000 + 7'600'000 + 910'000);
  EXPECT_FALSE(status.healthy());
  EXPECT_EQ(status.remarks_size(), 1);
  EXPECT_EQ(status.ready_after().nanos(), 63'000'000);
}

TEST_F(AdminServiceTest, AServiceIsShownWhole) {
  v1::ListServicesRequest request;
  request.set_name("catalog");
  v1::ListServicesResponse response;
  ASSERT_TRUE(stub_->ListServices(Context().get(), request, &response).ok());
  ASSERT_EQ(response.services_size(), 1);
  const v1::Service& service = response.services(0);
  EXPECT_EQ(service.state(), cohost::v1::SERVICE_STATE_READY);
  EXPECT_EQ(service.load_class(), cohost::v1::LOAD_CLASS_STEADY);
  EXPECT_EQ(service.runtime(), cohost::v1::RUNTIME_NATIVE);
  EXPECT_EQ(service.requests(), 1'234'570u);
  EXPECT_EQ(service.errors(), 3u);
  EXPECT_EQ(service.latency_p50().nanos(), 500'000);
  EXPECT_EQ(service.latency_p99().nanos(), 500'000);
  EXPECT_EQ(service.warmup().nanos(), 1'240'000);
  EXPECT_THAT(service.addresses(), ElementsAre("http://127.0.0.1:8101"));
}

TEST_F(AdminServiceTest, WithoutRequestsThereAreNoQuantiles) {
  v1::ListServicesRequest request;
  request.set_name("orders");
  v1::ListServicesResponse response;
  ASSERT_TRUE(stub_->ListServices(Context().get(), request, &response).ok());
  EXPECT_FALSE(response.services(0).has_latency_p50());
  EXPECT_FALSE(response.services(0).has_latency_p99());
}

TEST_F(AdminServiceTest, PagesJoinToTheWholeList) {
  v1::ListServicesRequest request;
  request.set_page_size(2);
  std::vector<std::string> names;
  int pages = 0;
  do {
    v1::ListServicesResponse response;
    ASSERT_TRUE(stub_->ListServices(Context().get(), request, &response).ok());
    EXPECT_LE(response.services_size(), 2);
    for (const v1::Service& service : response.services()) names.push_back(service.name());
    request.set_page_token(response.next_page_token());
    ++pages;
  } while (!request.page_token().empty() && pages < 10);
  EXPECT_EQ(pages, 3);
  EXPECT_THAT(names, ElementsAre("catalog", "currency", "invoices", "orders", "search"));
}

TEST_F(AdminServiceTest, AServiceThatComesBetweenTwoPagesDisturbsNeither) {
  v1::ListServicesRequest request;
  request.set_page_size(2);
  v1::ListServicesResponse first;
  ASSERT_TRUE(stub_->ListServices(Context().get(), request, &first).ok());
  host_.Change([](HostSnapshot& host) {
    ServiceView service = host.services[0];
    service.name = "accounts";
    host.services.insert(host.services.begin(), service);
  });
  request.set_page_token(first.next_page_token());
  v1::ListServicesResponse second;
  ASSERT_TRUE(stub_->ListServices(Context().get(), request, &second).ok());
  ASSERT_EQ(second.services_size(), 2);
  EXPECT_EQ(second.services(0).name(), "invoices");
}

TEST_F(AdminServiceTest, PageSizesAndTokensThatNoListGivesAreRefused) {
  v1::ListWorkersRequest request;
  v1::ListWorkersResponse response;
  request.set_page_size(10001);
  EXPECT_EQ(stub_->ListWorkers(Context().get(), request, &response).error_code(),
            StatusCode::INVALID_ARGUMENT);
  request.set_page_size(-1);
  EXPECT_EQ(stub_->ListWorkers(Context().get(), request, &response).error_code(),
            StatusCode::INVALID_ARGUMENT);
  request.set_page_size(0);
  request.set_page_token("catalog");
  EXPECT_EQ(stub_->ListWorkers(Context().get(), request, &response).error_code(),
            StatusCode::INVALID_ARGUMENT);
}

TEST_F(AdminServiceTest, WorkersOfAGroupAndItsSums) {
  v1::ListWorkersRequest request;
  request.set_group("front");
  v1::ListWorkersResponse workers;
  ASSERT_TRUE(stub_->ListWorkers(Context().get(), request, &workers).ok());
  ASSERT_EQ(workers.workers_size(), 2);
  EXPECT_EQ(workers.workers(1).slot(), 1u);
  v1::ListGroupsRequest groups_request;
  groups_request.set_name("steady-1");
  v1::ListGroupsResponse groups;
  ASSERT_TRUE(stub_->ListGroups(Context().get(), groups_request, &groups).ok());
  ASSERT_EQ(groups.groups_size(), 1);
  EXPECT_EQ(groups.groups(0).requests(), 1'235'570u);
  EXPECT_EQ(groups.groups(0).pss_bytes(), 1'830'000u);
}

TEST_F(AdminServiceTest, ACrashedWorkerSaysHowAndWhy) {
  v1::ListWorkersRequest request;
  request.set_group("batch-1");
  v1::ListWorkersResponse response;
  ASSERT_TRUE(stub_->ListWorkers(Context().get(), request, &response).ok());
  ASSERT_EQ(response.workers_size(), 1);
  EXPECT_EQ(response.workers(0).restarts(), 3u);
  EXPECT_EQ(response.workers(0).last_reason(), cohost::v1::RECYCLE_REASON_CRASH);
  EXPECT_EQ(response.workers(0).last_exit(), "signal 11 (SIGSEGV)");
}

TEST_F(AdminServiceTest, ModulesAndMemory) {
  v1::ListModulesResponse modules;
  ASSERT_TRUE(stub_->ListModules(Context().get(), {}, &modules).ok());
  ASSERT_EQ(modules.modules_size(), 2);
  EXPECT_EQ(modules.modules(0).kind(), "module");
  EXPECT_EQ(modules.modules(1).kind(), "data image");
  v1::Memory memory;
  ASSERT_TRUE(stub_->GetMemory(Context().get(), {}, &memory).ok());
  ASSERT_EQ(memory.processes_size(), 6);
  EXPECT_EQ(memory.processes(0).role(), "keeper");
  EXPECT_EQ(memory.private_bytes(), 4u * 1'200'000 + 6'900'000 + 420'000);
  EXPECT_EQ(memory.services(), 5u);
  EXPECT_EQ(memory.module_memory_size(), 0) << "nobody asked for what it costs";
  v1::GetMemoryRequest request;
  request.set_modules(true);
  ASSERT_TRUE(stub_->GetMemory(Context().get(), request, &memory).ok());
  EXPECT_EQ(memory.processes_size(), 6);
  EXPECT_EQ(memory.module_memory_size(), 2);
  EXPECT_EQ(memory.service_memory_size(), 5);
}

TEST_F(AdminServiceTest, ASampleIsOfFourServicesUnlessItsCallerSaysSo) {
  v1::MeasureUnsharedRequest request;
  v1::UnsharedMemory memory;
  ASSERT_TRUE(stub_->MeasureUnshared(Context().get(), request, &memory).ok());
  EXPECT_EQ(memory.samples_size(), 4);
  EXPECT_EQ(memory.services(), 5u);
  request.set_samples(2);
  ASSERT_TRUE(stub_->MeasureUnshared(Context().get(), request, &memory).ok());
  EXPECT_EQ(memory.samples_size(), 2);
  request.set_samples(17);
  EXPECT_EQ(stub_->MeasureUnshared(Context().get(), request, &memory).error_code(),
            StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(host_.calls().size(), 2u);
}

TEST_F(AdminServiceTest, ModulesThatCannotBeMeasuredAreAnErrorAndProcessesStayThere) {
  host_.Change([](HostSnapshot& host) { host.module_memory = nullptr; });
  v1::GetMemoryRequest request;
  request.set_modules(true);
  v1::Memory memory;
  const grpc::Status status = stub_->GetMemory(Context().get(), request, &memory);
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  request.set_modules(false);
  EXPECT_TRUE(stub_->GetMemory(Context().get(), request, &memory).ok());
}

TEST_F(AdminServiceTest, AnUnknownNameIsNotFoundAndTheNearestIsNamed) {
  v1::ListServicesRequest request;
  request.set_name("catalgo");
  v1::ListServicesResponse response;
  const grpc::Status status = stub_->ListServices(Context().get(), request, &response);
  EXPECT_EQ(status.error_code(), StatusCode::NOT_FOUND);
  EXPECT_THAT(status.error_message(), HasSubstr("catalog"));
  const grpc::Status stop = Stop("ordesr", "", 0);
  EXPECT_EQ(stop.error_code(), StatusCode::NOT_FOUND);
  EXPECT_THAT(stop.error_message(), HasSubstr("orders"));
  v1::RecycleRequest recycle;
  v1::RecycleResponse recycled;
  recycle.set_group("front");
  recycle.set_slot(2);
  EXPECT_EQ(stub_->Recycle(Context().get(), recycle, &recycled).error_code(),
            StatusCode::NOT_FOUND);
  EXPECT_TRUE(host_.calls().empty());
}

TEST_F(AdminServiceTest, StopAndStartReachTheHostWithTheCallersUid) {
  uint64_t event = 0;
  ASSERT_TRUE(Stop("catalog", "abc", 3, &event).ok());
  EXPECT_EQ(event, 1u);
  v1::StartServiceRequest request;
  request.set_name("catalog");
  v1::StartServiceResponse response;
  ASSERT_TRUE(stub_->StartService(Context().get(), request, &response).ok());
  EXPECT_EQ(response.event_id(), 2u);
  EXPECT_THAT(host_.calls(), ElementsAre("stop catalog uid=" + Uid() + " id=abc",
                                         "start catalog uid=" + Uid() + " id="));
}

TEST_F(AdminServiceTest, ARepeatedRequestIdAnswersTheFirstOutcomeAndDoesNothing) {
  uint64_t first = 0;
  uint64_t second = 0;
  ASSERT_TRUE(Stop("catalog", "abc", 0, &first).ok());
  ASSERT_TRUE(Stop("catalog", "abc", 0, &second).ok());
  EXPECT_EQ(first, second);
  EXPECT_EQ(host_.calls().size(), 1u);
  EXPECT_EQ(Stop("orders", "abc", 0).error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Stop("orders", std::string(65, 'x'), 0).error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(host_.calls().size(), 1u);
}

TEST_F(AdminServiceTest, AnOldRevisionIsAFailedPrecondition) {
  EXPECT_EQ(Stop("catalog", "", 2).error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_TRUE(host_.calls().empty());
}

TEST_F(AdminServiceTest, RecycleAnswersTheSlots) {
  v1::RecycleRequest request;
  v1::RecycleResponse response;
  request.set_group("front");
  ASSERT_TRUE(stub_->Recycle(Context().get(), request, &response).ok());
  EXPECT_THAT(response.recycled(), ElementsAre("front/0", "front/1"));
  request.set_slot(1);
  ASSERT_TRUE(stub_->Recycle(Context().get(), request, &response).ok());
  EXPECT_THAT(response.recycled(), ElementsAre("front/1"));
}

TEST_F(AdminServiceTest, ReloadAnswersWhatChangedOrAllProblems) {
  v1::ReloadResponse response;
  ASSERT_TRUE(stub_->Reload(Context().get(), {}, &response).ok());
  EXPECT_EQ(response.revision(), 4u);
  EXPECT_THAT(response.added(), ElementsAre("billing"));
  host_.SetProblems({{"a.yaml", 1, 2, "services[0]", "first"}, {"a.yaml", 3, 4, "host", "second"}});
  ASSERT_TRUE(stub_->Reload(Context().get(), {}, &response).ok());
  EXPECT_EQ(response.revision(), 4u);
  ASSERT_EQ(response.problems_size(), 2);
  EXPECT_EQ(response.problems(1).line(), 3u);
  EXPECT_EQ(response.problems(1).message(), "second");
}

TEST_F(AdminServiceTest, DeployPassesOnWhatIsAskedAndAnswersWhatCameOfIt) {
  v1::DeployRequest request;
  request.set_service("catalog");
  request.set_path("/srv/new.so");
  request.set_wait(true);
  request.mutable_canary_time()->set_seconds(90);
  v1::DeployResponse response;
  ASSERT_TRUE(stub_->Deploy(Context().get(), request, &response).ok());
  EXPECT_TRUE(response.changed());
  EXPECT_EQ(response.revision(), 4u);
  EXPECT_EQ(response.module_hash(), std::string(64, 'd'));
  EXPECT_THAT(response.serving(), ElementsAre("steady-1/0"));
  EXPECT_THAT(host_.calls(),
              ElementsAre(::testing::StartsWith("deploy catalog /srv/new.so wait=1 canary=1m30s")));
  request.set_path("/srv/wrong.so");
  ASSERT_TRUE(stub_->Deploy(Context().get(), request, &response).ok());
  ASSERT_EQ(response.problems_size(), 1);
  EXPECT_EQ(response.problems(0).key_path(), "services.catalog.module");
  EXPECT_FALSE(response.changed());
  request.set_path("/srv/sick.so");
  EXPECT_EQ(stub_->Deploy(Context().get(), request, &response).error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_F(AdminServiceTest, DeployRefusesWhatMakesNoSenseBeforeTheHostSeesIt) {
  const auto code = [&](const auto& change) {
    v1::DeployRequest request;
    request.set_service("catalog");
    change(request);
    v1::DeployResponse response;
    return stub_->Deploy(Context().get(), request, &response).error_code();
  };
  EXPECT_EQ(code([](auto& r) { r.set_service("catalgo"); }), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(code([](auto& r) { r.set_path("relative.so"); }), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(code([](auto& r) { r.set_path(std::string("/a\0b", 4)); }),
            grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(code([](auto& r) { r.set_path("/a\nb.so"); }), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(code([](auto& r) { r.mutable_canary_time()->set_seconds(-1); }),
            grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(code([](auto& r) { r.mutable_canary_time()->set_seconds(INT64_MAX); }),
            grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(code([](auto& r) { r.set_if_revision(99); }), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(host_.calls(), ::testing::IsEmpty());
}

TEST_F(AdminServiceTest, RollbackOfAServiceAndOfTheDeployment) {
  v1::RollbackRequest request;
  v1::DeployResponse response;
  EXPECT_EQ(stub_->Rollback(Context().get(), request, &response).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  request.set_revision(2);
  ASSERT_TRUE(stub_->Rollback(Context().get(), request, &response).ok());
  EXPECT_EQ(response.restored_revision(), 2u);
  request.set_service("catalgo");
  EXPECT_EQ(stub_->Rollback(Context().get(), request, &response).error_code(),
            grpc::StatusCode::NOT_FOUND);
}

TEST_F(AdminServiceTest, HistoryIsLimitedAndTellsWho) {
  v1::ListHistoryRequest request;
  request.set_service("catalog");
  v1::ListHistoryResponse response;
  ASSERT_TRUE(stub_->ListHistory(Context().get(), request, &response).ok());
  ASSERT_EQ(response.revisions_size(), 2);
  EXPECT_EQ(response.revisions(0).action(), "deploy");
  EXPECT_EQ(response.revisions(0).uid(), 1000u);
  EXPECT_FALSE(response.revisions(1).has_uid());
  EXPECT_EQ(response.revisions(1).module_hash(), std::string(64, 'a'));
  EXPECT_EQ(response.held_since(), 2u);
  request.set_limit(1);
  ASSERT_TRUE(stub_->ListHistory(Context().get(), request, &response).ok());
  EXPECT_EQ(response.revisions_size(), 1);
  request.set_limit(1001);
  EXPECT_EQ(stub_->ListHistory(Context().get(), request, &response).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(AdminServiceTest, MaintainModulesNeedsSomethingToDo) {
  v1::MaintainModulesRequest request;
  v1::MaintainModulesResponse response;
  EXPECT_EQ(stub_->MaintainModules(Context().get(), request, &response).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  request.set_check(true);
  request.set_collect(true);
  ASSERT_TRUE(stub_->MaintainModules(Context().get(), request, &response).ok());
  EXPECT_EQ(response.files(), 3u);
  EXPECT_EQ(response.removed(), 2u);
  EXPECT_THAT(response.foreign(), ElementsAre("README"));
}

TEST_F(AdminServiceTest, AReloadOfAnImportedFileIsAnImport) {
  v1::ReloadRequest request;
  request.set_imported(true);
  request.set_request_id("one");
  v1::ReloadResponse response;
  ASSERT_TRUE(stub_->Reload(Context().get(), request, &response).ok());
  EXPECT_THAT(host_.calls(), ElementsAre("import uid=" + Uid() + " id=one"));
}

TEST_F(AdminServiceTest, TheDeploymentComesWithItsFilesAndTheirUses) {
  const auto context = Context();
  const auto reader = stub_->ExportDeployment(context.get(), {});
  v1::DeploymentPart part;
  ASSERT_TRUE(reader->Read(&part));
  EXPECT_EQ(part.revision(), 3u);
  EXPECT_EQ(part.deployment(), "version: 1\n");
  EXPECT_EQ(part.files_size(), 2);
  EXPECT_EQ(part.uses_size(), 6);
  EXPECT_FALSE(reader->Read(&part));
  EXPECT_TRUE(reader->Finish().ok());
}

TEST_F(AdminServiceTest, PlanAndValidateOfAGivenText) {
  v1::PlanRequest plan_request;
  v1::PlanResponse plan;
  ASSERT_TRUE(stub_->Plan(Context().get(), plan_request, &plan).ok());
  ASSERT_EQ(plan.groups_size(), 3);
  EXPECT_EQ(plan.groups(1).services_size(), 2);
  EXPECT_THAT(plan.moved(), ElementsAre("search"));
  plan_request.set_deployment("memory: wrong");
  ASSERT_TRUE(stub_->Plan(Context().get(), plan_request, &plan).ok());
  EXPECT_EQ(plan.groups_size(), 0);
  EXPECT_EQ(plan.problems_size(), 1);
  v1::ValidateRequest request;
  v1::ValidateResponse response;
  request.set_deployment("memory: wrong");
  request.set_file_name("x.yaml");
  ASSERT_TRUE(stub_->Validate(Context().get(), request, &response).ok());
  ASSERT_EQ(response.problems_size(), 1);
  EXPECT_EQ(response.problems(0).file(), "x.yaml");
}

TEST_F(AdminServiceTest, Cfg04AMessageAboveTheLimitIsRefused) {
  v1::ValidateRequest request;
  v1::ValidateResponse response;
  request.set_deployment(std::string(15 << 20, ' '));
  EXPECT_TRUE(stub_->Validate(Context().get(), request, &response).ok());
  request.set_deployment(std::string(17 << 20, ' '));
  EXPECT_EQ(stub_->Validate(Context().get(), request, &response).error_code(),
            StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(Stop("catalog", "", 0).ok()) << "the connection goes on";
}

TEST_F(AdminServiceTest, LogRequestsThatNameNothingOrBothAreRefused) {
  const auto code = [&](const v1::WatchLogsRequest& request) {
    auto context = Context();
    auto reader = stub_->WatchLogs(context.get(), request);
    v1::LogLine line;
    EXPECT_FALSE(reader->Read(&line));
    return reader->Finish().error_code();
  };
  v1::WatchLogsRequest request;
  EXPECT_EQ(code(request), StatusCode::INVALID_ARGUMENT);
  request.set_service("catalog");
  request.set_group("front");
  EXPECT_EQ(code(request), StatusCode::INVALID_ARGUMENT);
  request.clear_group();
  request.set_slot(0);
  EXPECT_EQ(code(request), StatusCode::INVALID_ARGUMENT);
  request.clear_slot();
  request.set_service("nothing-like-it");
  EXPECT_EQ(code(request), StatusCode::NOT_FOUND);
  request.set_service("catalog");
  request.set_last(10001);
  EXPECT_EQ(code(request), StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace cohost::supervisor
