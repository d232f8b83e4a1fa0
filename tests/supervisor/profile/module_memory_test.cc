// SPDX-License-Identifier: Apache-2.0
#include "supervisor/profile/module_memory.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace cohost::supervisor {
namespace {

constexpr FileIdentity kFirst{8, 1, 100};
constexpr FileIdentity kSecond{8, 1, 200};
constexpr FileIdentity kCopy{8, 1, 101};
constexpr FileIdentity kLibc{8, 1, 300};

FileMemory Memory(uint64_t shared, uint64_t private_clean, uint64_t relocated, uint64_t pss,
                  uint64_t following = 0) {
  FileMemory memory;
  memory.resident = {shared + private_clean + relocated};
  memory.shared = {shared};
  memory.private_clean = {private_clean};
  memory.relocated = {relocated};
  memory.pss = {pss};
  memory.following = {following};
  return memory;
}

MeasuredProcess Process(const std::string& name, std::vector<std::string> services,
                        std::map<FileIdentity, FileMemory> files) {
  MeasuredProcess process;
  process.name = name;
  process.services = std::move(services);
  process.maps.files = std::move(files);
  return process;
}

// Sums over services and what nobody uses, for each module.
void ExpectExactSums(const MemoryReport& report) {
  ModuleBytes modules;
  ModuleBytes services;
  for (const ModuleMemory& module : report.modules) {
    modules += module.bytes;
    services += module.unused;
  }
  for (const ServiceMemory& service : report.services) services += service.bytes;
  EXPECT_EQ(modules, services);
}

const ServiceMemory& Of(const MemoryReport& report, const std::string& name) {
  for (const ServiceMemory& service : report.services) {
    if (service.service == name) return service;
  }
  ADD_FAILURE() << name << " is not there";
  static const ServiceMemory none;
  return none;
}

TEST(ModuleMemory, APartInOneWorkerIsDividedEvenlyAndTheFirstByNameGetTheRest) {
  MemoryInput input;
  input.files[kFirst] = {"aa", {0}};
  input.uses = {{"a", {"aa"}}, {"b", {"aa"}}, {"c", {"aa"}}, {"d", {"other"}}};
  input.processes = {Process("w", {"d", "c", "b", "a"}, {{kFirst, Memory(100, 20, 8, 59)}})};
  const MemoryReport report = AttributeMemory(input);
  ASSERT_EQ(report.modules.size(), 1u);
  EXPECT_EQ(report.modules[0].hash, "aa");
  EXPECT_EQ(report.modules[0].processes, 1u);
  EXPECT_EQ(report.modules[0].services, 3u);
  EXPECT_EQ(report.modules[0].bytes, (ModuleBytes{59, 100, 20, 8, 0}));
  ASSERT_EQ(report.services.size(), 3u) << "d uses none of it";
  EXPECT_EQ(Of(report, "a").bytes, (ModuleBytes{20, 34, 7, 3, 0}));
  EXPECT_EQ(Of(report, "b").bytes, (ModuleBytes{20, 33, 7, 3, 0}));
  EXPECT_EQ(Of(report, "c").bytes, (ModuleBytes{19, 33, 6, 2, 0}));
  ExpectExactSums(report);
}

TEST(ModuleMemory, CopiesOfOneContentAreOneModuleAndOtherFilesAreNone) {
  MemoryInput input;
  input.files = {{kFirst, {"aa", {0}}}, {kCopy, {"aa", {0}}}, {kSecond, {"bb", {0}}}};
  input.uses = {{"a", {"aa"}}, {"b", {"aa", "bb"}}};
  input.processes = {
      Process("v", {"a"}, {{kFirst, Memory(10, 0, 1, 6)}, {kLibc, Memory(900, 0, 0, 90)}}),
      Process("w", {"b"},
              {{kCopy, Memory(0, 10, 1, 11)},
               {kFirst, Memory(10, 0, 0, 5)},
               {kSecond, Memory(0, 40, 0, 40)}}),
  };
  const MemoryReport report = AttributeMemory(input);
  ASSERT_EQ(report.modules.size(), 2u);
  EXPECT_EQ(report.modules[0].processes, 2u) << "each process once";
  EXPECT_EQ(report.modules[0].bytes, (ModuleBytes{22, 20, 10, 2, 0}));
  EXPECT_EQ(report.modules[1].hash, "bb");
  EXPECT_EQ(report.modules[1].bytes, (ModuleBytes{40, 0, 40, 0, 0}));
  EXPECT_EQ(Of(report, "a").modules, 1u);
  EXPECT_EQ(Of(report, "b").modules, 2u);
  EXPECT_EQ(Of(report, "b").processes, 1u);
  EXPECT_EQ(Of(report, "b").bytes, (ModuleBytes{56, 10, 50, 1, 0}));
  ExpectExactSums(report);
}

TEST(ModuleMemory, NoMoreBssThanTheFileAsksFor) {
  MemoryInput input;
  input.files = {{kFirst, {"aa", {50}}}, {kSecond, {"bb", {50}}}};
  input.uses = {{"a", {"aa", "bb"}}};
  input.processes = {Process(
      "w", {"a"}, {{kFirst, Memory(0, 10, 0, 10, 4000)}, {kSecond, Memory(0, 10, 0, 10, 20)}})};
  const MemoryReport report = AttributeMemory(input);
  EXPECT_EQ(report.modules[0].bytes.anonymous, 50u) << "the rest is a neighbour's";
  EXPECT_EQ(report.modules[0].bytes.pss, 60u);
  EXPECT_EQ(report.modules[1].bytes.anonymous, 20u) << "not all of it was touched";
  ExpectExactSums(report);
}

TEST(ModuleMemory, AWorkerOfTheRevisionBeforeIsNoServicesMemory) {
  MemoryInput input;
  input.files = {{kFirst, {"old", {0}}}, {kSecond, {"new", {0}}}};
  input.uses = {{"a", {"new"}}};
  input.processes = {Process("w/1", {"a"}, {{kFirst, Memory(0, 70, 3, 73)}}),
                     Process("w/2", {"a"}, {{kSecond, Memory(0, 80, 4, 84)}})};
  const MemoryReport report = AttributeMemory(input);
  ASSERT_EQ(report.modules.size(), 2u);
  EXPECT_EQ(report.modules[1].hash, "old");
  EXPECT_EQ(report.modules[1].services, 0u);
  EXPECT_EQ(report.modules[1].unused, report.modules[1].bytes);
  EXPECT_EQ(report.modules[0].unused, ModuleBytes());
  EXPECT_EQ(Of(report, "a").bytes.pss, 84u);
  EXPECT_EQ(Of(report, "a").processes, 1u);
  EXPECT_EQ(report.saved, 0u);
  ExpectExactSums(report);
}

// Four services in one worker: four copies would be four times the file's pages; the pages that
// were written are left out.
TEST(ModuleMemory, InterningSavesACopyForEachFurtherServiceOfAWorker) {
  MemoryInput input;
  input.files[kFirst] = {"aa", {64}};
  for (const char* name : {"a", "b", "c", "d"}) input.uses[name] = {"aa"};
  input.processes = {
      Process("w", {"a", "b", "c", "d"}, {{kFirst, Memory(0, 1000, 500, 1500, 64)}})};
  const MemoryReport report = AttributeMemory(input);
  EXPECT_EQ(report.modules[0].saved, 3000u);
  EXPECT_EQ(report.saved, 3000u);
}

// Two services, each in both workers: a copy would be shared by both workers just as well.
TEST(ModuleMemory, InterningSavesNothingTwiceForAServiceInSeveralWorkers) {
  MemoryInput input;
  input.files[kFirst] = {"aa", {0}};
  input.uses = {{"a", {"aa"}}, {"b", {"aa"}}};
  input.processes = {Process("v", {"a", "b"}, {{kFirst, Memory(1000, 0, 0, 500)}}),
                     Process("w", {"a", "b"}, {{kFirst, Memory(1000, 0, 0, 500)}})};
  EXPECT_EQ(AttributeMemory(input).saved, 1000u);
  // One service in both: nothing is interned.
  input.uses.erase("b");
  EXPECT_EQ(AttributeMemory(input).saved, 0u);
}

// Two services in a worker each, of which one has looked at less of the file.
TEST(ModuleMemory, InterningSavesWhatAServicesOwnWorkerHasResident) {
  MemoryInput input;
  input.files[kFirst] = {"aa", {0}};
  input.uses = {{"a", {"aa"}}, {"b", {"aa"}}};
  input.processes = {Process("v", {"a"}, {{kFirst, Memory(400, 600, 0, 800)}}),
                     Process("w", {"b"}, {{kFirst, Memory(400, 0, 0, 200)}})};
  EXPECT_EQ(AttributeMemory(input).saved, 400u);
}

TEST(ModuleMemory, AStrangerThatMapsTheFileTooMakesNoSaving) {
  MemoryInput input;
  input.files[kFirst] = {"aa", {0}};
  input.uses = {{"a", {"aa"}}};
  // Of each page two thirds are counted elsewhere.
  input.processes = {Process("w", {"a"}, {{kFirst, Memory(900, 0, 0, 300)}})};
  EXPECT_EQ(AttributeMemory(input).saved, 0u);
}

TEST(ModuleMemory, NothingMeasuredIsAnEmptyReport) {
  const MemoryReport report = AttributeMemory({});
  EXPECT_TRUE(report.modules.empty());
  EXPECT_TRUE(report.services.empty());
  EXPECT_EQ(report.saved, 0u);
}

TEST(ModuleMemory, SumsAreExactForAnyNumbers) {
  uint64_t state = 88172645463325252;
  const auto next = [&state](uint64_t below) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
  };
  MemoryInput input;
  for (uint64_t file = 0; file < 20; ++file) {
    input.files[{8, 1, file + 1}] = {"hash" + std::to_string(file % 15), {next(5000)}};
  }
  for (int service = 0; service < 40; ++service) {
    auto& uses = input.uses["s" + std::to_string(service)];
    for (int i = 0; i < 3; ++i) uses.push_back("hash" + std::to_string(next(15)));
  }
  for (int process = 0; process < 12; ++process) {
    MeasuredProcess measured;
    for (int i = 0; i < 7; ++i) measured.services.push_back("s" + std::to_string(next(40)));
    for (uint64_t file = 0; file < 20; ++file) {
      if (next(2) == 0) continue;
      const uint64_t shared = next(1'000'000);
      const uint64_t relocated = next(1000);
      measured.maps.files[{8, 1, file + 1}] =
          Memory(shared, next(1000), relocated, relocated + shared / 3, next(9000));
    }
    input.processes.push_back(std::move(measured));
  }
  const MemoryReport report = AttributeMemory(input);
  EXPECT_EQ(report.modules.size(), 15u);
  ExpectExactSums(report);
}

}  // namespace
}  // namespace cohost::supervisor
