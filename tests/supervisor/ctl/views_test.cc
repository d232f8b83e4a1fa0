// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/views.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "google/protobuf/message.h"
#include "gtest/gtest.h"
#include "supervisor/ctl/memory_views.h"

namespace cohost::supervisor {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Clears the screen, forges a line, and does the same with U+009B and DEL.
const std::string kHostile =
    "x\x1b[2J\ncatalog  ready\r\t\x7f\xc2\x9b"
    "2J";

// Fills every text of a message, and one element of every list of texts or messages, with `text`,
// and every number with 1.
void Fill(google::protobuf::Message& message, const std::string& text) {
  using google::protobuf::FieldDescriptor;
  const auto* reflection = message.GetReflection();
  const auto* descriptor = message.GetDescriptor();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const FieldDescriptor* field = descriptor->field(i);
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_STRING:
        if (field->is_repeated()) {
          reflection->AddString(&message, field, text);
        } else {
          reflection->SetString(&message, field, text);
        }
        break;
      case FieldDescriptor::CPPTYPE_MESSAGE:
        Fill(field->is_repeated() ? *reflection->AddMessage(&message, field)
                                  : *reflection->MutableMessage(&message, field),
             text);
        break;
      case FieldDescriptor::CPPTYPE_INT32:
        reflection->SetInt32(&message, field, 1);
        break;
      case FieldDescriptor::CPPTYPE_INT64:
        reflection->SetInt64(&message, field, 1);
        break;
      case FieldDescriptor::CPPTYPE_UINT32:
        reflection->SetUInt32(&message, field, 1);
        break;
      case FieldDescriptor::CPPTYPE_UINT64:
        reflection->SetUInt64(&message, field, 1);
        break;
      case FieldDescriptor::CPPTYPE_DOUBLE:
        reflection->SetDouble(&message, field, 1);
        break;
      case FieldDescriptor::CPPTYPE_ENUM:
        reflection->SetEnumValue(&message, field, 1);
        break;
      case FieldDescriptor::CPPTYPE_FLOAT:
      case FieldDescriptor::CPPTYPE_BOOL:
        break;
    }
  }
}

template <typename Message>
Message Filled(const std::string& text) {
  Message message;
  Fill(message, text);
  return message;
}

// Every view of a message whose texts are all `text`.
std::vector<std::string> AllViews(const std::string& text, const Look& look) {
  return {
      StatusView(Filled<admin::v1::Status>(text), look),
      ServicesView(Filled<admin::v1::ListServicesResponse>(text), look),
      ServiceSheet(Filled<admin::v1::Service>(text), look),
      GroupsView(Filled<admin::v1::ListGroupsResponse>(text), look),
      GroupSheet(Filled<admin::v1::Group>(text), look),
      WorkersView(Filled<admin::v1::ListWorkersResponse>(text), look),
      ModulesView(Filled<admin::v1::ListModulesResponse>(text), look),
      MemoryView(Filled<admin::v1::Memory>(text), look),
      ModuleMemoryView(Filled<admin::v1::Memory>(text), look),
      UnsharedMemoryView(Filled<admin::v1::UnsharedMemory>(text), look),
      PlanView(Filled<admin::v1::PlanResponse>(text), look),
      ReloadView(Filled<admin::v1::ReloadResponse>(text)),
      RecycleView(Filled<admin::v1::RecycleResponse>(text)),
      EventLine(Filled<admin::v1::Event>(text), look),
      LogText(Filled<admin::v1::LogLine>(text), /*with_worker=*/true, look),
      ProblemLine(Filled<admin::v1::ConfigProblem>(text)),
  };
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end == std::string::npos ? text.size() : end + 1;
  }
  return lines;
}

// Takes out what Paint writes itself.
std::string WithoutPaint(std::string text) {
  for (const std::string_view sequence :
       {"\x1b[0m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m"}) {
    for (size_t at; (at = text.find(sequence)) != std::string::npos;) {
      text.erase(at, sequence.size());
    }
  }
  return text;
}

TEST(Views, NoTextSteersTheTerminalOrMakesALineOfItsOwn) {
  const std::vector<std::string> tame = AllViews("x", {});
  for (const bool colour : {false, true}) {
    const std::vector<std::string> views = AllViews(kHostile, {.colour = colour});
    ASSERT_EQ(views.size(), tame.size());
    for (size_t i = 0; i < views.size(); ++i) {
      const std::string text = WithoutPaint(views[i]);
      EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char c) {
        return c == '\n' || (static_cast<unsigned char>(c) >= ' ' && c != '\x7f');
      })) << i;
      EXPECT_EQ(text.find("\xc2\x9b"), std::string::npos) << i;
      EXPECT_EQ(Lines(text).size(), Lines(tame[i]).size()) << i;
    }
  }
}

TEST(Views, NoLineEndsWithABlankAndEachViewEndsItsLastLine) {
  for (const std::string text : {"x", "\xc3\xa9\xc3\xa9"}) {
    for (const std::string& view : AllViews(text, {})) {
      ASSERT_FALSE(view.empty());
      EXPECT_EQ(view.back(), '\n');
      for (const std::string& line : Lines(view)) {
        EXPECT_TRUE(line.empty() || line.back() != ' ') << '[' << line << ']';
      }
    }
  }
}

TEST(Views, WhatIsWiderThanATerminalIsShownWholeAndAligned) {
  admin::v1::ListServicesResponse list;
  const std::string wide(300, 'w');
  for (const std::string& name : {std::string("a"), wide}) {
    admin::v1::Service& service = *list.add_services();
    service.set_name(name);
    service.set_group("GROUP-OF-IT");
    for (int i = 0; i < 50; ++i) service.add_addresses("http://127.0.0.1:" + std::to_string(i));
  }
  const std::vector<std::string> lines = Lines(ServicesView(list, {}));
  ASSERT_EQ(lines.size(), 3U);
  for (size_t i = 1; i < lines.size(); ++i) EXPECT_EQ(lines[i].find("GROUP-OF-IT"), 302U);
  EXPECT_EQ(lines[0].find("GROUP"), 302U);
  EXPECT_THAT(lines[2], HasSubstr(wide));
  EXPECT_THAT(lines[2], HasSubstr("http://127.0.0.1:49"));
}

TEST(Views, ValuesOfANewerHostAreLeftOutAndNotGuessed) {
  admin::v1::ListServicesResponse services;
  admin::v1::Service& service = *services.add_services();
  service.set_name("catalog");
  service.set_state(static_cast<cohost::v1::ServiceState>(999));
  service.set_load_class(static_cast<cohost::v1::LoadClass>(999));
  service.set_runtime(static_cast<cohost::v1::Runtime>(999));
  EXPECT_THAT(ServicesView(services, {}), HasSubstr("catalog"));
  EXPECT_THAT(ServiceSheet(service, {}), Not(HasSubstr("Class")));
  admin::v1::ListWorkersResponse workers;
  workers.add_workers()->set_state(static_cast<cohost::v1::WorkerState>(-1));
  EXPECT_EQ(Lines(WorkersView(workers, {})).size(), 2U);
}

TEST(Views, AnEmptyListIsItsTitles) {
  EXPECT_EQ(Lines(ServicesView({}, {})).size(), 1U);
  EXPECT_EQ(Lines(WorkersView({}, {})).size(), 1U);
  EXPECT_EQ(Lines(GroupsView({}, {})).size(), 1U);
  EXPECT_EQ(Lines(ModulesView({}, {})).size(), 1U);
  EXPECT_THAT(MemoryView({}, {}), Not(HasSubstr("each service"))) << "no division by none";
  EXPECT_THAT(StatusView({}, {}), Not(HasSubstr("a service")));
}

TEST(Views, ReasonsStandBelowTheTableBehindAnEmptyLine) {
  admin::v1::ListServicesResponse list;
  list.add_services()->set_name("well");
  list.add_services()->set_name("unwell");
  EXPECT_EQ(ServicesView(list, {}).find("\n\n"), std::string::npos);
  list.mutable_services(1)->set_reason("died while loading");
  const std::string view = ServicesView(list, {});
  EXPECT_EQ(view.substr(view.find("\n\n")), "\n\nunwell: died while loading\n");
}

TEST(Views, AWorkersEndIsItsReasonAndHow) {
  const auto last_column = [](cohost::v1::RecycleReason reason, const std::string& exit) {
    admin::v1::ListWorkersResponse list;
    list.add_workers()->set_last_reason(reason);
    list.mutable_workers(0)->set_last_exit(exit);
    const std::vector<std::string> lines = Lines(WorkersView(list, {}));
    return lines.at(1).size() > lines.at(0).find("LAST END")
               ? lines[1].substr(lines[0].find("LAST END"))
               : std::string();
  };
  EXPECT_EQ(last_column(cohost::v1::RECYCLE_REASON_UNSPECIFIED, ""), "");
  EXPECT_EQ(last_column(cohost::v1::RECYCLE_REASON_PRIVATE_MEMORY, ""), "private memory");
  EXPECT_EQ(last_column(cohost::v1::RECYCLE_REASON_UNSPECIFIED, "exit code 3"), "exit code 3");
  EXPECT_EQ(last_column(cohost::v1::RECYCLE_REASON_CRASH, "signal 11"), "crash: signal 11");
}

TEST(Views, AReloadThatChangesNothingSaysSo) {
  admin::v1::ReloadResponse reload;
  reload.set_revision(4);
  EXPECT_EQ(ReloadView(reload), "revision 4\nnothing changed\n");
  reload.add_removed("catalog");
  reload.add_removed("orders");
  EXPECT_EQ(ReloadView(reload), "revision 4\nremoved  catalog orders\n");
}

TEST(Views, AProblemNamesOnlyThePlaceThatIsKnown) {
  admin::v1::ConfigProblem problem;
  problem.set_file("cohost.yaml");
  problem.set_message("cannot be read");
  EXPECT_EQ(ProblemLine(problem), "cohost.yaml: cannot be read\n");
  problem.set_line(3);
  problem.set_column(5);
  problem.set_key_path("services[0].name");
  EXPECT_EQ(ProblemLine(problem), "cohost.yaml:3:5: services[0].name: cannot be read\n");
}

}  // namespace
}  // namespace cohost::supervisor
