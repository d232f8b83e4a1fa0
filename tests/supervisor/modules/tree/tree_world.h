// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/modules/module_store.h"
#include "supervisor/modules/tree/tree_layout.h"
#include "supervisor/modules/tree/tree_manifest.h"
#include "supervisor/modules/tree/tree_publisher.h"
#include "tests/support/temporary_folder.h"

namespace cohost::supervisor {

// A small .NET assembly with IL only, named by the beginning of `content`.
std::string Assembly(std::string_view content);
// The beginning of a shared object; nothing more.
std::string LibraryBytes(std::string_view content);

// An application's folder, a state folder with a store, and trees of it. One thread. Failures of
// what is no test's subject end the test program.
class TreeWorld {
 public:
  TreeWorld();
  ~TreeWorld();

  // Below the application's folder; folders are made.
  void Write(const std::string& path, std::string_view content, mode_t mode = 0644);
  void MakeFolder(const std::string& path);
  void Link(const std::string& target, const std::string& path);
  void Remove(const std::string& path);

  absl::StatusOr<PublishedTree> Publish(const std::vector<std::string>& persist = {});
  // What is published and laid out for the service, both of which must go well.
  LaidTree LayOut(const std::string& service, const std::vector<std::string>& persist = {});
  // A new TreeLayout, as after a restart.
  void Reopen();

  const std::string& app() const { return app_; }
  const std::string& state() const { return state_; }
  ModuleStore& store() { return *store_; }
  TreeLayout& layout() { return *layout_; }

 private:
  testing::TemporaryFolder folder_;
  const std::string app_;
  const std::string state_;
  std::unique_ptr<ModuleStore> store_;
  std::unique_ptr<TreeLayout> layout_;
};

// The content of a file; ends the test program when there is none.
std::string ContentOf(const std::string& path);
struct stat StatusOf(const std::string& path);
// Where a symbolic link points; empty when it is none.
std::string TargetOf(const std::string& path);
// Everything below a folder, sorted.
std::vector<std::string> PathsBelow(const std::string& folder);

}  // namespace cohost::supervisor
