// SPDX-License-Identifier: Apache-2.0
#include "supervisor/admin/history_messages.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "supervisor/admin/message_values.h"
#include "supervisor/admin/messages.h"

namespace cohost::supervisor {

namespace {

constexpr absl::Duration kLongestCanary = absl::Hours(1);

template <typename Source>
void SetOrigin(admin::v1::Revision& message, const Source& source, absl::Time time) {
  message.set_revision(source.revision);
  Set(message.mutable_time(), time);
  message.set_action(std::string(Name(source.action)));
  if (source.uid) message.set_uid(*source.uid);
}

}  // namespace

absl::StatusOr<DeployRequest> ToDeployRequest(const admin::v1::DeployRequest& request) {
  DeployRequest asked;
  asked.service = request.service();
  asked.path = request.path();
  asked.wait = request.wait();
  const bool plain = std::none_of(asked.path.begin(), asked.path.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
  // As a deployment file would have it: the path stands in the deployment that is kept.
  if (!asked.path.empty() && (asked.path[0] != '/' || !plain)) {
    return absl::InvalidArgumentError(
        absl::StrCat("path '", Text(asked.path), "': it must be absolute and of plain characters"));
  }
  asked.canary_time = ToDuration(request.canary_time());
  if (asked.canary_time < absl::ZeroDuration() || asked.canary_time > kLongestCanary) {
    return absl::InvalidArgumentError(
        absl::StrCat("canary_time is ", absl::FormatDuration(asked.canary_time), "; from 0 to ",
                     absl::FormatDuration(kLongestCanary)));
  }
  return asked;
}

admin::v1::DeployResponse DeployMessage(const DeployOutcome& outcome) {
  admin::v1::DeployResponse response;
  response.set_revision(outcome.revision);
  response.set_changed(outcome.changed);
  response.set_service(Text(outcome.service));
  response.set_module_hash_before(outcome.module_before);
  response.set_module_hash(outcome.module_after);
  response.set_restored_revision(outcome.restored);
  for (const std::string& slot : outcome.serving) response.add_serving(Text(slot));
  for (const std::string& remark : outcome.remarks) response.add_remarks(Text(remark));
  for (const ConfigProblem& problem : outcome.problems) {
    *response.add_problems() = ProblemMessage(problem);
  }
  return response;
}

admin::v1::ListHistoryResponse HistoryMessage(const HistoryView& view) {
  admin::v1::ListHistoryResponse response;
  response.set_revision(view.current);
  response.set_held_since(view.held_since.value_or(0));
  for (const StateRevision& revision : view.revisions) {
    admin::v1::Revision& message = *response.add_revisions();
    SetOrigin(message, revision, revision.applied);
    message.set_summary(Text(revision.summary));
  }
  for (const ServiceChange& change : view.changes) {
    admin::v1::Revision& message = *response.add_revisions();
    SetOrigin(message, change, change.time);
    message.set_module_hash(change.files.module);
    message.set_source_path(Text(change.source));
  }
  return response;
}

admin::v1::MaintainModulesResponse MaintainModulesMessage(const StoreOutcome& outcome) {
  admin::v1::MaintainModulesResponse response;
  response.set_files(outcome.check.files);
  response.set_size_bytes(outcome.check.size.count);
  for (const std::string& damaged : outcome.check.damaged) response.add_damaged(Text(damaged));
  for (const std::string& foreign : outcome.check.foreign) response.add_foreign(Text(foreign));
  for (const std::string& missing : outcome.missing) response.add_missing(Text(missing));
  response.set_removed(outcome.collection.removed.size());
  response.set_freed_bytes(outcome.collection.freed.count);
  return response;
}

}  // namespace cohost::supervisor
