// SPDX-License-Identifier: Apache-2.0
#include "supervisor/deployer/application_trees.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "supervisor/deployer/prepared_deployment.h"
#include "supervisor/deployer/store_care.h"
#include "tests/supervisor/dotnet/dotnet_folder.h"

namespace cohost::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

namespace fs = std::filesystem;

class ApplicationTreesTest : public ::testing::Test {
 protected:
  ApplicationTreesTest() { service_.dotnet.app = folder_.AddApplication(); }

  ApplicationTree Publish() {
    auto tree = trees_.Publish(service_, {});
    EXPECT_TRUE(tree.ok()) << tree.status();
    return tree.ok() ? *std::move(tree) : ApplicationTree();
  }
  static ino_t InodeOf(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
    return status.st_ino;
  }
  // A deployment with the application alone.
  Deployment Orders() const {
    Deployment deployment;
    deployment.host.state_dir = folder_.path("state");
    deployment.host.dotnet_root = folder_.root();
    deployment.services = {service_};
    return deployment;
  }
  Preparation Prepare(const Deployment& deployment, const HeldServices& held = {}) {
    return PrepareDeployment(deployment, *store_, /*as_root=*/false, held);
  }

  const DotnetFolder folder_;
  std::vector<std::string> notices_;
  std::unique_ptr<ModuleStore> store_ =
      ModuleStore::Open({.folder = folder_.path("state/modules")}, &notices_).value();
  ApplicationTrees trees_{*store_, folder_.path("state")};
  Service service_ = [] {
    Service service;
    service.name = "orders";
    service.runtime = Runtime::kDotnet;
    service.instances = Instances::kOne;
    service.listen.resize(1);
    return service;
  }();
};

TEST_F(ApplicationTreesTest, AFolderBecomesATreeOfTheService) {
  folder_.Write("app/appsettings.json", "{}");
  const ApplicationTree tree = Publish();
  const std::string root = folder_.path("state/trees/orders/") + tree.app.hash;
  EXPECT_EQ(tree.app.path, root + "/App.dll");
  EXPECT_EQ(tree.app.hash, tree.manifest->id());
  EXPECT_TRUE(fs::exists(root + "/appsettings.json"));
  // Code is one inode with the store.
  const TreeEntry* app = tree.manifest->Find("App.dll");
  ASSERT_NE(app, nullptr);
  const auto stored = store_->Find(app->stored_hash, StoredKind::kAssembly);
  ASSERT_TRUE(stored.ok()) << stored.status();
  EXPECT_EQ(InodeOf(tree.app.path), InodeOf(stored->path));
  // And the manifest is a file of the store by the tree's id.
  const auto manifest = ReadStoredManifest(*store_, tree.app.hash);
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_EQ(manifest->Format(), tree.manifest->Format());
}

TEST_F(ApplicationTreesTest, WhatPersistsLivesInTheDataFolder) {
  folder_.Write("app/app.db", "seed");
  service_.dotnet.persist = {"app.db", "uploads/**"};
  const ApplicationTree tree = Publish();
  const std::string root = tree.app.path.substr(0, tree.app.path.rfind('/'));
  EXPECT_EQ(fs::canonical(root + "/app.db"), folder_.path("state/data/orders/app.db"));
  std::ofstream(root + "/app.db") << "written";
  std::ofstream(root + "/uploads/a") << "written";
  // A new version has it too, and nothing is overwritten.
  folder_.Write("app/new.txt", "new");
  const ApplicationTree next = Publish();
  EXPECT_NE(next.app.hash, tree.app.hash);
  std::string content;
  std::ifstream(next.app.path.substr(0, next.app.path.rfind('/')) + "/app.db") >> content;
  EXPECT_EQ(content, "written");
  EXPECT_TRUE(fs::exists(folder_.path("state/data/orders/uploads/a")));
}

TEST_F(ApplicationTreesTest, AnEarlierVersionIsLaidOutAgain) {
  const ApplicationTree first = Publish();
  folder_.Write("app/new.txt", "new");
  const ApplicationTree second = Publish();
  fs::remove_all(folder_.path("app"));
  const std::string gone = first.app.path.substr(0, first.app.path.rfind('/'));
  for (const auto& each : fs::recursive_directory_iterator(folder_.path("state/trees"))) {
    fs::permissions(each.path(), fs::perms::owner_all, fs::perm_options::add);
  }
  fs::permissions(gone, fs::perms::owner_all, fs::perm_options::add);
  fs::remove_all(gone);
  for (const auto method : {&ApplicationTrees::Restore, &ApplicationTrees::Resume}) {
    const auto back = (trees_.*method)(service_, first.app.hash, {});
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(back->app.path, first.app.path);
    EXPECT_TRUE(fs::exists(back->app.path));
  }
  EXPECT_TRUE(absl::IsNotFound(trees_.Restore(service_, std::string(64, '0'), {}).status()));
}

TEST_F(ApplicationTreesTest, TheMainAssemblyHasToBeOne) {
  folder_.Write("app/App.dll", "no assembly");
  const auto tree = trees_.Publish(service_, {});
  EXPECT_EQ(tree.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(tree.status().message()), HasSubstr("'App.dll' is no .NET assembly"));
}

TEST_F(ApplicationTreesTest, APreparedServiceRunsFromItsTree) {
  service_.dotnet.environment = {{"A", "$${"}};
  const Preparation preparation = Prepare(Orders());
  ASSERT_NE(preparation.prepared, nullptr) << preparation.problems[0].message;
  const PreparedService& orders = preparation.prepared->services.at("orders");
  EXPECT_TRUE(fs::exists(orders.module.path));
  EXPECT_EQ(orders.environment, (Settings{{"A", "${"}}));
  EXPECT_EQ(preparation.prepared->dotnet_root, folder_.root());
  EXPECT_THAT(FilesOf(orders), SizeIs(3));
  EXPECT_EQ(HashesOf(orders).module, orders.module.hash);
  // The same folder is the same version, a changed one another.
  EXPECT_EQ(Prepare(Orders()).prepared->services.at("orders").revision, orders.revision);
  folder_.Write("app/appsettings.json", "{}");
  EXPECT_NE(Prepare(Orders()).prepared->services.at("orders").revision, orders.revision);
}

TEST_F(ApplicationTreesTest, ListedFilesOfATreeHaveTheirPlaceInTheFolder) {
  const Preparation preparation = Prepare(Orders());
  ASSERT_NE(preparation.prepared, nullptr);
  const TreeEntry* app = preparation.prepared->services.at("orders").tree->Find("App.dll");
  ASSERT_NE(app, nullptr);
  auto files = store_->List();
  ASSERT_TRUE(files.ok()) << files.status();
  AddTreeSources(*preparation.prepared, *files);
  const auto listed = std::find_if(files->begin(), files->end(), [&](const ListedFile& file) {
    return file.file.hash == app->stored_hash;
  });
  ASSERT_NE(listed, files->end());
  EXPECT_EQ(listed->source, service_.dotnet.app);
}

TEST_F(ApplicationTreesTest, ARollbackTakesTheVersionFromTheStore) {
  const Preparation first = Prepare(Orders());
  ASSERT_NE(first.prepared, nullptr);
  const ServiceFiles files = HashesOf(first.prepared->services.at("orders"));
  folder_.Write("app/appsettings.json", "{}");
  HeldServices held;
  held.services["orders"] = {service_, files, std::nullopt};
  const Preparation back = Prepare(Orders(), held);
  ASSERT_NE(back.prepared, nullptr) << back.problems[0].message;
  EXPECT_EQ(back.prepared->services.at("orders").module.hash, files.module);
}

TEST_F(ApplicationTreesTest, WithoutDotnetTheProblemSaysWhatToInstall) {
  Deployment deployment = Orders();
  deployment.host.dotnet_root = folder_.path("nothing");
  deployment.services.push_back(service_);
  deployment.services.back().name = "returns";
  const Preparation preparation = Prepare(deployment);
  EXPECT_EQ(preparation.prepared, nullptr);
  ASSERT_THAT(preparation.problems, SizeIs(1));
  EXPECT_EQ(preparation.problems[0].key_path, "host.dotnet.root");
  EXPECT_THAT(
      preparation.problems[0].message,
      ::testing::AllOf(HasSubstr("'orders'"), HasSubstr("install the ASP.NET Core runtime")));
}

TEST_F(ApplicationTreesTest, WhoNeedsAProcessOfItsOwnGetsItUnlessToldToShare) {
  AssemblyBytes bytes;
  bytes.uses = {{"System", "Environment", "Exit"}};
  service_.dotnet.app = folder_.AddApplication(bytes);
  const Preparation alone = Prepare(Orders());
  ASSERT_NE(alone.prepared, nullptr);
  const PreparedService& solo = alone.prepared->services.at("orders");
  EXPECT_EQ(solo.hosting.isolation, Isolation::kSolo);
  EXPECT_THAT(solo.hosting.solo_because, HasSubstr("System.Environment.Exit"));
  EXPECT_TRUE(TraitsOf(solo.hosting).alone);
  ASSERT_THAT(alone.prepared->remarks, SizeIs(1));
  EXPECT_THAT(alone.prepared->remarks[0],
              HasSubstr("service 'orders': it gets a worker of its own: App.dll uses"));

  service_.dotnet.isolation = Isolation::kShared;
  const Preparation shared = Prepare(Orders());
  ASSERT_NE(shared.prepared, nullptr);
  EXPECT_FALSE(TraitsOf(shared.prepared->services.at("orders").hosting).alone);
  ASSERT_THAT(shared.prepared->remarks, SizeIs(1));
  EXPECT_THAT(shared.prepared->remarks[0],
              HasSubstr("shares a worker as `isolation` says, though App.dll uses"));
  EXPECT_NE(shared.prepared->services.at("orders").revision, solo.revision);

  service_.dotnet.isolation = Isolation::kSolo;
  const Preparation said = Prepare(Orders());
  ASSERT_NE(said.prepared, nullptr);
  EXPECT_EQ(said.prepared->services.at("orders").hosting.solo_because, "");
  EXPECT_TRUE(TraitsOf(said.prepared->services.at("orders").hosting).alone);
  EXPECT_THAT(said.prepared->remarks, IsEmpty());
}

TEST_F(ApplicationTreesTest, ASupervisorThatGoesOnHasItAsItWas) {
  AssemblyBytes bytes;
  bytes.uses = {{"System", "Environment", "Exit"}};
  service_.dotnet.app = folder_.AddApplication(bytes);
  const Preparation before = Prepare(Orders());
  ASSERT_NE(before.prepared, nullptr);
  const PreparedService& solo = before.prepared->services.at("orders");
  HeldServices held;
  held.goes_on = true;
  held.services["orders"] = {service_, HashesOf(solo), std::nullopt};
  const Preparation after = Prepare(Orders(), held);
  ASSERT_NE(after.prepared, nullptr);
  EXPECT_EQ(after.prepared->services.at("orders").hosting, solo.hosting);
  EXPECT_EQ(after.prepared->services.at("orders").revision, solo.revision);
}

TEST_F(ApplicationTreesTest, AnotherFrameworkThanUsualHasAViewOfItsOwn) {
  folder_.AddVersion("11.0.1");
  const Preparation usual = Prepare(Orders());
  ASSERT_NE(usual.prepared, nullptr);
  EXPECT_EQ(usual.prepared->services.at("orders").hosting.root, "");
  service_.dotnet.app = folder_.AddApplication({}, "11.0.0");
  const Preparation other = Prepare(Orders());
  ASSERT_NE(other.prepared, nullptr);
  const Hosting& hosting = other.prepared->services.at("orders").hosting;
  EXPECT_EQ(TraitsOf(hosting).framework, "11.0.1");
  EXPECT_TRUE(fs::exists(hosting.root + "/shared/Microsoft.AspNetCore.App/11.0.1"));
  EXPECT_FALSE(fs::exists(hosting.root + "/shared/Microsoft.AspNetCore.App/10.0.12"));
  // Alone it gets what .NET's host gives it, as with `dotnet App.dll`.
  service_.dotnet.isolation = Isolation::kSolo;
  const Preparation solo = Prepare(Orders());
  ASSERT_NE(solo.prepared, nullptr);
  EXPECT_EQ(solo.prepared->services.at("orders").hosting.root, "");
}

TEST_F(ApplicationTreesTest, CollectingKeepsVersionsAndWhatTheirManifestsName) {
  folder_.Write("app/appsettings.json", "{\"only\": \"here\"}");
  const ApplicationTree kept = Publish();
  folder_.Write("app/appsettings.json", "{}");
  const ApplicationTree dropped = Publish();
  // As if it had been so for long: nothing young is removed.
  StoreNeeds needs{{kept.app.hash}, {}};
  const auto outcome = CareForStore(*store_, folder_.path("state"), needs, {.collect = true});
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_THAT(outcome->collection.removed, IsEmpty());
  EXPECT_THAT(outcome->removed_trees, IsEmpty());
  // What is left out as young are the other version's manifest and settings, nothing of the kept.
  EXPECT_EQ(outcome->collection.young, 2u);
  EXPECT_TRUE(fs::exists(dropped.app.path));
}

}  // namespace
}  // namespace cohost::supervisor
