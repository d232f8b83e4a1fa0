// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/views.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/strings.h"
#include "base/units.h"
#include "supervisor/admin/message_values.h"
#include "supervisor/ctl/cells.h"
#include "supervisor/ctl/quantity.h"
#include "supervisor/ctl/table.h"

namespace cohost::supervisor {
namespace {

using google::protobuf::Duration;

// The word of an enum's value: RECYCLE_REASON_PRIVATE_MEMORY is "private memory".
std::string Word(const std::string& value, std::string_view prefix) {
  std::string word = value.substr(std::min(value.size(), prefix.size()));
  absl::AsciiStrToLower(&word);
  std::replace(word.begin(), word.end(), '_', ' ');
  return word == "unspecified" ? "" : word;
}

std::string ClassWord(cohost::v1::LoadClass value) {
  return Word(cohost::v1::LoadClass_Name(value), "LOAD_CLASS_");
}

std::string ReasonWord(cohost::v1::RecycleReason value) {
  return Word(cohost::v1::RecycleReason_Name(value), "RECYCLE_REASON_");
}

Cell StateCell(const admin::v1::Service& service) {
  const std::string word = Word(cohost::v1::ServiceState_Name(service.state()), "SERVICE_STATE_");
  if (service.state() == cohost::v1::SERVICE_STATE_READY) return {word, Tone::kGood};
  if (service.state() == cohost::v1::SERVICE_STATE_FAILED) return {word, Tone::kBad};
  if (service.stopped_by_operator()) return {word, Tone::kFaint};
  return {word, Tone::kWarning};
}

Cell StateCell(cohost::v1::WorkerState state) {
  const std::string word = Word(cohost::v1::WorkerState_Name(state), "WORKER_STATE_");
  if (state == cohost::v1::WORKER_STATE_READY) return {word, Tone::kGood};
  const bool bad =
      state == cohost::v1::WORKER_STATE_FAILED || state == cohost::v1::WORKER_STATE_UNHEALTHY;
  return {word, bad ? Tone::kBad : Tone::kWarning};
}

Cell SpanCell(bool is_set, const Duration& duration) {
  return {is_set ? FormatSpan(ToDuration(duration)) : "-"};
}
// Errors and restarts stand out only when there are any.
Cell TroubleCell(uint64_t count) {
  return count == 0 ? Cell("0", Tone::kFaint) : CountCell(count, Tone::kBad);
}
Cell ReadyOf(uint32_t ready, uint32_t expected) {
  return {absl::StrCat(ready, "/", expected), ready < expected ? Tone::kWarning : Tone::kPlain};
}

Cell HealthCell(const admin::v1::Status& status) {
  const uint32_t ready = status.services_ready();
  std::string text = absl::StrCat(status.healthy() ? "healthy" : "not healthy", ": ", ready, " of ",
                                  status.services(), " services ready");
  if (status.services_failed() > 0)
    absl::StrAppend(&text, ", ", status.services_failed(), " failed");
  if (status.services_stopped() > 0) {
    absl::StrAppend(&text, ", ", status.services_stopped(), " stopped");
  }
  return {text, status.healthy() ? Tone::kGood : Tone::kBad};
}

std::string MemoryText(const admin::v1::Status& status) {
  if (status.pss_bytes() == 0) return "not measured yet";
  std::string text = absl::StrCat(FormatMegabytes(Bytes{status.pss_bytes()}), " PSS, ",
                                  FormatMegabytes(Bytes{status.private_bytes()}), " private");
  if (status.services() > 0) {
    absl::StrAppend(&text, "; ", FormatMegabytes(Bytes{status.pss_bytes() / status.services()}),
                    " a service");
  }
  return text;
}

}  // namespace

std::string StatusView(const admin::v1::Status& status, const Look& look) {
  Sheet sheet;
  sheet.Add("Host", absl::StrCat(status.hostname(), ", cohost ", status.version(), ", up ",
                                 FormatAge(status.started(), look.now)));
  sheet.Add("Health", HealthCell(status));
  sheet.Add("Deployment", absl::StrCat(status.deployment_file(), ", revision ", status.revision()));
  sheet.Add("Groups", absl::StrCat(status.groups(), " with ", status.workers_ready(), " of ",
                                   status.workers_expected(), " workers ready"));
  sheet.Add("Memory", MemoryText(status));
  if (status.has_ready_after()) {
    sheet.Add("Ready",
              absl::StrCat(FormatSpan(ToDuration(status.ready_after())), " after the start"));
  }
  sheet.Add("Metrics", status.metrics_address());
  sheet.Add("Processes",
            absl::StrCat("keeper ", status.keeper_pid(), ", supervisor ", status.supervisor_pid(),
                         " (", Plural(status.supervisor_restarts(), "restart"), ")"));
  for (const std::string& remark : status.remarks()) {
    sheet.Add("Remark", Cell(remark, Tone::kWarning));
  }
  return sheet.Render(look.colour);
}

std::string ServicesView(const admin::v1::ListServicesResponse& list, const Look& look) {
  Table table({{"NAME"},
               {"GROUP"},
               {"CLASS"},
               {"STATE"},
               {"READY", Align::kRight},
               {"REQUESTS", Align::kRight},
               {"ERRORS", Align::kRight},
               {"P50", Align::kRight},
               {"P99", Align::kRight},
               {"WARM-UP", Align::kRight},
               {"ADDRESS"}});
  for (const admin::v1::Service& service : list.services()) {
    table.Add({service.name(), service.group(), ClassWord(service.load_class()), StateCell(service),
               ReadyOf(service.ready_workers(), service.workers()), CountCell(service.requests()),
               TroubleCell(service.errors()),
               SpanCell(service.has_latency_p50(), service.latency_p50()),
               SpanCell(service.has_latency_p99(), service.latency_p99()),
               SpanCell(service.has_warmup(), service.warmup()),
               absl::StrJoin(service.addresses(), " ")});
  }
  std::string text = table.Render(look.colour);
  bool any = false;
  for (const admin::v1::Service& service : list.services()) {
    if (service.reason().empty()) continue;
    // An empty line ends the table for whoever cuts names out of it (completion.cc).
    if (!std::exchange(any, true)) text += "\n";
    text += Paint(absl::StrCat(service.name(), ": ", service.reason()), Tone::kBad, look.colour);
    text += "\n";
  }
  return text;
}

std::string OwnFigures(const admin::v1::Service& service) {
  return absl::StrCat(Plural(service.requests(), "request"), ", ", FormatCount(service.errors()),
                      " answered 5xx, ", service.in_flight(), " in flight");
}

std::string ServiceSheet(const admin::v1::Service& service, const Look& look) {
  Sheet sheet;
  sheet.Add("Name", service.name());
  sheet.Add("Description", service.description());
  Cell state = StateCell(service);
  if (service.stopped_by_operator()) state.text += " by an operator";
  if (!service.reason().empty()) state.text += ": " + service.reason();
  sheet.Add("State", state);
  sheet.Add("Group", absl::StrCat(service.group(), ", ready in ", service.ready_workers(), " of ",
                                  Plural(service.workers(), "worker")));
  sheet.Add("Class", ClassWord(service.load_class()));
  sheet.Add("Runtime", Word(cohost::v1::Runtime_Name(service.runtime()), "RUNTIME_"));
  sheet.Add("Addresses", absl::StrJoin(service.addresses(), " "));
  sheet.Add("Requests", absl::StrCat(FormatCount(service.requests()), ", ",
                                     FormatCount(service.errors()), " answered 5xx"));
  sheet.Add("Now", absl::StrCat(service.in_flight(), " in flight, ", service.queued(), " queued, ",
                                service.backlog_waiting(), " of ", service.backlog(),
                                " in the accept queue"));
  if (service.has_latency_p50()) {
    sheet.Add("Latency",
              absl::StrCat("half within ", FormatSpan(ToDuration(service.latency_p50())),
                           ", 99 % within ", FormatSpan(ToDuration(service.latency_p99()))));
  }
  if (service.has_warmup()) sheet.Add("Warm-up", FormatSpan(ToDuration(service.warmup())));
  sheet.Add("Module", service.module_path());
  sheet.Add("SHA-256", service.module_hash());
  return sheet.Render(look.colour);
}

std::string GroupsView(const admin::v1::ListGroupsResponse& list, const Look& look) {
  Table table({{"NAME"},
               {"WORKERS", Align::kRight},
               {"SERVICES", Align::kRight},
               {"REQUESTS", Align::kRight},
               {"PSS", Align::kRight},
               {"PRIVATE", Align::kRight},
               {"USER"},
               {"MADE BY"}});
  for (const admin::v1::Group& group : list.groups()) {
    table.Add({group.name(), ReadyOf(group.workers_ready(), group.workers()),
               CountCell(static_cast<uint64_t>(group.services_size())), CountCell(group.requests()),
               BytesCell(group.pss_bytes()), BytesCell(group.private_bytes()), group.user(),
               group.declared() ? "deployment" : "placement"});
  }
  return table.Render(look.colour);
}

std::string GroupSheet(const admin::v1::Group& group, const Look& look) {
  Sheet sheet;
  sheet.Add("Name", group.name());
  sheet.Add("Made by", group.declared() ? "deployment" : "placement");
  sheet.Add("Workers", absl::StrCat(group.workers_ready(), " of ", group.workers(), " ready, as ",
                                    group.user()));
  sheet.Add("Memory", absl::StrCat(FormatMegabytes(Bytes{group.pss_bytes()}), " PSS, ",
                                   FormatMegabytes(Bytes{group.private_bytes()}), " private"));
  sheet.Add("Requests", FormatCount(group.requests()));
  sheet.Add("Services", absl::StrJoin(group.services(), " "));
  return sheet.Render(look.colour);
}

std::string WorkersView(const admin::v1::ListWorkersResponse& list, const Look& look) {
  Table table({{"WORKER"},
               {"GEN", Align::kRight},
               {"PID", Align::kRight},
               {"STATE"},
               {"AGE", Align::kRight},
               {"SERVICES", Align::kRight},
               {"PSS", Align::kRight},
               {"PRIVATE", Align::kRight},
               {"CPU", Align::kRight},
               {"THREADS", Align::kRight},
               {"REQUESTS", Align::kRight},
               {"RESTARTS", Align::kRight},
               {"LAST END"}});
  for (const admin::v1::Worker& worker : list.workers()) {
    const std::string reason = ReasonWord(worker.last_reason());
    const std::string end = worker.last_exit().empty() || reason.empty()
                                ? reason + worker.last_exit()
                                : absl::StrCat(reason, ": ", worker.last_exit());
    table.Add({SlotName(worker.group(), worker.slot()), CountCell(worker.generation()),
               worker.pid() == 0 ? "-" : absl::StrCat(worker.pid()), StateCell(worker.state()),
               FormatAge(worker.started(), look.now),
               CountCell(static_cast<uint64_t>(worker.services_size())),
               BytesCell(worker.pss_bytes()), BytesCell(worker.private_bytes()),
               FormatSpan(ToDuration(worker.cpu())), CountCell(worker.threads()),
               CountCell(worker.requests()), TroubleCell(worker.restarts()), end});
  }
  return table.Render(look.colour);
}

std::string PlanView(const admin::v1::PlanResponse& plan, const Look& look) {
  Table groups({{"GROUP"},
                {"WORKERS", Align::kRight},
                {"SERVICES", Align::kRight},
                {"MEMORY", Align::kRight},
                {"PEAK CPU", Align::kRight},
                {"WHY"}});
  Table services({{"SERVICE"}, {"GROUP"}, {"WHY"}});
  for (const admin::v1::PlannedGroup& group : plan.groups()) {
    groups.Add({group.name(), CountCell(group.workers()),
                CountCell(static_cast<uint64_t>(group.services_size())),
                BytesCell(group.memory_bytes()), absl::StrFormat("%.2f", group.peak_cpu()),
                group.reason()});
    for (const admin::v1::PlannedService& service : group.services()) {
      const auto& moved = plan.moved();
      const bool moves = std::find(moved.begin(), moved.end(), service.name()) != moved.end();
      services.Add({Cell(service.name(), moves ? Tone::kWarning : Tone::kPlain), group.name(),
                    moves ? absl::StrCat("moves here; ", service.reason()) : service.reason()});
    }
  }
  return absl::StrCat(groups.Render(look.colour), "\n", services.Render(look.colour));
}

std::string ReloadView(const admin::v1::ReloadResponse& reload) {
  std::string text = absl::StrCat("revision ", reload.revision(), "\n");
  const auto append = [&](std::string_view what, const auto& names) {
    if (names.empty()) return;
    const std::string line =
        absl::StrFormat("%-8s %s", std::string(what), absl::StrJoin(names, " "));
    absl::StrAppend(&text, Paint(line, Tone::kPlain, false), "\n");
  };
  append("added", reload.added());
  append("removed", reload.removed());
  append("changed", reload.changed());
  append("moved", reload.moved());
  if (reload.added().empty() && reload.removed().empty() && reload.changed().empty() &&
      reload.moved().empty()) {
    text += "nothing changed\n";
  }
  return text;
}

std::string RecycleView(const admin::v1::RecycleResponse& recycle) {
  std::string text;
  const auto append = [&text](std::string_view line) {
    absl::StrAppend(&text, Paint(line, Tone::kPlain, false), "\n");
  };
  for (const std::string& slot : recycle.recycled()) append(slot + " recycled");
  for (const std::string& slot : recycle.failed()) append(slot);
  return text;
}

std::string EventLine(const admin::v1::Event& event, const Look& look) {
  std::string subject = event.service();
  if (subject.empty() && !event.group().empty()) {
    subject = event.has_slot() ? SlotName(event.group(), event.slot()) : event.group();
  }
  std::vector<std::string> parts;
  if (!event.from().empty() || !event.to().empty()) {
    parts.push_back(absl::StrCat(event.from(), " -> ", event.to()));
  }
  if (!event.message().empty()) parts.push_back(event.message());
  if (event.has_uid()) parts.push_back(absl::StrCat("by uid ", event.uid()));
  if (event.cause_id() != 0) parts.push_back(absl::StrCat("because of #", event.cause_id()));
  const std::string head = absl::StrFormat("%s  #%-6u", FormatTime(event.time()), event.id());
  const std::string body =
      absl::StrFormat("%-18s  %-16s  %s", event.kind(), subject, absl::StrJoin(parts, ", "));
  return absl::StrCat(
      Paint(head, Tone::kFaint, look.colour), "  ",
      Paint(std::string(absl::StripTrailingAsciiWhitespace(body)), Tone::kPlain, look.colour),
      "\n");
}

std::string LogText(const admin::v1::LogLine& line, bool with_worker, const Look& look) {
  const std::string worker =
      with_worker ? Paint(SlotName(line.group(), line.slot()), Tone::kFaint, look.colour) + "  "
                  : "";
  // Painting makes it safe for a terminal.
  return absl::StrCat(worker, Paint(line.line(), Tone::kPlain, look.colour), "\n");
}

std::string ProblemLine(const admin::v1::ConfigProblem& problem) {
  std::string text = problem.file();
  if (problem.line() > 0) absl::StrAppend(&text, ":", problem.line(), ":", problem.column());
  if (!problem.key_path().empty()) absl::StrAppend(&text, ": ", problem.key_path());
  return Paint(absl::StrCat(text, ": ", problem.message()), Tone::kPlain, false) + "\n";
}

}  // namespace cohost::supervisor
