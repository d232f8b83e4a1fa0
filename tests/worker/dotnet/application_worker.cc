// SPDX-License-Identifier: Apache-2.0
#include "tests/worker/dotnet/application_worker.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace cohost::testing {

absl::Status ApplicationWorker::Start() {
  COHOST_RETURN_IF_ERROR(peer_.Hello().status());
  return peer_.OpenChannel();
}

absl::Status ApplicationWorker::Add(const Application& application, const std::string& service,
                                    const std::function<void(worker::v1::AssignRequest&)>& change) {
  const std::string name = service.empty() ? application.name : service;
  const std::string copy = folder_ / name;
  LayOut(application.name, copy);
  const std::string data = copy + ".data";
  std::filesystem::create_directory(data);
  worker::v1::AssignRequest request;
  request.set_service_id(addresses_.size() + 1);
  request.set_revision(1);
  request.set_name(name);
  request.set_runtime(v1::RUNTIME_DOTNET);
  request.set_module_path(absl::StrCat(copy, "/", application.name, ".dll"));
  request.set_data_folder(data);
  for (const auto& [key, value] : application.environment) {
    v1::Setting* const variable = request.add_environment();
    variable->set_key(key);
    variable->set_value(value);
  }
  request.mutable_arguments()->Assign(application.arguments.begin(), application.arguments.end());
  const size_t endpoints = std::max<size_t>(application.endpoints.size(), 1);
  for (size_t i = 0; i < endpoints; ++i) {
    LoopbackListener listener = ListenOnLoopback();
    const std::string address = absl::StrCat("127.0.0.1:", listener.port);
    worker::v1::Endpoint* const endpoint = request.add_endpoints();
    endpoint->set_listener_token(listeners_.size() + 1);
    endpoint->set_address("http://" + address);
    if (i < application.endpoints.size()) endpoint->set_endpoint(application.endpoints[i].name);
    COHOST_RETURN_IF_ERROR(peer_.GiveListener(endpoint->listener_token(), listener.socket.get()));
    ports_.emplace(name, listener.port);
    listeners_.push_back(std::move(listener));
    addresses_[name].push_back(address);
  }
  if (change) change(request);
  COHOST_ASSIGN_OR_RETURN(const worker::v1::AssignResponse response, peer_.Assign(request));
  rows_[name] = response.row();
  if (response.state() == v1::SERVICE_STATE_READY) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(name, " is not ready: ", response.reason()));
}

absl::Status ApplicationWorker::CheckAlive() {
  const auto ended = peer_.process().WaitUntilEnded(absl::ZeroDuration());
  if (!ended) return absl::OkStatus();
  return absl::AbortedError(absl::StrCat("the worker ended by signal ", ended->signal.value_or(0),
                                         " or with status ", ended->exit_code.value_or(0), ":\n",
                                         peer_.Log()));
}

}  // namespace cohost::testing
