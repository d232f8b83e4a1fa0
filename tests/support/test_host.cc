// SPDX-License-Identifier: Apache-2.0
#include "tests/support/test_host.h"

#include <fcntl.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <grpcpp/grpcpp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/status.h"
#include "tests/support/http_client.h"

namespace cohost::testing {
namespace {

using google::protobuf::Struct;

constexpr absl::Duration kStartLimit = absl::Seconds(40);
constexpr std::chrono::seconds kCallLimit(10);
constexpr std::chrono::seconds kRecycleLimit(60);

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// ${NAME} -> absolute path of tests/services/NAME.so.
std::string FillIn(std::string text) {
  for (size_t at = text.find("${"); at != std::string::npos; at = text.find("${", at + 1)) {
    const size_t end = text.find('}', at);
    const std::string name = text.substr(at + 2, end - at - 2);
    if (name.find(':') != std::string::npos) continue;  // a secret's reference
    text.replace(at, end - at + 1, ProgramPath(absl::StrCat("tests/services/", name, ".so")));
  }
  return text;
}

// One admin call, made again while the supervisor is away.
template <typename Answer, typename Request, typename Method>
absl::StatusOr<Answer> Call(const TestHost& host, Method method, const Request& request) {
  grpc::Status status;
  Answer answer;
  Eventually([&] {
    const auto stub = host.Connect();
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kCallLimit);
    status = (stub.get()->*method)(&context, request, &answer);
    return status.error_code() != grpc::StatusCode::UNAVAILABLE;
  });
  if (status.ok()) return answer;
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

}  // namespace

absl::StatusOr<std::unique_ptr<TestHost>> TestHost::Start(Options options) {
  std::unique_ptr<TestHost> host(new TestHost());
  COHOST_RETURN_IF_ERROR(host->Launch(options));
  return host;
}

std::unique_ptr<TestHost> TestHost::StartOrDie(Options options) {
  auto host = Start(std::move(options));
  if (!host.ok()) {
    std::fprintf(stderr, "the host did not start: %s\n",
                 std::string(host.status().message()).c_str());
    std::abort();
  }
  return *std::move(host);
}

absl::Status TestHost::Launch(const Options& options) {
  folder_ = std::make_unique<TemporaryFolder>();
  // Workers of another user have to reach the module store.
  chmod(folder_->path().c_str(), 0755);
  SetSigningKeys(options.signing_keys);
  host_ = options.host;
  WriteDeployment(options.deployment);
  int pipes[2];
  if (pipe2(pipes, O_CLOEXEC) != 0) return ErrnoStatus(errno, "pipe2", "");
  const UniqueFd reader(pipes[0]);
  UniqueFd writer(pipes[1]);
  const UniqueFd log(
      open((*folder_ / "log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  TestProcess::Options process;
  process.command = options.wrapper;
  for (const std::string& argument :
       {ProgramPath("supervisor/keeper/cohostd"), std::string("--config"), deployment_file(),
        std::string("--supervisor"), ProgramPath("supervisor/cohost-supervisor"),
        std::string("--worker"),
        options.worker.empty() ? ProgramPath("worker/cohost-worker") : options.worker,
        std::string("--ready-fd"), std::string("9")}) {
    process.command.push_back(argument);
  }
  process.command.insert(process.command.end(), options.arguments.begin(), options.arguments.end());
  process.environment = options.environment;
  process.descriptors = {{1, log.get()}, {2, log.get()}, {9, writer.get()}};
  process.descriptors.insert(process.descriptors.end(), options.descriptors.begin(),
                             options.descriptors.end());
  COHOST_ASSIGN_OR_RETURN(keeper_, TestProcess::Start(process));
  writer.Reset();
  return ReadReadyLine(reader.get());
}

absl::Status TestHost::ReadReadyLine(int pipe) {
  std::string line;
  while (line.find('\n') == std::string::npos) {
    char buffer[4096];
    if (!WaitReadable(pipe, kStartLimit)) {
      return absl::DeadlineExceededError(absl::StrCat("not ready in time; it printed:\n", Log()));
    }
    const ssize_t count = read(pipe, buffer, sizeof(buffer));
    if (count <= 0) return absl::AbortedError(absl::StrCat("it ended; it printed:\n", Log()));
    line.append(buffer, static_cast<size_t>(count));
  }
  Struct fields;
  if (!google::protobuf::util::JsonStringToMessage(line, &fields).ok()) {
    return absl::InternalError(absl::StrCat("not JSON: ", line));
  }
  admin_socket_ = fields.fields().at("admin").string_value();
  if (fields.fields().contains("metrics")) {
    metrics_address_ = fields.fields().at("metrics").string_value();
  }
  for (const auto& [name, list] : fields.fields().at("addresses").struct_value().fields()) {
    for (const auto& address : list.list_value().values()) {
      addresses_[name].push_back(address.string_value());
    }
  }
  return absl::OkStatus();
}

TestHost::~TestHost() {
  if (keeper_ != nullptr) (void)Stop(absl::Seconds(10));
}

namespace {

uint16_t PortOf(const std::string& address) {
  int port = 0;
  const size_t colon = address.find(':', address.find("//") + 2);
  const size_t end = address.find('/', colon);
  if (!absl::SimpleAtoi(address.substr(colon + 1, end - colon - 1), &port)) return 0;
  return static_cast<uint16_t>(port);
}

}  // namespace

uint16_t TestHost::Port(const std::string& service) const {
  const auto found = addresses_.find(service);
  if (found == addresses_.end() || found->second.empty()) {
    const auto fresh = Service(service);
    return fresh.ok() && fresh->addresses_size() > 0 ? PortOf(fresh->addresses(0)) : 0;
  }
  return PortOf(found->second.front());
}

std::string TestHost::Metrics() const {
  auto client = HttpClient::Connect(PortOf(metrics_address_));
  if (!client.ok()) return "";
  const auto answer = client->Get("/metrics");
  return answer.ok() ? answer->body : "";
}

std::string TestHost::Log() const { return ReadText(*folder_ / "log"); }

void TestHost::WriteDeployment(const std::string& deployment) {
  std::ofstream file(deployment_file());
  file << "version: 1\nhost: {runtime_dir: " << *folder_ / "run"
       << ", state_dir: " << *folder_ / "state"
       << ", metrics: {listen: \"127.0.0.1:0\"}";
  if (!signing_keys_.empty()) {
    file << ", signing_keys: {" << absl::StrJoin(signing_keys_, ", ", absl::PairFormatter(": "))
         << "}";
  }
  if (!host_.empty()) file << ", " << host_;
  file << "}\n";
  if (geteuid() == 0 && deployment.find("group_defaults:") == std::string::npos) {
    file << "group_defaults: {identity: {user: nobody}}\n";
  }
  file << FillIn(deployment);
}

std::unique_ptr<admin::v1::Admin::Stub> TestHost::Connect() const {
  grpc::ChannelArguments arguments;
  // A channel of its own for each stub: the server may have been replaced in between.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return admin::v1::Admin::NewStub(grpc::CreateCustomChannel(
      "unix:" + admin_socket_, grpc::InsecureChannelCredentials(), arguments));
}

absl::StatusOr<admin::v1::Status> TestHost::Status() const {
  return Call<admin::v1::Status>(*this, &admin::v1::Admin::Stub::GetStatus,
                                 admin::v1::GetStatusRequest());
}

absl::StatusOr<admin::v1::ReloadResponse> TestHost::Reload() {
  return Call<admin::v1::ReloadResponse>(*this, &admin::v1::Admin::Stub::Reload,
                                         admin::v1::ReloadRequest());
}

absl::StatusOr<admin::v1::RecycleResponse> TestHost::Recycle(const std::string& group,
                                                             std::optional<uint32_t> slot) const {
  const auto stub = Connect();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kRecycleLimit);
  admin::v1::RecycleRequest request;
  request.set_group(group);
  if (slot) request.set_slot(*slot);
  admin::v1::RecycleResponse response;
  const grpc::Status status = stub->Recycle(&context, request, &response);
  if (status.ok()) return response;
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

std::vector<admin::v1::Event> TestHost::Events() const {
  const auto stub = Connect();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kCallLimit);
  const auto reader = stub->WatchEvents(&context, admin::v1::WatchEventsRequest());
  std::vector<admin::v1::Event> events;
  for (admin::v1::Event event; reader->Read(&event);) events.push_back(event);
  return reader->Finish().ok() ? events : std::vector<admin::v1::Event>();
}

std::vector<admin::v1::Worker> TestHost::Workers(const std::string& group) const {
  admin::v1::ListWorkersRequest request;
  request.set_group(group);
  const auto answer =
      Call<admin::v1::ListWorkersResponse>(*this, &admin::v1::Admin::Stub::ListWorkers, request);
  if (!answer.ok()) return {};
  return {answer->workers().begin(), answer->workers().end()};
}

std::vector<admin::v1::Service> TestHost::Services() const {
  const auto answer = Call<admin::v1::ListServicesResponse>(
      *this, &admin::v1::Admin::Stub::ListServices, admin::v1::ListServicesRequest());
  if (!answer.ok()) return {};
  return {answer->services().begin(), answer->services().end()};
}

absl::StatusOr<admin::v1::Service> TestHost::Service(const std::string& name) const {
  admin::v1::ListServicesRequest request;
  request.set_name(name);
  COHOST_ASSIGN_OR_RETURN(
      const auto answer,
      Call<admin::v1::ListServicesResponse>(*this, &admin::v1::Admin::Stub::ListServices, request));
  if (answer.services_size() != 1) return absl::NotFoundError(name);
  return answer.services(0);
}

pid_t TestHost::SupervisorPid() const {
  const auto status = Status();
  return status.ok() ? static_cast<pid_t>(status->supervisor_pid()) : 0;
}

std::map<std::string, pid_t> TestHost::WorkerPids() const {
  std::map<std::string, pid_t> pids;
  for (const admin::v1::Worker& worker : Workers()) {
    if (worker.state() != v1::WORKER_STATE_READY) continue;
    pids[absl::StrCat(worker.group(), "/", worker.slot())] = static_cast<pid_t>(worker.pid());
  }
  return pids;
}

bool TestHost::WaitUntilReady(absl::Duration limit) const {
  return Eventually(
      [&] {
        const auto status = Status();
        return status.ok() && status->healthy();
      },
      limit);
}

std::optional<TestProcess::Ended> TestHost::Stop(absl::Duration limit) {
  keeper_->Signal(SIGTERM);
  return keeper_->WaitUntilEnded(limit);
}

}  // namespace cohost::testing
