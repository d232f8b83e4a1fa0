// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/exchange/import_command.h"

#include <fcntl.h>
#include <google/protobuf/struct.pb.h>
#include <unistd.h>

#include <istream>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "base/system/file.h"
#include "base/valid_utf8.h"
#include "supervisor/ctl/cells.h"
#include "supervisor/ctl/exchange/exchange_failure.h"
#include "supervisor/ctl/exchange/file_replacement.h"
#include "supervisor/ctl/exchange/import_plan.h"
#include "supervisor/ctl/exchange/module_folder.h"
#include "supervisor/ctl/json_text.h"
#include "supervisor/ctl/table.h"
#include "supervisor/ctl/views.h"

namespace cohost::supervisor {
namespace {

namespace v1 = admin::v1;

constexpr absl::Duration kTimeout = absl::Seconds(30);
// A reload waits for disks and for changes that others have begun.
constexpr absl::Duration kReloadTimeout = absl::Minutes(5);

// Whether a call that failed may have done its work all the same.
bool OutcomeIsUnknown(const grpc::Status& call) {
  const grpc::StatusCode code = call.error_code();
  return code == grpc::StatusCode::DEADLINE_EXCEEDED || code == grpc::StatusCode::UNAVAILABLE ||
         code == grpc::StatusCode::CANCELLED || code == grpc::StatusCode::UNKNOWN ||
         code == grpc::StatusCode::INTERNAL;
}

std::string PlanText(const ImportPlan& plan) {
  const ArchiveHead& head = plan.contents.head;
  std::string text = absl::StrCat(
      "revision ", head.revision, " of ", Paint(head.hostname, Tone::kPlain, /*colour=*/false),
      ", ", absl::FormatTime("%Y-%m-%d %H:%M:%S", head.time, absl::LocalTimeZone()), ", ",
      Plural(plan.services, "service"), "\n", DifferenceText(plan.difference));
  if (!plan.includes.empty()) {
    absl::StrAppend(&text, "no longer read, since the new deployment file is complete in itself: ",
                    absl::StrJoin(plan.includes, ", "), "\n");
  }
  return text;
}

std::string PlanJson(const ImportPlan& plan, bool applied, uint64_t revision) {
  google::protobuf::Struct fields;
  auto& map = *fields.mutable_fields();
  map["applied"].set_bool_value(applied);
  map["revision"].set_number_value(static_cast<double>(revision));
  map["fromHost"].set_string_value(ValidUtf8(plan.contents.head.hostname));
  map["fromRevision"].set_number_value(static_cast<double>(plan.contents.head.revision));
  const auto names = [&](const char* key, const auto& items, auto name) {
    auto& list = *map[key].mutable_list_value();
    for (const auto& item : items) list.add_values()->set_string_value(ValidUtf8(name(item)));
  };
  const auto service = [](const ServiceDifference& difference) { return difference.name; };
  const auto same = [](const std::string& text) { return text; };
  names("added", plan.difference.added, service);
  names("removed", plan.difference.removed, service);
  names("changed", plan.difference.changed, service);
  names("groupsAdded", plan.difference.groups_added, same);
  names("groupsRemoved", plan.difference.groups_removed, same);
  names("groupsChanged", plan.difference.groups_changed, same);
  names("noLongerRead", plan.includes, same);
  return Json(fields, true);
}

// The files of the plan, all in their folder; taken away again when it ends without Keep.
absl::StatusOr<std::unique_ptr<ModuleFolder>> LayFiles(int archive, const ImportPlan& plan) {
  COHOST_ASSIGN_OR_RETURN(std::unique_ptr<ModuleFolder> folder, ModuleFolder::Open(plan.folder));
  COHOST_ASSIGN_OR_RETURN(const ArchiveContents again, ReadArchive(archive, folder.get()));
  if (!(again.head == plan.contents.head)) {
    return absl::AbortedError("the archive changed while it was looked at; repeat");
  }
  for (const ArchivedFile& file : plan.contents.list.files) {
    if (!file.included) COHOST_RETURN_IF_ERROR(folder->Copy(file, plan.stored.at(file.name.hash)));
    const auto signatures = plan.contents.signatures.find(file.name.hash);
    if (signatures != plan.contents.signatures.end()) {
      COHOST_RETURN_IF_ERROR(folder->LaySignatures(file, signatures->second));
    }
  }
  COHOST_RETURN_IF_ERROR(folder->Sync());
  return folder;
}

// One import, from the plan to its end.
class Import {
 public:
  Import(const Invocation& invocation, AdminClient& client, const ImportPlan& plan,
         std::ostream& out, std::ostream& errors)
      : invocation_(invocation), client_(client), plan_(plan), out_(out), errors_(errors) {}

  int Run(int archive, std::istream* answers) {
    if (!is_json()) out_ << PlanText(plan_) << std::flush;
    if (plan_.difference.empty()) {
      if (!is_json()) out_ << "nothing differs from what is in force; nothing was changed\n";
      return Report(/*applied=*/false, plan_.revision);
    }
    if (invocation_.dry_run) return Report(/*applied=*/false, plan_.revision);
    if (std::optional<Failure> refused = Confirm(answers)) return Fail(*refused, errors_);
    return Apply(archive);
  }

 private:
  bool is_json() const { return invocation_.output == OutputFormat::kJson; }

  int Report(bool applied, uint64_t revision) {
    if (is_json()) out_ << PlanJson(plan_, applied, revision);
    return static_cast<int>(ExitCode::kDone);
  }

  std::optional<Failure> Confirm(std::istream* answers) {
    if (invocation_.yes) return std::nullopt;
    if (answers == nullptr) {
      return Failure{ExitCode::kWrongCall,
                     "nobody can be asked here: --yes applies it, --dry-run only shows it; "
                     "nothing was changed"};
    }
    errors_ << "Apply it? [y/N] " << std::flush;
    std::string answer;
    std::getline(*answers, answer);
    if (answer == "y" || answer == "Y" || answer == "yes") return std::nullopt;
    return Failure{ExitCode::kWrongCall, "nothing was changed"};
  }

  int Apply(int archive) {
    auto folder = LayFiles(archive, plan_);
    if (!folder.ok()) return Fail(LocalFailure(folder.status()), errors_);
    auto replaced =
        FileReplacement::Replace(plan_.deployment_file, plan_.text_before, plan_.text, absl::Now());
    if (!replaced.ok()) return Fail(LocalFailure(replaced.status()), errors_);
    v1::ReloadRequest request;
    request.set_request_id(absl::StrCat("ctl-", ::getpid(), "-", absl::ToUnixNanos(absl::Now())));
    request.set_if_revision(plan_.revision);
    request.set_imported(true);
    v1::ReloadResponse response;
    const grpc::Status call = client_.stub().Reload(
        ContextFor(invocation_.timeout.value_or(kReloadTimeout)).get(), request, &response);
    if (call.ok() && response.problems().empty()) {
      (*folder)->Keep();
      if (!is_json()) {
        out_ << ReloadView(response) << "the deployment file before is " << replaced->kept()
             << "\n";
      }
      return Report(/*applied=*/true, response.revision());
    }
    if (!call.ok() && OutcomeIsUnknown(call)) {
      (*folder)->Keep();
      return Fail({ExitCode::kNoHost,
                   absl::StrCat(CallFailure(call, client_.socket()).message,
                                "\nwhether the import is in force is not known (`cohostctl "
                                "history` shows it): the new file is in place, the one before is ",
                                replaced->kept())},
                  errors_);
    }
    return Withdraw(*replaced, call, response);
  }

  // The host has refused it; the files go when the folder ends.
  int Withdraw(FileReplacement& replaced, const grpc::Status& call,
               const v1::ReloadResponse& response) {
    if (is_json() && call.ok()) out_ << Json(response, true);
    for (const v1::ConfigProblem& problem : response.problems()) errors_ << ProblemLine(problem);
    if (const absl::Status back = replaced.PutBack(); !back.ok()) {
      return Fail({ExitCode::kNoHost,
                   absl::StrCat("the host refused it, and its old deployment file is still at ",
                                replaced.kept(), ": ", back.message())},
                  errors_);
    }
    if (!call.ok()) {
      Failure failure = CallFailure(call, client_.socket());
      failure.message += "; nothing was changed";
      return Fail(failure, errors_);
    }
    const int count = response.problems_size();
    return Fail({ExitCode::kWrongCall, absl::StrCat(Plural(static_cast<uint64_t>(count), "error"),
                                                    "; everything is as it was before")},
                errors_);
  }

  const Invocation& invocation_;
  AdminClient& client_;
  const ImportPlan& plan_;
  std::ostream& out_;
  std::ostream& errors_;
};

}  // namespace

int RunImport(const Invocation& invocation, AdminClient& client, std::istream* answers,
              std::ostream& out, std::ostream& errors) {
  const absl::StatusOr<UniqueFd> archive =
      OpenFile(invocation.name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!archive.ok()) return Fail(LocalFailure(archive.status()), errors);
  const ImportRequest request{invocation.name, invocation.folder,
                              invocation.timeout.value_or(kTimeout)};
  auto plan = PlanImport(archive->get(), request, client);
  if (const Failure* failure = std::get_if<Failure>(&plan)) return Fail(*failure, errors);
  return Import(invocation, client, std::get<ImportPlan>(plan), out, errors)
      .Run(archive->get(), answers);
}

}  // namespace cohost::supervisor
