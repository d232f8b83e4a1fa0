// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ready_line.h"

#include <gmock/gmock.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <string>

#include "supervisor/keeper/protocol.h"

namespace cohost::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

ServiceView Service(const std::string& name, ServiceStatus status) {
  ServiceView service;
  service.name = name;
  service.status = status;
  service.addresses = {"http://127.0.0.1:8101", "http+unix:/run/" + name + ".sock"};
  return service;
}

WorkerView Worker(WorkerStatus status) {
  WorkerView worker;
  worker.status = status;
  return worker;
}

google::protobuf::Struct Parse(const std::string& line) {
  google::protobuf::Struct fields;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(line, &fields).ok()) << line;
  return fields;
}

std::vector<std::string> Names(const google::protobuf::Struct& fields) {
  std::vector<std::string> names;
  for (const auto& [name, value] : fields.fields()) names.push_back(name);
  return names;
}

TEST(ReadyLine, CountsWhatIsReadyAndWhatHasFailed) {
  HostSnapshot snapshot;
  snapshot.services = {Service("a", ServiceStatus::kReady), Service("b", ServiceStatus::kReady),
                       Service("c", ServiceStatus::kFailed), Service("d", ServiceStatus::kStopped)};
  snapshot.workers = {Worker(WorkerStatus::kReady), Worker(WorkerStatus::kDraining),
                      Worker(WorkerStatus::kBackoff)};
  snapshot.ready_after = absl::Microseconds(63'100);
  snapshot.keeper_pid = 11;
  snapshot.supervisor_pid = 4'194'304;
  snapshot.metrics_address = "http://127.0.0.1:9464/metrics";
  const auto line = Parse(ReadyLine(snapshot, "/run/cohost/admin.sock"));
  const auto number = [&](const char* name) { return line.fields().at(name).number_value(); };
  EXPECT_EQ(number("services"), 4);
  EXPECT_EQ(number("ready"), 2);
  EXPECT_EQ(number("failed"), 1);
  EXPECT_EQ(number("workers"), 1);
  EXPECT_EQ(number("ready_after_ms"), 63.1);
  EXPECT_EQ(number("keeper_pid"), 11);
  EXPECT_EQ(number("supervisor_pid"), 4'194'304);
  EXPECT_EQ(line.fields().at("admin").string_value(), "/run/cohost/admin.sock");
  EXPECT_EQ(line.fields().at("metrics").string_value(), "http://127.0.0.1:9464/metrics");
}

TEST(ReadyLine, GivesEveryServiceItsAddressesInTheirOrder) {
  HostSnapshot snapshot;
  snapshot.services = {Service("a", ServiceStatus::kReady), Service("b", ServiceStatus::kFailed)};
  snapshot.services[1].addresses.clear();
  const auto line = Parse(ReadyLine(snapshot, "/a"));
  const auto& addresses = line.fields().at("addresses").struct_value();
  EXPECT_THAT(Names(addresses), UnorderedElementsAre("a", "b"));
  std::vector<std::string> of_a;
  for (const auto& value : addresses.fields().at("a").list_value().values()) {
    of_a.push_back(value.string_value());
  }
  EXPECT_THAT(of_a, ElementsAre("http://127.0.0.1:8101", "http+unix:/run/a.sock"));
  EXPECT_EQ(addresses.fields().at("b").list_value().values_size(), 0);
}

TEST(ReadyLine, LeavesOutWhatThereIsNot) {
  const auto line = Parse(ReadyLine(HostSnapshot{}, "/a"));
  EXPECT_FALSE(line.fields().contains("metrics"));
  EXPECT_FALSE(line.fields().contains("ready_after_ms"));
  EXPECT_TRUE(line.fields().contains("addresses"));
}

TEST(ReadyLine, IsOneLineWhateverStandsInIt) {
  HostSnapshot snapshot;
  snapshot.services = {Service("a", ServiceStatus::kReady)};
  snapshot.services[0].addresses = {"http+unix:/run/\"quoted\"\\\n\t.sock"};
  const std::string line = ReadyLine(snapshot, "/run/ad min\n.sock");
  EXPECT_THAT(line, Not(HasSubstr("\n")));
  const auto parsed = Parse(line);
  EXPECT_EQ(parsed.fields().at("admin").string_value(), "/run/ad min\n.sock");
  EXPECT_EQ(parsed.fields()
                .at("addresses")
                .struct_value()
                .fields()
                .at("a")
                .list_value()
                .values(0)
                .string_value(),
            snapshot.services[0].addresses[0]);
}

TEST(ReadyLine, LeavesOutAddressesThatTheKeeperWouldNotTake) {
  HostSnapshot snapshot;
  for (int i = 0; i < 5'000; ++i) {
    snapshot.services.push_back(Service("s" + std::to_string(i), ServiceStatus::kReady));
  }
  const std::string cut = ReadyLine(snapshot, "/a");
  EXPECT_LE(cut.size(), kMaxReadyLine);
  const auto parsed = Parse(cut);
  EXPECT_FALSE(parsed.fields().contains("addresses"));
  EXPECT_EQ(parsed.fields().at("services").number_value(), 5'000);
  EXPECT_EQ(parsed.fields().at("ready").number_value(), 5'000);

  // Exactly as much as it takes, and one byte more.
  snapshot.services.resize(1);
  snapshot.services[0].addresses = {""};
  const size_t rest = kMaxReadyLine - ReadyLine(snapshot, "/a").size();
  snapshot.services[0].addresses = {std::string(rest, 'x')};
  EXPECT_EQ(ReadyLine(snapshot, "/a").size(), kMaxReadyLine);
  EXPECT_TRUE(Parse(ReadyLine(snapshot, "/a")).fields().contains("addresses"));
  snapshot.services[0].addresses = {std::string(rest + 1, 'x')};
  EXPECT_FALSE(Parse(ReadyLine(snapshot, "/a")).fields().contains("addresses"));
}

}  // namespace
}  // namespace cohost::supervisor
