// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/memory_views.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cohost::supervisor {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

admin::v1::ModuleMemory MakeModule(const std::string& path, uint64_t pss) {
  admin::v1::ModuleMemory module;
  module.set_hash(std::string(64, 'b'));
  module.set_source_path(path);
  module.mutable_bytes()->set_pss_bytes(pss);
  return module;
}

TEST(MemoryViews, TheLargestModuleComesFirst) {
  admin::v1::Memory memory;
  *memory.add_module_memory() = MakeModule("/a/small.so", 1'000'000);
  *memory.add_module_memory() = MakeModule("/a/large.so", 9'000'000);
  const std::string view = ModuleMemoryView(memory, {});
  EXPECT_LT(view.find("large.so"), view.find("small.so"));
  EXPECT_THAT(view, HasSubstr("10.0 MB")) << "their sum";
}

TEST(MemoryViews, WrittenIsRelocatedAndZeroedDataTogether) {
  admin::v1::Memory memory;
  admin::v1::ModuleMemory& module = *memory.add_module_memory();
  module = MakeModule("/a/one.so", 5'000'000);
  module.mutable_bytes()->set_relocated_bytes(1'000'000);
  module.mutable_bytes()->set_anonymous_bytes(2'000'000);
  EXPECT_THAT(ModuleMemoryView(memory, {}), HasSubstr("3.00 MB"));
}

TEST(MemoryViews, AModuleWithoutASourceIsItsHash) {
  admin::v1::Memory memory;
  *memory.add_module_memory() = MakeModule("", 1);
  EXPECT_THAT(ModuleMemoryView(memory, {}), HasSubstr("\nbbbbbbbbbbbb "));
}

TEST(MemoryViews, ProcessesThatCouldNotBeReadAreTold) {
  admin::v1::Memory memory;
  EXPECT_THAT(ModuleMemoryView(memory, {}), Not(HasSubstr("Not measured")));
  memory.set_unmeasured_processes(1);
  EXPECT_THAT(ModuleMemoryView(memory, {}), HasSubstr("Not measured: 1 process,"));
  memory.set_unmeasured_processes(2);
  EXPECT_THAT(ModuleMemoryView(memory, {}), HasSubstr("Not measured: 2 processes,"));
}

TEST(MemoryViews, UnsharedIsForAllServicesAndForEach) {
  admin::v1::UnsharedMemory memory;
  memory.set_services(10);
  memory.set_workers(2);
  memory.set_present_bytes(20'000'000);
  memory.set_own_bytes(30'000'000);
  memory.set_files_once_bytes(5'000'000);
  memory.set_files_copied_bytes(50'000'000);
  const std::string view = UnsharedMemoryView(memory, {});
  EXPECT_THAT(view, HasSubstr("20.0 MB  2.00 MB\n"));
  EXPECT_THAT(view, HasSubstr("35.0 MB  3.50 MB\n"));
  EXPECT_THAT(view, HasSubstr("80.0 MB  8.00 MB\n"));
  EXPECT_THAT(UnsharedMemoryView({}, {}), HasSubstr("0 SERVICES")) << "no division by none";
}

TEST(MemoryViews, NotMeasuredIsNotNothing) {
  admin::v1::ListModulesResponse list;
  list.add_modules()->set_source_path("/a/one.so");
  EXPECT_THAT(ModulesView(list, {}), Not(HasSubstr("0.00 MB")));
  list.mutable_modules(0)->set_saved_bytes(0);
  EXPECT_THAT(ModulesView(list, {}), HasSubstr("0.00 MB"));
}

TEST(MemoryViews, OfManyUsersTheFirstAreNamed) {
  admin::v1::ListModulesResponse list;
  admin::v1::Module& module = *list.add_modules();
  for (int i = 10; i < 90; ++i) module.add_services("service-" + std::to_string(i));
  EXPECT_THAT(ModulesView(list, {}), HasSubstr("service-10 service-11 service-12 +77\n"));
  // One that is wider than the column is named all the same.
  module.clear_services();
  module.add_services(std::string(60, 'w'));
  EXPECT_THAT(ModulesView(list, {}), HasSubstr(std::string(60, 'w') + "\n"));
}

}  // namespace
}  // namespace cohost::supervisor
