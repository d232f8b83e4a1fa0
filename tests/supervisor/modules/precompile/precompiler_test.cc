// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/precompile/precompiler.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fakes/process_runner.h"
#include "tests/supervisor/modules/tree/tree_world.h"
#include "tests/supervisor/modules/verify/assembly_bytes.h"

namespace cohost::supervisor {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string Il(const std::string& name) {
  AssemblyBytes bytes;
  bytes.name.name = name;
  return bytes.Build();
}
std::string ReadyToRun(const std::string& name) {
  AssemblyBytes bytes = AssemblyBytes::ReadyToRun();
  bytes.name.name = name;
  return bytes.Build();
}

class PrecompilerTest : public ::testing::Test {
 protected:
  // The compiler: what stands at --out is the image of the input's name. What is set for a name is
  // done instead.
  absl::StatusOr<RunResult> Compile(const RunRequest& request) {
    const fs::path input = request.arguments[0];
    const std::string out = request.arguments[1].substr(std::string("--out:").size());
    std::function<absl::StatusOr<RunResult>(const std::string&)> instead;
    {
      MutexLock lock(mutex_);
      compiled_.insert(input.filename());
      if (const auto it = instead_.find(input.filename()); it != instead_.end()) {
        instead = it->second;
      }
    }
    if (instead) return instead(out);
    std::ofstream(out) << ReadyToRun(input.stem());
    return RunResult{.exit_code = 0};
  }
  using Program = std::function<absl::StatusOr<RunResult>(const std::string& out)>;
  void Instead(const std::string& name, Program program) {
    MutexLock lock(mutex_);
    instead_[name] = std::move(program);
  }
  std::set<std::string> TakeCompiled() {
    MutexLock lock(mutex_);
    return std::exchange(compiled_, {});
  }

  TreeManifest Publish() {
    auto tree = world_.Publish();
    EXPECT_TRUE(tree.ok()) << tree.status();
    return tree->manifest;
  }
  absl::StatusOr<Precompiled> TryRun(const TreeManifest& manifest, PrecompilerOptions options = {},
                                     const std::string& compiler = "crossgen2 10.0.12") {
    options.folder = world_.state() + "/precompile";
    Precompiler precompiler(world_.store(), runner_, options);
    return precompiler.Precompile(manifest, {compiler, {"/opt/crossgen2"}},
                                  {"Microsoft.NETCore.App 10.0.12", {"/fw"}, ""});
  }
  Precompiled Run(const TreeManifest& manifest, PrecompilerOptions options = {}) {
    auto result = TryRun(manifest, std::move(options));
    EXPECT_TRUE(result.ok()) << result.status();
    return *std::move(result);
  }
  std::string Content(const TreeManifest& manifest, const std::string& path) {
    const TreeEntry* entry = manifest.Find(path);
    return ContentOf(world_.store().Find(entry->stored_hash, entry->kind)->path);
  }
  // What a run left in its folder, apart from the cache.
  std::vector<std::string> Left() {
    std::vector<std::string> left = PathsBelow(world_.state() + "/precompile");
    std::erase(left, "cache");
    return left;
  }

  TreeWorld world_;
  Mutex mutex_;
  std::map<std::string, Program> instead_;
  std::set<std::string> compiled_;
  FakeProcessRunner runner_{[this](const RunRequest& request) { return Compile(request); }};
};

TEST_F(PrecompilerTest, AssembliesOfIlBecomeImages) {
  world_.Write("Shop.dll", Il("Shop"));
  world_.Write("lib/Cart.dll", Il("Cart"));
  world_.Write("Ready.dll", ReadyToRun("Ready"));
  world_.Write("de/Shop.resources.dll", Il("Shop.resources"));
  world_.Write("refs/System.Runtime.dll", Il("System.Runtime"));
  world_.Write("appsettings.json", "{}");
  const TreeManifest before = Publish();
  const Precompiled after = Run(before);
  EXPECT_EQ(after.compiled, 2u);
  EXPECT_EQ(after.failed, 0u);
  EXPECT_THAT(after.notices, IsEmpty());
  EXPECT_THAT(TakeCompiled(), ElementsAre("Cart.dll", "Shop.dll"));
  EXPECT_EQ(Content(after.manifest, "Shop.dll"), ReadyToRun("Shop"));
  EXPECT_EQ(Content(after.manifest, "lib/Cart.dll"), ReadyToRun("Cart"));
  EXPECT_EQ(after.manifest.Find("Shop.dll")->source_hash, before.Find("Shop.dll")->source_hash);
  EXPECT_EQ(after.manifest.Find("Shop.dll")->size.count, ReadyToRun("Shop").size());
  for (const std::string path :
       {"Ready.dll", "de/Shop.resources.dll", "refs/System.Runtime.dll", "appsettings.json"}) {
    EXPECT_EQ(*after.manifest.Find(path), *before.Find(path)) << path;
  }
  EXPECT_NE(after.manifest.id(), before.id());
  // And can be laid out.
  const auto laid = world_.layout().LayOut("shop", after.manifest, {}, {});
  ASSERT_TRUE(laid.ok()) << laid.status();
  EXPECT_EQ(ContentOf(laid->path + "/Shop.dll"), ReadyToRun("Shop"));
  EXPECT_THAT(Left(), IsEmpty());
}

TEST_F(PrecompilerTest, WithoutACompilerWhatIsKnownIsTakenAndTheRestLeft) {
  world_.Write("Shop.dll", Il("Shop"));
  world_.Write("Ready.dll", ReadyToRun("Ready"));
  const Precompiled compiled = Run(Publish());
  EXPECT_EQ(compiled.published, 1u);
  world_.Write("Cart.dll", Il("Cart"));
  const TreeManifest manifest = Publish();
  TakeCompiled();
  Precompiler precompiler(world_.store(), runner_, {.folder = world_.state() + "/precompile"});
  const auto known = precompiler.Precompile(manifest, {"crossgen2 10.0.12", {"/opt/crossgen2"}},
                                            {"Microsoft.NETCore.App 10.0.12", {"/fw"}, ""},
                                            PrecompileMode::kKnownOnly);
  ASSERT_TRUE(known.ok()) << known.status();
  EXPECT_EQ(known->cached, 1u);
  EXPECT_EQ(known->left, 1u);
  EXPECT_EQ(known->failed, 0u);
  EXPECT_THAT(known->notices, IsEmpty());
  EXPECT_THAT(TakeCompiled(), IsEmpty());
  EXPECT_EQ(Content(known->manifest, "Shop.dll"), ReadyToRun("Shop"));
  EXPECT_EQ(Content(known->manifest, "Cart.dll"), Il("Cart"));
}

TEST_F(PrecompilerTest, WhatDoesNotBeginInTimeStaysIlForThisTime) {
  world_.Write("Shop.dll", Il("Shop"));
  const TreeManifest manifest = Publish();
  Precompiler precompiler(world_.store(), runner_, {.folder = world_.state() + "/precompile"});
  const auto late = precompiler.Precompile(manifest, {"crossgen2 10.0.12", {"/opt/crossgen2"}},
                                           {"Microsoft.NETCore.App 10.0.12", {"/fw"}, ""},
                                           PrecompileMode::kCompile, SteadyTime{1});
  ASSERT_TRUE(late.ok()) << late.status();
  EXPECT_EQ(late->failed, 1u);
  EXPECT_THAT(late->notices, ElementsAre(HasSubstr("no time left")));
  EXPECT_EQ(late->manifest.id(), manifest.id());
  EXPECT_THAT(TakeCompiled(), IsEmpty());
  EXPECT_EQ(Run(manifest).compiled, 1u);
}

TEST_F(PrecompilerTest, ImagesHaveARecordOfWhatTheyAreMadeOf) {
  world_.Write("Shop.dll", Il("Shop"));
  const TreeManifest before = Publish();
  const TreeManifest after = Run(before).manifest;
  const auto record =
      DerivedRecords(world_.store().folder()).Find(after.Find("Shop.dll")->stored_hash);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(*record, (DerivedRecord{.source_hash = before.Find("Shop.dll")->stored_hash,
                                    .stored_hash = after.Find("Shop.dll")->stored_hash,
                                    .compiler = "crossgen2 10.0.12",
                                    .framework = "Microsoft.NETCore.App 10.0.12",
                                    .flags = CompileFlags("")}));
}

TEST_F(PrecompilerTest, TheSameIsCompiledOnce) {
  world_.Write("Shop.dll", Il("Shop"));
  world_.Write("copy/Shop.dll", Il("Shop"));
  const TreeManifest first = Run(Publish()).manifest;
  EXPECT_THAT(runner_.requests(), SizeIs(1));
  EXPECT_EQ(first.Find("copy/Shop.dll")->stored_hash, first.Find("Shop.dll")->stored_hash);
  // Nor again, by a new precompiler, in another application.
  world_.Write("Other.dll", Il("Other"));
  TakeCompiled();
  const Precompiled second = Run(Publish());
  EXPECT_EQ(second.cached, 1u);
  EXPECT_EQ(second.compiled, 1u);
  EXPECT_THAT(TakeCompiled(), ElementsAre("Other.dll"));
  EXPECT_EQ(second.manifest.Find("Shop.dll")->stored_hash, first.Find("Shop.dll")->stored_hash);
  // Another compiler is another matter.
  ASSERT_TRUE(TryRun(Publish(), {}, "crossgen2 10.0.13").ok());
  EXPECT_THAT(TakeCompiled(), ElementsAre("Other.dll", "Shop.dll"));
}

TEST_F(PrecompilerTest, ACacheThatIsWrongOrLostOnlyCostsTime) {
  world_.Write("Shop.dll", Il("Shop"));
  const TreeManifest manifest = Publish();
  const TreeManifest first = Run(manifest).manifest;
  const std::string hash = first.Find("Shop.dll")->stored_hash;
  const DerivedRecords records(world_.store().folder());
  const auto compiles_again = [&] {
    TakeCompiled();
    EXPECT_EQ(Run(manifest).manifest.id(), first.id());
    return TakeCompiled().size() == 1;
  };
  EXPECT_FALSE(compiles_again());
  fs::remove(world_.state() + "/precompile/cache");
  EXPECT_TRUE(compiles_again());
  fs::remove(records.PathOf(hash));
  EXPECT_TRUE(compiles_again());
  fs::remove(world_.store().Find(hash, StoredKind::kAssembly)->path);
  EXPECT_TRUE(compiles_again());
  // A cache that names the image of another source.
  DerivedRecord other = *records.Find(hash);
  other.source_hash = std::string(64, 'a');
  ASSERT_TRUE(records.Keep(other).ok());
  EXPECT_TRUE(compiles_again());
  std::ofstream(world_.state() + "/precompile/cache") << std::string(1000, '\0');
  EXPECT_TRUE(compiles_again());
}

TEST_F(PrecompilerTest, WhatTheCompilerRefusesStaysIlAndIsNotTriedAgain) {
  world_.Write("Bad.dll", Il("Bad"));
  world_.Write("Good.dll", Il("Good"));
  Instead("Bad.dll", [](const std::string&) {
    return RunResult{.exit_code = 1, .output = "Emitting\nError: it is odd\n"};
  });
  const TreeManifest before = Publish();
  const Precompiled first = Run(before);
  EXPECT_EQ(first.compiled, 1u);
  EXPECT_EQ(first.failed, 1u);
  EXPECT_THAT(first.notices, ElementsAre(HasSubstr("'Bad.dll' is not precompiled: exit code 1: "
                                                   "Error: it is odd")));
  EXPECT_EQ(*first.manifest.Find("Bad.dll"), *before.Find("Bad.dll"));
  EXPECT_EQ(Content(first.manifest, "Good.dll"), ReadyToRun("Good"));
  TakeCompiled();
  const Precompiled second = Run(before);
  EXPECT_THAT(TakeCompiled(), IsEmpty());
  EXPECT_EQ(second.failed, 1u);
  EXPECT_THAT(second.notices, SizeIs(1));
}

TEST_F(PrecompilerTest, WhatTheMachineRefusesIsTriedAgain) {
  world_.Write("Shop.dll", Il("Shop"));
  const TreeManifest manifest = Publish();
  for (const auto& program : std::vector<Program>{
           [](const std::string&) { return absl::DeadlineExceededError("not within 2 minutes"); },
           [](const std::string&) { return absl::ResourceExhaustedError("no memory to fork"); },
           [](const std::string&) { return RunResult{.signal = 9, .out_of_memory = true}; },
           [](const std::string&) { return RunResult{.exit_code = 127, .output = "nice: x"}; }}) {
    Instead("Shop.dll", program);
    const Precompiled result = Run(manifest);
    EXPECT_EQ(result.failed, 1u);
    EXPECT_THAT(result.notices, SizeIs(1));
    EXPECT_EQ(result.manifest.id(), manifest.id());
  }
  EXPECT_THAT(runner_.requests(), SizeIs(4));
  Instead("Shop.dll", nullptr);
  EXPECT_EQ(Run(manifest).compiled, 1u);
}

TEST_F(PrecompilerTest, WhatTheCompilerLeavesIsNotTrusted) {
  world_.Write("Shop.dll", Il("Shop"));
  const TreeManifest manifest = Publish();
  const std::string elsewhere = world_.state() + "/elsewhere.dll";
  std::ofstream(elsewhere) << ReadyToRun("Shop");
  const std::vector<std::function<void(const std::string&)>> results = {
      [](const std::string&) {},
      [](const std::string& out) { std::ofstream(out) << ""; },
      [](const std::string& out) { std::ofstream(out) << "no assembly"; },
      [](const std::string& out) { std::ofstream(out) << ReadyToRun("Shop").substr(0, 600); },
      [](const std::string& out) { std::ofstream(out) << Il("Shop"); },
      [](const std::string& out) { std::ofstream(out) << ReadyToRun("Evil"); },
      [&](const std::string& out) { fs::create_symlink(elsewhere, out); },
      [&](const std::string& out) { fs::create_hard_link(elsewhere, out); },
      [](const std::string& out) { fs::create_directory(out); }};
  for (size_t i = 0; i < results.size(); ++i) {
    fs::remove(world_.state() + "/precompile/cache");
    Instead("Shop.dll", [&](const std::string& out) {
      results[i](out);
      return RunResult{.exit_code = 0};
    });
    const Precompiled result = Run(manifest);
    EXPECT_EQ(result.failed, 1u) << i;
    EXPECT_EQ(result.manifest.id(), manifest.id()) << i;
    EXPECT_THAT(Left(), IsEmpty());
  }
  EXPECT_THAT(*world_.store().List(), SizeIs(1));
}

TEST_F(PrecompilerTest, CompilesSomeAtATimeAndNotMore) {
  for (int i = 0; i < 24; ++i) {
    const std::string name = "A" + std::to_string(i);
    world_.Write(name + ".dll", Il(name));
  }
  EXPECT_EQ(Run(Publish(), {.parallel = 3}).compiled, 24u);
  EXPECT_LE(runner_.most_at_once(), 3);
  EXPECT_THAT(TakeCompiled(), SizeIs(24));
}

TEST_F(PrecompilerTest, AnEndingSupervisorCompilesNoMore) {
  for (int i = 0; i < 10; ++i) {
    const std::string name = "A" + std::to_string(i);
    world_.Write(name + ".dll", Il(name));
    Instead(name + ".dll", [](const std::string&) { return absl::CancelledError("ends"); });
  }
  EXPECT_EQ(TryRun(Publish(), {.parallel = 2}).status().code(), absl::StatusCode::kCancelled);
  EXPECT_LE(runner_.requests().size(), 2u);
  EXPECT_THAT(Left(), IsEmpty());
}

TEST_F(PrecompilerTest, ManyFailuresAreSaidInFewLines) {
  for (int i = 0; i < 15; ++i) {
    const std::string name = "A" + std::to_string(i);
    world_.Write(name + ".dll", Il(name));
    Instead(name + ".dll", [](const std::string&) { return RunResult{.exit_code = 1}; });
  }
  const Precompiled result = Run(Publish());
  EXPECT_EQ(result.failed, 15u);
  EXPECT_THAT(result.notices, SizeIs(Precompiler::kMostNotices + 1));
  EXPECT_THAT(result.notices.back(), HasSubstr("5 more"));
}

TEST_F(PrecompilerTest, CompilersRunAsToldAndFindReferencesByName) {
  world_.Write("Shop.dll", Il("Shop"));
  world_.Write("Cart.dll", Il("Cart"));
  std::vector<std::string> references;
  Instead("Shop.dll", [&](const std::string& out) {
    references = PathsBelow(fs::path(out).parent_path().parent_path() / "references");
    std::ofstream(out) << ReadyToRun("Shop");
    return RunResult{.exit_code = 0};
  });
  Run(Publish(),
      {.parallel = 1, .limit = absl::Seconds(7), .memory = MiB(300), .environment = {"PATH=/bin"}});
  EXPECT_THAT(references, ElementsAre("Cart.dll", "Shop.dll"));
  for (const RunRequest& request : runner_.requests()) {
    EXPECT_EQ(request.program, "/opt/crossgen2");
    EXPECT_TRUE(request.low_priority);
    EXPECT_EQ(request.limit, absl::Seconds(7));
    EXPECT_EQ(request.memory, MiB(300));
    EXPECT_THAT(request.environment, ElementsAre("PATH=/bin"));
    EXPECT_THAT(request.arguments, ::testing::Contains("--reference:/fw/*.dll"));
  }
}

TEST_F(PrecompilerTest, LeftoversOfAKilledSupervisorAreRemoved) {
  fs::create_directories(world_.state() + "/precompile/run-abcdef/out");
  fs::create_directories(world_.state() + "/precompile/crossgen2-10.0.12");
  const Precompiler precompiler(world_.store(), runner_,
                                {.folder = world_.state() + "/precompile"});
  EXPECT_THAT(Left(), ElementsAre("crossgen2-10.0.12"));
}

TEST_F(PrecompilerTest, ATreeWithoutAssembliesStaysAsItIs) {
  world_.Write("appsettings.json", "{}");
  const TreeManifest manifest = Publish();
  EXPECT_EQ(Run(manifest).manifest.id(), manifest.id());
  EXPECT_THAT(runner_.requests(), IsEmpty());
}

}  // namespace
}  // namespace cohost::supervisor
