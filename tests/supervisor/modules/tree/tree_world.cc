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

template <typename Number>
void Put(std::string& bytes, size_t offset, Number number) {
  std::memcpy(bytes.data() + offset, &number, sizeof number);
}

}  // namespace

std::string AssemblyBytes(std::string_view content) {
  constexpr size_t kPe = 0x80;
  constexpr size_t kOptional = kPe + 24;
  constexpr size_t kSection = kOptional + 224;
  constexpr uint32_t kText = 0x200;      // in the file
  constexpr uint32_t kTextRva = 0x2000;  // in memory
  const std::string_view metadata("BSJB\1\0\1\0\0\0\0\0\x0C\0\0\0v4.0.30319\0\0\0\0\0\0", 32);
  const auto size =
      static_cast<uint32_t>((72 + metadata.size() + content.size() + 511) / 512 * 512);
  std::string bytes(kText + size, '\0');
  bytes.replace(0, 2, "MZ");
  Put<uint32_t>(bytes, 60, kPe);
  bytes.replace(kPe, 2, "PE");
  Put<uint16_t>(bytes, kPe + 4, 0x14C);
  Put<uint16_t>(bytes, kPe + 6, 1);        // sections
  Put<uint16_t>(bytes, kPe + 20, 224);     // size of the optional header
  Put<uint16_t>(bytes, kPe + 22, 0x2102);  // a 32-bit library
  Put<uint16_t>(bytes, kOptional, 0x10B);
  Put<uint32_t>(bytes, kOptional + 32, 0x2000);           // section alignment
  Put<uint32_t>(bytes, kOptional + 36, 0x200);            // file alignment
  Put<uint32_t>(bytes, kOptional + 56, kTextRva + size);  // size of the image
  Put<uint32_t>(bytes, kOptional + 60, kText);            // size of the headers
  Put<uint32_t>(bytes, kOptional + 92, 16);
  Put<uint32_t>(bytes, kOptional + 96 + 14 * 8, kTextRva);
  Put<uint32_t>(bytes, kOptional + 96 + 14 * 8 + 4, 72);
  bytes.replace(kSection, 5, ".text");
  Put<uint32_t>(bytes, kSection + 8, size);
  Put<uint32_t>(bytes, kSection + 12, kTextRva);
  Put<uint32_t>(bytes, kSection + 16, size);
  Put<uint32_t>(bytes, kSection + 20, kText);
  Put<uint32_t>(bytes, kSection + 36, 0x60000020);
  Put<uint32_t>(bytes, kText, 72);
  Put<uint16_t>(bytes, kText + 4, 2);
  Put<uint16_t>(bytes, kText + 6, 5);
  Put<uint32_t>(bytes, kText + 8, kTextRva + 72);
  Put<uint32_t>(bytes, kText + 12, static_cast<uint32_t>(metadata.size()));
  Put<uint32_t>(bytes, kText + 16, 1);  // IL only
  bytes.replace(kText + 72, metadata.size(), metadata);
  bytes.replace(kText + 72 + metadata.size(), content.size(), content);
  return bytes;
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
