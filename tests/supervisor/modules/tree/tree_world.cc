// SPDX-License-Identifier: Apache-2.0
#include "tests/supervisor/modules/tree/tree_world.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/system/unique_fd.h"
#include "supervisor/modules/tree/folder_removal.h"
#include "tests/supervisor/modules/verify/assembly_bytes.h"

namespace cohost::supervisor {

namespace {

void Require(bool condition, const std::string& what) {
  if (condition) return;
  std::fprintf(stderr, "%s: %s\n", what.c_str(), std::strerror(errno));
  std::abort();
}

template <typename T>
T Require(absl::StatusOr<T> value) {
  if (!value.ok()) std::fprintf(stderr, "%s\n", value.status().ToString().c_str());
  if (!value.ok()) std::abort();
  return *std::move(value);
}

}  // namespace

std::string Assembly(std::string_view content) {
  AssemblyBytes bytes;
  bytes.name.name = content.substr(0, 40);
  return bytes.Build().append(content);
}

std::string LibraryBytes(std::string_view content) {
  return std::string("\177ELF\2\1\1", 7).append(content);
}

TreeWorld::TreeWorld() : app_(folder_ / "app"), state_(folder_ / "state") {
  std::filesystem::create_directories(app_);
  std::vector<std::string> notices;
  store_ = Require(ModuleStore::Open({.folder = state_ + "/modules"}, &notices));
  Reopen();
}

TreeWorld::~TreeWorld() {
  // Folders that nobody may write are more than TemporaryFolder removes.
  const UniqueFd fd(::open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const absl::Status removed = RemoveBelow(fd.get(), "state");
  if (!removed.ok()) std::fprintf(stderr, "%s\n", removed.ToString().c_str());
}

void TreeWorld::Reopen() { layout_ = Require(TreeLayout::Open(*store_, state_)); }

void TreeWorld::Write(const std::string& path, std::string_view content, mode_t mode) {
  const std::filesystem::path full = app_ + "/" + path;
  std::filesystem::create_directories(full.parent_path());
  std::ofstream file(full, std::ios::binary | std::ios::trunc);
  file << content;
  file.close();
  Require(!file.fail() && ::chmod(full.c_str(), mode) == 0, full);
}

void TreeWorld::MakeFolder(const std::string& path) {
  std::filesystem::create_directories(app_ + "/" + path);
}

void TreeWorld::Link(const std::string& target, const std::string& path) {
  const std::filesystem::path full = app_ + "/" + path;
  std::filesystem::create_directories(full.parent_path());
  std::filesystem::create_symlink(target, full);
}

void TreeWorld::Remove(const std::string& path) { std::filesystem::remove_all(app_ + "/" + path); }

absl::StatusOr<PublishedTree> TreeWorld::Publish(const std::vector<std::string>& persist) {
  return PublishTree(*store_, app_, Require(PersistRules::Parse(persist)));
}

LaidTree TreeWorld::LayOut(const std::string& service, const std::vector<std::string>& persist) {
  const PublishedTree published = Require(Publish(persist));
  return Require(
      layout_->LayOut(service, published.manifest, Require(PersistRules::Parse(persist)), {}));
}

std::string ContentOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Require(file.is_open(), path);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct stat StatusOf(const std::string& path) {
  struct stat status {};
  Require(::lstat(path.c_str(), &status) == 0, path);
  return status;
}

std::string TargetOf(const std::string& path) {
  std::error_code error;
  return std::filesystem::read_symlink(path, error);
}

std::vector<std::string> PathsBelow(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    paths.push_back(std::filesystem::relative(entry.path().parent_path(), folder) /
                    entry.path().filename());
    if (paths.back().starts_with("./")) paths.back().erase(0, 2);
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace cohost::supervisor
