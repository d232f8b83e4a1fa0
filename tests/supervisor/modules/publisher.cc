// SPDX-License-Identifier: Apache-2.0
//
// publisher STORE SOURCE...: publishes files as one batch, links one and writes the index; exit
// status 0 when all went well. Tests kill it.
#include <string>
#include <vector>

#include "supervisor/modules/module_store.h"

int main(int argc, char** argv) {
  using namespace cohost::supervisor;
  if (argc < 3) return 2;
  std::vector<std::string> notices;
  auto store = ModuleStore::Open({.folder = argv[1], .most_links = 2}, &notices);
  if (!store.ok()) return 1;
  ModuleStore::Batch batch(**store);
  StoredFile last;
  for (int i = 2; i < argc; ++i) {
    const auto file = batch.Add(argv[i], StoredKind::kFile);
    if (!file.ok()) return 1;
    last = *file;
  }
  if (!batch.Commit().ok()) return 1;
  // The second link needs a further copy.
  for (const char* name : {"/first", "/second"}) {
    if (!(*store)->Link(last, std::string(argv[1]) + "/../links" + name).ok()) return 1;
  }
  return (*store)->SaveIndex().ok() ? 0 : 1;
}
