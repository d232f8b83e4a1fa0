// SPDX-License-Identifier: Apache-2.0
#include "supervisor/deployer/prepared_deployment.h"

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.h"

namespace cohost::supervisor {
namespace {

PreparedService Example() {
  PreparedService service;
  service.service.name = "catalog";
  service.service.listen.resize(1);
  service.service.listen[0].host = "127.0.0.1";
  service.service.listen[0].port = 8101;
  service.service.warmup = {"/"};
  service.module.hash = std::string(64, 'a');
  service.data_images["words"].hash = std::string(64, 'b');
  service.settings = {{"currency", "EUR"}};
  return service;
}

TEST(ServiceRevision, IsTheSameForTheSameService) {
  EXPECT_EQ(ServiceRevision(Example()), ServiceRevision(Example()));
  EXPECT_NE(ServiceRevision(Example()), 0u);
}

TEST(ServiceRevision, IsAnotherForEverythingThatAWorkerIsTold) {
  const std::vector<std::function<void(PreparedService&)>> changes = {
      [](PreparedService& s) { s.service.name = "other"; },
      [](PreparedService& s) { s.module.hash[0] = 'c'; },
      [](PreparedService& s) { s.data_images["words"].hash[0] = 'c'; },
      [](PreparedService& s) { s.data_images["more"].hash = "d"; },
      [](PreparedService& s) { s.settings[0].second = "USD"; },
      [](PreparedService& s) { s.settings.emplace_back("a", "b"); },
      [](PreparedService& s) { s.service.listen[0].port = 8102; },
      [](PreparedService& s) { s.service.warmup.push_back("/items/1"); },
      [](PreparedService& s) { s.service.limits.concurrency = 1; },
      [](PreparedService& s) { s.service.limits.queue = 1; },
      [](PreparedService& s) { s.service.limits.connections = 1; },
      [](PreparedService& s) { s.service.limits.header_size = KiB(1); },
      [](PreparedService& s) { s.service.limits.body_size = KiB(1); },
      [](PreparedService& s) { s.service.limits.memory = KiB(1); },
      [](PreparedService& s) { s.service.limits.request_timeout = absl::Seconds(1); },
      [](PreparedService& s) { s.service.limits.header_timeout = absl::Seconds(1); },
      [](PreparedService& s) { s.service.limits.io_timeout = absl::Seconds(1); },
      [](PreparedService& s) { s.service.limits.idle_timeout = absl::Seconds(1); },
      [](PreparedService& s) { s.service.health.path = "/healthz"; },
      [](PreparedService& s) { s.service.access_log = true; },
      [](PreparedService& s) { s.service.overlap = false; },
      [](PreparedService& s) { s.service.instances = Instances::kOne; },
  };
  std::set<uint64_t> revisions = {ServiceRevision(Example())};
  for (size_t i = 0; i < changes.size(); ++i) {
    PreparedService changed = Example();
    changes[i](changed);
    EXPECT_TRUE(revisions.insert(ServiceRevision(changed)).second) << "change " << i;
  }
}

TEST(ServiceRevision, IsAnotherForEverythingThatAnApplicationIsTold) {
  PreparedService application = Example();
  application.service.runtime = Runtime::kDotnet;
  application.service.dotnet.app = "/srv/App.dll";
  const std::vector<std::function<void(PreparedService&)>> changes = {
      [](PreparedService& s) {
        s.environment = {{"A", "1"}};
      },
      [](PreparedService& s) { s.settings.emplace_back("A", "1"); },
      [](PreparedService& s) { s.service.dotnet.arguments = {"a"}; },
      [](PreparedService& s) { s.service.dotnet.persist = {"a"}; },
      [](PreparedService& s) { s.service.dotnet.data_protection_name = "a"; },
      [](PreparedService& s) { s.service.dotnet.isolation = Isolation::kShared; },
      [](PreparedService& s) { s.service.dotnet.share_libraries = false; },
      [](PreparedService& s) { s.shared_libraries = {"/trees/+1/2/A.dll"}; },
      [](PreparedService& s) { s.service.listen[0].endpoint = "Grpc"; },
      [](PreparedService& s) { s.service.dotnet.app = "/srv/Other.dll"; },
      [](PreparedService& s) { s.module.hash[0] = 'c'; },
  };
  std::set<uint64_t> revisions = {ServiceRevision(Example()), ServiceRevision(application)};
  EXPECT_EQ(revisions.size(), 2u);
  for (size_t i = 0; i < changes.size(); ++i) {
    PreparedService changed = application;
    changes[i](changed);
    EXPECT_TRUE(revisions.insert(ServiceRevision(changed)).second) << "change " << i;
  }
  PreparedService moved = application;
  moved.service.dotnet.app = "/srv/elsewhere/App.dll";
  EXPECT_EQ(ServiceRevision(moved), ServiceRevision(application));
}

TEST(ServiceRevision, IsTheSameForWhatNoWorkerIsTold) {
  PreparedService changed = Example();
  changed.service.load.cpu = 0.5;
  changed.service.description = "shown to people";
  EXPECT_EQ(ServiceRevision(changed), ServiceRevision(Example()));
}

TEST(ServiceRevision, DoesNotConfuseWhereOneFieldEndsAndTheNextBegins) {
  PreparedService a = Example();
  a.settings = {{"ab", "c"}};
  PreparedService b = Example();
  b.settings = {{"a", "bc"}};
  EXPECT_NE(ServiceRevision(a), ServiceRevision(b));
}

TEST(PreparedFiles, AreAllThatWorkersGet) {
  PreparedService service = Example();
  service.service.module = "/src/a.so";
  service.service.data_images["words"] = "/src/words.img";
  std::vector<std::string> files;
  for (const UsedFile& file : FilesOf(service)) {
    files.push_back(file.key + " " + file.source + " " + file.stored.hash.substr(0, 1));
  }
  EXPECT_EQ(files,
            (std::vector<std::string>{"module /src/a.so a", "data_images.words /src/words.img b"}));
}

TEST(PreparedFiles, OfATreeAreAllButSignaturesAndWhatIsNotAFile) {
  PreparedService service;
  service.service.runtime = Runtime::kDotnet;
  service.service.dotnet.app = "/src/App.dll";
  service.module.path = "/trees/a/1/App.dll";
  service.module.hash = std::string(64, '1');
  const auto entry = [](const std::string& path, char hash) {
    TreeEntry out{.path = path};
    out.source_hash = out.stored_hash = std::string(64, hash);
    return out;
  };
  auto manifest = TreeManifest::Create({entry("App.dll", 'a'),
                                        entry("App.dll.sig", 'b'),
                                        entry("wwwroot/site.css", 'c'),
                                        {.path = "app.db", .type = TreeEntry::Type::kDataFile}},
                                       {});
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  service.tree = std::make_shared<const TreeManifest>(*std::move(manifest));
  std::vector<std::string> files;
  for (const UsedFile& file : FilesOf(service)) {
    files.push_back(file.key + " " + file.source + " " + file.stored.path);
  }
  EXPECT_EQ(files,
            (std::vector<std::string>{"app /src/App.dll /trees/a/1/App.dll",
                                      "app /src/wwwroot/site.css /trees/a/1/wwwroot/site.css"}));
  EXPECT_EQ(StoredHashesOf(service).size(), 4u);  // with the manifest
}

TEST(PrepareDeployment, EverySigningKeyThatCannotBeUsedIsAProblem) {
  const testing::TemporaryFolder folder;
  std::vector<std::string> notices;
  auto store = ModuleStore::Open({folder / "store"}, &notices);
  ASSERT_TRUE(store.ok()) << store.status();
  std::ofstream(folder / "bad.pub") << "no key";
  Deployment deployment;
  deployment.host.signing_keys = {{"bad", folder / "bad.pub"}, {"gone", folder / "gone.pub"}};
  const Preparation preparation = PrepareDeployment(deployment, **store, /*as_root=*/false);
  EXPECT_EQ(preparation.prepared, nullptr);
  ASSERT_EQ(preparation.problems.size(), 2u);
  EXPECT_EQ(preparation.problems[0].key_path, "host.signing_keys.bad");
  EXPECT_EQ(preparation.problems[1].key_path, "host.signing_keys.gone");
}

}  // namespace
}  // namespace cohost::supervisor
