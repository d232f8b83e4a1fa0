// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/history_views.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/units.h"
#include "supervisor/ctl/cells.h"
#include "supervisor/ctl/quantity.h"
#include "supervisor/ctl/table.h"

namespace cohost::supervisor {

namespace {

std::string Line(const std::string& text) { return Paint(text, Tone::kPlain, false) + "\n"; }

std::string Who(const admin::v1::Revision& revision) {
  return revision.has_uid() ? absl::StrCat("uid ", revision.uid()) : "-";
}

}  // namespace

std::string DeployView(const admin::v1::DeployResponse& response) {
  std::string text;
  if (response.changed()) {
    absl::StrAppend(&text, "revision ", response.revision());
    if (response.restored_revision() != 0) {
      absl::StrAppend(&text, ", as in revision ", response.restored_revision());
    }
    text += "\n";
    if (!response.service().empty()) {
      text += Line(absl::StrCat(response.service(), "  module ",
                                ShortHash(response.module_hash_before()), " -> ",
                                ShortHash(response.module_hash())));
    }
  } else {
    absl::StrAppend(&text, "revision ", response.revision(),
                    ": it is in force already, nothing changed\n");
  }
  if (!response.serving().empty()) {
    text += Line(absl::StrCat("serves in ", absl::StrJoin(response.serving(), ", ")));
  }
  for (const std::string& remark : response.remarks()) text += Line(remark);
  return text;
}

std::string HistoryView(const admin::v1::ListHistoryResponse& history, const std::string& service,
                        const Look& look) {
  const bool of_service = !service.empty();
  Table table(of_service
                  ? std::vector<Column>{{"REVISION", Align::kRight},
                                        {"TIME"},
                                        {"WHO"},
                                        {"ACTION"},
                                        {"MODULE"},
                                        {"FROM"}}
                  : std::vector<Column>{
                        {"REVISION", Align::kRight}, {"TIME"}, {"WHO"}, {"ACTION"}, {"CHANGES"}});
  bool first = true;
  for (const admin::v1::Revision& revision : history.revisions()) {
    const Tone tone = first ? Tone::kGood : Tone::kPlain;
    first = false;
    std::vector<Cell> row = {CountCell(revision.revision(), tone), FormatTime(revision.time()),
                             Who(revision), revision.action()};
    if (of_service) {
      row.emplace_back(revision.module_hash().empty() ? "removed"
                                                      : ShortHash(revision.module_hash()));
      row.emplace_back(revision.source_path());
    } else {
      row.emplace_back(revision.summary());
    }
    table.Add(std::move(row));
  }
  std::string text = table.Render(look.colour);
  if (history.held_since() != 0) {
    text += "\n";
    text += Line(absl::StrCat("since revision ", history.held_since(),
                              " it does not run as the deployment file says; it will again when "
                              "the file says something new of it"));
  }
  return text;
}

std::string MaintainModulesView(const admin::v1::MaintainModulesResponse& response, bool check,
                                bool collect) {
  std::string text;
  if (check) {
    text += absl::StrCat(Plural(response.files(), "whole file"), ", ",
                         FormatMegabytes(Bytes{response.size_bytes()}), "\n");
    for (const std::string& damaged : response.damaged()) text += Line("damaged: " + damaged);
    for (const std::string& missing : response.missing()) text += Line("missing: " + missing);
    for (const std::string& foreign : response.foreign()) text += Line("not ours: " + foreign);
  }
  if (collect) {
    text += absl::StrCat(Plural(response.removed(), "file"), " removed, ",
                         FormatMegabytes(Bytes{response.freed_bytes()}), "\n");
  }
  return text;
}

}  // namespace cohost::supervisor
