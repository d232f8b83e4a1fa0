// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/deployment_options.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "supervisor/config/address_text.h"
#include "supervisor/config/reader/value_check.h"
#include "supervisor/config/yaml/scalar.h"

namespace cohost::supervisor {
namespace {

void Fail(const Place& place, std::string message, ConfigErrors& errors) {
  errors.Add({place.file, place.line, place.column, place.key_path, std::move(message)});
}

void ApplyFolder(const std::optional<std::string>& folder, const std::string& file,
                 std::string& out, ConfigErrors& errors) {
  if (!folder.has_value()) return;
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(*folder, error);
  if (error || folder->empty()) {
    errors.Add({.file = file, .message = absl::StrCat("no folder: '", *folder, "'")});
    return;
  }
  // As a path of the file: "run/" and "run" are one folder; sockets are compared by prefix.
  std::string resolved = ResolvePath("", absolute.string());
  if (const absl::Status status = CheckPath(resolved); !status.ok()) {
    errors.Add({.file = file, .message = absl::StrCat(Quoted(*folder), ": ", status.message())});
    return;
  }
  out = std::move(resolved);
}

// A socket below the file's runtime_dir goes where that folder goes.
void Move(Address& address, const Place& place, const std::string& from, const std::string& to,
          ConfigErrors& errors) {
  if (address.kind != Address::Kind::kUnix || from == to) return;
  if (address.path.compare(0, from.size() + 1, absl::StrCat(from, "/")) != 0) return;
  SetPath(address, to + address.path.substr(from.size()));
  if (const absl::Status status = CheckSocketPath(address.path); !status.ok()) {
    Fail(place, std::string(status.message()), errors);
  }
}

void Shift(Address& address, const Place& place, uint16_t offset, ConfigErrors& errors) {
  if (address.kind != Address::Kind::kTcp || address.port == 0 || offset == 0) return;
  const uint32_t port = uint32_t{address.port} + offset;
  if (port > 65535) {
    Fail(place, absl::StrCat("port ", address.port, " plus the offset ", offset, " is above 65535"),
         errors);
    return;
  }
  SetPort(address, static_cast<uint16_t>(port));
}

}  // namespace

void ApplyOptions(const LoadOptions& options, const std::string& file, DeploymentDraft& draft,
                  ConfigErrors& errors) {
  Host& host = draft.deployment.host;
  const std::string before = host.runtime_dir;
  ApplyFolder(options.runtime_dir, file, host.runtime_dir, errors);
  ApplyFolder(options.state_dir, file, host.state_dir, errors);
  const auto apply = [&](Address& address, const Place& place) {
    Move(address, place, before, host.runtime_dir, errors);
    Shift(address, place, options.port_offset, errors);
  };
  if (draft.admin_given) {
    apply(host.admin, draft.admin);
  } else {
    host.admin = {};
    host.admin.kind = Address::Kind::kUnix;
    host.admin.text = "unix:";
    SetPath(host.admin, absl::StrCat(host.runtime_dir, "/admin.sock"));
    draft.admin = {file, 0, 0, "host.admin.listen"};
    if (const absl::Status status = CheckSocketPath(host.admin.path); !status.ok()) {
      Fail(draft.admin, std::string(status.message()), errors);
    }
  }
  if (host.metrics.has_value()) apply(*host.metrics, draft.metrics);
  for (size_t i = 0; i < draft.services.size(); ++i) {
    Service& service = draft.deployment.services[i];
    for (size_t j = 0; j < service.listen.size(); ++j) {
      apply(service.listen[j], draft.services[i].addresses[j]);
    }
  }
}

}  // namespace cohost::supervisor
