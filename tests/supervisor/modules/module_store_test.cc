// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/module_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "base/format/data_image_builder.h"
#include "base/system/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "supervisor/modules/source_index.h"
#include "tests/supervisor/modules/module_files.h"

namespace cohost::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::unique_ptr<ModuleStore> OpenStore(const TestFolder& folder) {
  std::vector<std::string> notices;
  auto store = ModuleStore::Open({.folder = folder.path() + "/store"}, &notices);
  EXPECT_TRUE(store.ok()) << store.status();
  EXPECT_THAT(notices, IsEmpty());
  return *std::move(store);
}

// Names in the store's folder, without the index.
std::vector<std::string> Content(const ModuleStore& store) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(store.folder())) {
    if (entry.path().filename() != "index") names.push_back(entry.path().filename());
  }
  return names;
}

std::string Image() {
  DataImageBuilder builder("test");
  for (int i = 0; i < 1000; ++i) builder.Add("key" + std::to_string(i), "value");
  return *builder.Build();
}

TEST(ModuleStore, KeepsACopyByItsHash) {
  const TestFolder folder;
  const auto store = OpenStore(folder);
  const std::string content = ModuleContent("plain_module.so");
  const std::string source = folder.Write("a.so", content);
  const auto file = store->Publish(source, StoredKind::kModule);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_THAT(file->hash, SizeIs(64));
  EXPECT_EQ(file->path, store->folder() + "/" + file->hash + ".so");
  EXPECT_EQ(file->size.count, content.size());
  EXPECT_EQ(ReadFile(file->path), content);
  struct stat copy;
  struct stat original;
  ASSERT_EQ(::stat(file->path.c_str(), &copy), 0);
  ASSERT_EQ(::stat(source.c_str(), &original), 0);
  EXPECT_EQ(copy.st_mode & 0777, 0555u);
  EXPECT_NE(copy.st_ino, original.st_ino);
  EXPECT_THAT(Content(*store), SizeIs(1));
}

TEST(ModuleStore, KeepsDataImages) {
  const TestFolder folder;
  const auto store = OpenStore(folder);
  const auto file = store->Publish(folder.Write("t.img", Image()), StoredKind::kDataImage);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(file->path.ends_with(file->hash + ".img"));
  struct stat copy;
  ASSERT_EQ(::stat(file->path.c_str(), &copy), 0);
  EXPECT_EQ(copy.st_mode & 0777, 0444u);
}

TEST(ModuleStore, EqualFilesAreOne) {
  const TestFolder folder;
  const auto store = OpenStore(folder);
  const std::string content = ModuleContent("plain_module.so");
  const auto a = store->Publish(folder.Write("a.so", content), StoredKind::kModule);
  const auto b = store->Publish(folder.Write("b.so", content), StoredKind::kModule);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(a->path, b->path);
  EXPECT_THAT(Content(*store), SizeIs(1));
}

TEST(ModuleStore, OverwritingTheSourceLeavesTheStoredFile) {
  const TestFolder folder;
  const auto store = OpenStore(folder);
  const std::string first = ModuleContent("plain_module.so");
  const std::string source = folder.Write("a.so", first);
  const auto before = store->Publish(source, StoredKind::kModule);
  folder.Write("a.so", ModuleContent("static_tls_module.so"));
  const auto after = store->Publish(source, StoredKind::kModule);
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_NE(after->hash, before->hash);
  EXPECT_THAT(after->warnings, SizeIs(1));
  EXPECT_EQ(ReadFile(before->path), first);
}

TEST(ModuleStore, Mod01RefusesBadModulesAndKeepsNothingOfThem) {
  const TestFolder folder;
  const auto store = OpenStore(folder);
  const std::string good = ModuleContent("plain_module.so");
  std::vector<std::string> sources = {folder.Write("text.so", "this is text\n"),
                                      folder.Write("image.so", Image()), "/bin/true"};
  for (const size_t length : {size_t{0}, size_t{64}, size_t{512}, size_t{2000}, size_t{4096},
                              good.size() / 2, good.size() - 1}) {
    sources.push_back(folder.Write("cut-" + std::to_string(length), good.substr(0, length)));
  }
  sources.push_back(folder.path() + "/pipe");
  ASSERT_EQ(::mkfifo(sources.back().c_str(), 0600), 0);
  sources.push_back(folder.Write("longer.so", good));
  ASSERT_EQ(::truncate(sources.back().c_str(), 1 << 30), 0);
  sources.push_back(folder.Write("sparse.so", good.substr(0, 700)));
  ASSERT_EQ(::truncate(sources.back().c_str(), static_cast<off_t>(good.size())), 0);
  sources.push_back(folder.path());
  for (const std::string& source : sources) {
    const auto file = store->Publish(source, StoredKind::kModule);
    EXPECT_EQ(file.status().code(), absl::StatusCode::kInvalidArgument) << source;
    EXPECT_THAT(std::string(file.status().message()), HasSubstr("module '" + source + "': it "));
  }
  EXPECT_THAT(Content(*store), IsEmpty());
}

TEST(ModuleStore, RefusesBadDataImages) {
  const TestFolder folder;
  const auto store = OpenStore(folder);
  const std::string good = Image();
  std::string damaged = good;
  damaged[good.size() / 2] ^= 1;
  for (const std::string& content :
       {std::string(), good.substr(0, 100), good.substr(0, good.size() - 8), good + "x", damaged,
        ModuleContent("plain_module.so")}) {
    const auto file = store->Publish(folder.Write("x.img", content), StoredKind::kDataImage);
    EXPECT_EQ(file.status().code(), absl::StatusCode::kInvalidArgument) << content.size();
  }
  EXPECT_THAT(Content(*store), IsEmpty());
}

TEST(ModuleStore, RefusesWhatIsMissingOrTooLarge) {
  const TestFolder folder;
  const auto store = OpenStore(folder);
  EXPECT_EQ(store->Publish(folder.path() + "/missing", StoredKind::kModule).status().code(),
            absl::StatusCode::kNotFound);
  const std::string huge = folder.Write("huge.so", "");
  ASSERT_EQ(::truncate(huge.c_str(), static_cast<off_t>(kMaxStoredFile.count + 1)), 0);
  EXPECT_EQ(store->Publish(huge, StoredKind::kModule).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(ModuleStore, ReplacesAStoredFileThatWasCut) {
  const TestFolder folder;
  auto store = OpenStore(folder);
  const std::string content = ModuleContent("plain_module.so");
  const std::string source = folder.Write("a.so", content);
  const auto file = store->Publish(source, StoredKind::kModule);
  ASSERT_EQ(::truncate(file->path.c_str(), 100), 0);
  ASSERT_TRUE(store->Publish(source, StoredKind::kModule).ok());
  EXPECT_EQ(ReadFile(file->path), content);
}

// Publishes until the source is old enough for its hash to be remembered.
void PublishUntilIndexed(ModuleStore& store, const std::string& source) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!std::filesystem::exists(store.folder() + "/index")) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    ASSERT_TRUE(store.Publish(source, StoredKind::kModule).ok());
    ASSERT_TRUE(store.SaveIndex().ok());
  }
}

TEST(ModuleStore, DoesNotReadAnUnchangedSourceAgain) {
  const TestFolder folder;
  const std::string source = folder.Write("a.so", ModuleContent("plain_module.so"));
  auto store = OpenStore(folder);
  PublishUntilIndexed(*store, source);
  // An index that names another file of the same size shows that the source itself is not read.
  size_t skipped = 0;
  const std::string index_path = store->folder() + "/index";
  SourceIndex index = SourceIndex::Parse(ReadFile(index_path), &skipped);
  struct stat status;
  ASSERT_EQ(::stat(source.c_str(), &status), 0);
  const std::string fake(64, '0');
  ASSERT_TRUE(index.Remember(source, {FileStamp::Of(status), fake, StoredKind::kModule}));
  folder.Write("store/index", index.Format());
  const std::string stored =
      folder.Write("store/" + fake + ".so", ModuleContent("plain_module.so"));
  ASSERT_EQ(::chmod(stored.c_str(), 0555), 0);
  store = OpenStore(folder);
  EXPECT_EQ(store->Publish(source, StoredKind::kModule)->hash, fake);
  // Where the folder does not hold it, the folder is right.
  std::filesystem::remove(store->folder() + "/" + fake + ".so");
  EXPECT_NE(store->Publish(source, StoredKind::kModule)->hash, fake);
}

TEST(ModuleStore, OpensWithADamagedIndexAndLeftovers) {
  const TestFolder folder;
  const std::string source = folder.Write("a.so", ModuleContent("plain_module.so"));
  std::string path;
  {
    const auto store = OpenStore(folder);
    path = store->Publish(source, StoredKind::kModule)->path;
  }
  folder.Write("store/index", std::string(5000, '\0'));
  folder.Write("store/.publish-abc123", "half a copy");
  std::vector<std::string> notices;
  const auto store = ModuleStore::Open({.folder = folder.path() + "/store"}, &notices);
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_THAT(notices, SizeIs(1));
  EXPECT_THAT(Content(**store), SizeIs(1));
  EXPECT_EQ((*store)->Publish(source, StoredKind::kModule)->path, path);
}

TEST(ModuleStore, ListsFilesWithSourcesAndUsers) {
  const TestFolder folder;
  const auto store = OpenStore(folder);
  const std::string source = folder.Write("a.so", ModuleContent("plain_module.so"));
  PublishUntilIndexed(*store, source);
  const auto module = store->Publish(source, StoredKind::kModule);
  const auto image = store->Publish(folder.Write("t.img", Image()), StoredKind::kDataImage);
  store->SetUses("shop", {module->hash, image->hash});
  store->SetUses("cart", {module->hash});
  store->SetUses("gone", {module->hash});
  store->SetUses("gone", {});
  folder.Write("store/README", "not of the store");
  const auto files = store->List();
  ASSERT_TRUE(files.ok()) << files.status();
  ASSERT_THAT(*files, SizeIs(2));
  const ListedFile& first = (*files)[(*files)[0].file.kind == StoredKind::kModule ? 0 : 1];
  EXPECT_EQ(first.file.hash, module->hash);
  EXPECT_EQ(first.file.path, module->path);
  EXPECT_EQ(first.file.size, module->size);
  EXPECT_EQ(first.source, source);
  EXPECT_THAT(first.services, ElementsAre("cart", "shop"));
  EXPECT_LT(absl::Now() - first.published, absl::Hours(1));
  EXPECT_THAT(first.copies, IsEmpty());
  // A further copy is no file of its own.
  const std::string copy = folder.path() + "/store/" + module->hash + ".2.so";
  std::filesystem::copy_file(module->path, copy);
  const auto again = store->List();
  ASSERT_THAT(*again, SizeIs(2));
  EXPECT_THAT((*again)[(*again)[0].file.kind == StoredKind::kModule ? 0 : 1].copies,
              ElementsAre(copy));
}

TEST(ModuleStore, ManyThreadsPublishTheSameFilesAtOnce) {
  const TestFolder folder;
  const auto store = OpenStore(folder);
  const std::vector<std::string> sources = {
      folder.Write("a.so", ModuleContent("plain_module.so")),
      folder.Write("b.so", ModuleContent("static_tls_module.so"))};
  std::atomic<int> failed = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 10; ++round) {
        if (!store->Publish(sources[(i + round) % 2], StoredKind::kModule).ok()) ++failed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
  EXPECT_THAT(Content(*store), SizeIs(2));
}

TEST(ModuleStore, AFileThatChangesWhileItIsReadFailsThePublish) {
  const TestFolder folder;
  const auto store = OpenStore(folder);
  // Long enough for the copy to take a while; a module may have something behind its end.
  const std::string content = ModuleContent("plain_module.so") + std::string(1 << 20, '\0');
  const std::string source = folder.Write("a.so", content);
  std::atomic<bool> done = false;
  std::thread writer([&] {
    const UniqueFd fd(::open(source.c_str(), O_WRONLY | O_CLOEXEC));
    while (!done) EXPECT_EQ(::pwrite(fd.get(), content.data(), 64, 0), 64);
  });
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  absl::Status status;
  while (status.ok() && std::chrono::steady_clock::now() < deadline) {
    status = store->Publish(source, StoredKind::kModule).status();
    for (const std::string& name : Content(*store)) {
      std::filesystem::remove(store->folder() + "/" + name);
    }
  }
  done = true;
  writer.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted) << status;
  EXPECT_THAT(Content(*store), IsEmpty());
}

TEST(ModuleStore, AFileThatChangesWhileItIsReadNeverEntersTorn) {
  const TestFolder folder;
  const auto store = OpenStore(folder);
  const std::string a = ModuleContent("plain_module.so");
  const std::string b = ModuleContent("static_tls_module.so");
  const std::string source = folder.Write("a.so", a);
  std::atomic<bool> done = false;
  std::thread writer([&] {
    for (int i = 0; !done; ++i) folder.Write("a.so", i % 2 == 0 ? b : a);
  });
  for (int round = 0; round < 300; ++round) {
    const auto file = store->Publish(source, StoredKind::kModule);
    if (!file.ok()) {
      EXPECT_TRUE(absl::IsAborted(file.status()) || absl::IsInvalidArgument(file.status()))
          << file.status();
    }
  }
  done = true;
  writer.join();
  for (const std::string& name : Content(*store)) {
    const std::string content = ReadFile(store->folder() + "/" + name);
    EXPECT_TRUE(content == a || content == b) << name;
  }
}

TEST(ModuleStore, ABatchIsThereTogether) {
  const TestFolder folder;
  const auto store = OpenStore(folder);
  ModuleStore::Batch batch(*store);
  const auto a =
      batch.Add(folder.Write("a.so", ModuleContent("plain_module.so")), StoredKind::kModule);
  const auto b = batch.Add(folder.Write("b.txt", "text"), StoredKind::kFile);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(store->Find(a->hash, StoredKind::kModule).status().code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(batch.Commit().ok());
  EXPECT_EQ(store->Find(a->hash, StoredKind::kModule)->path, a->path);
  EXPECT_EQ(store->Find(b->hash, StoredKind::kFile)->size.count, 4u);
  EXPECT_EQ(store->Find(b->hash, StoredKind::kModule).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store->Find("../" + b->hash, StoredKind::kFile).status().code(),
            absl::StatusCode::kNotFound);
}

TEST(ModuleStore, LinksBeginASecondCopyWhenAFileHasEnough) {
  const TestFolder folder;
  std::vector<std::string> notices;
  const auto store =
      ModuleStore::Open({.folder = folder.path() + "/store", .most_links = 3}, &notices);
  ASSERT_TRUE(store.ok());
  const auto file = (*store)->Publish(folder.Write("a", "content"), StoredKind::kFile);
  ASSERT_TRUE(file.ok());
  std::set<ino_t> inodes;
  for (int i = 0; i < 5; ++i) {
    const std::string path = folder.path() + "/link" + std::to_string(i);
    ASSERT_TRUE((*store)->Link(*file, path).ok());
    struct stat status;
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_LE(status.st_nlink, 3u);
    inodes.insert(status.st_ino);
    EXPECT_EQ(ReadFile(path), "content");
  }
  // Two links beside the first copy's own name, two beside the second's, one beside the third's.
  EXPECT_THAT(inodes, SizeIs(3));
  EXPECT_THAT(*(*store)->List(), SizeIs(1));
  EXPECT_EQ((*store)->Check()->files, 3u);
  EXPECT_EQ((*store)->Link(*file, folder.path() + "/link0").code(),
            absl::StatusCode::kAlreadyExists);
}

TEST(ModuleStore, CheckFindsWhatIsDamagedForgottenAndForeign) {
  const TestFolder folder;
  const auto store = OpenStore(folder);
  const std::string source = folder.Write("a.so", ModuleContent("plain_module.so"));
  PublishUntilIndexed(*store, source);
  const auto damaged = store->Publish(source, StoredKind::kModule);
  const auto whole = store->Publish(folder.Write("b", "whole"), StoredKind::kFile);
  folder.Write("store/README", "foreign");
  auto check = store->Check();
  ASSERT_TRUE(check.ok()) << check.status();
  EXPECT_EQ(check->files, 2u);
  EXPECT_EQ(check->size.count, damaged->size.count + 5);
  EXPECT_THAT(check->damaged, IsEmpty());
  EXPECT_THAT(check->foreign, ElementsAre("README"));

  // One bit, as a disk turns it: size and mode stay.
  std::string content = ReadFile(damaged->path);
  content[content.size() / 2] ^= 1;
  ASSERT_EQ(::chmod(damaged->path.c_str(), 0755), 0);
  folder.Write("store/" + damaged->hash + ".so", content);
  ASSERT_EQ(::chmod(damaged->path.c_str(), 0555), 0);
  check = store->Check();
  ASSERT_TRUE(check.ok()) << check.status();
  EXPECT_EQ(check->files, 1u);
  ASSERT_THAT(check->damaged, SizeIs(1));
  EXPECT_THAT(check->damaged[0], HasSubstr("/damaged/" + damaged->hash));
  EXPECT_EQ(check->forgotten, 1u);
  EXPECT_TRUE(std::filesystem::exists(whole->path));
  // The next publish brings it back, under the same name.
  ASSERT_TRUE(store->Publish(source, StoredKind::kModule).ok());
  EXPECT_EQ(ReadFile(damaged->path), ModuleContent("plain_module.so"));
}

TEST(ModuleStore, CollectRemovesWhatNobodyUses) {
  const TestFolder folder;
  const auto store = OpenStore(folder);
  const auto kept = store->Publish(folder.Write("a", "kept"), StoredKind::kFile);
  const auto linked = store->Publish(folder.Write("b", "linked"), StoredKind::kFile);
  const auto unused = store->Publish(folder.Write("c", "unused"), StoredKind::kFile);
  ASSERT_TRUE(kept.ok() && linked.ok() && unused.ok());
  ASSERT_TRUE(store->Link(*linked, folder.path() + "/tree").ok());
  auto young = store->Collect({kept->hash}, absl::Hours(1));
  ASSERT_TRUE(young.ok()) << young.status();
  EXPECT_THAT(young->removed, IsEmpty());
  EXPECT_EQ(young->young, 1u);
  const auto collection = store->Collect({kept->hash}, absl::ZeroDuration());
  ASSERT_TRUE(collection.ok()) << collection.status();
  ASSERT_THAT(collection->removed, SizeIs(1));
  EXPECT_EQ(collection->removed[0].hash, unused->hash);
  EXPECT_EQ(collection->freed.count, 6u);
  EXPECT_FALSE(std::filesystem::exists(unused->path));
  EXPECT_TRUE(std::filesystem::exists(kept->path));
  // Its tree goes, then it may go.
  std::filesystem::remove(folder.path() + "/tree");
  EXPECT_THAT(store->Collect({kept->hash}, absl::ZeroDuration())->removed, SizeIs(1));
}

}  // namespace
}  // namespace cohost::supervisor
