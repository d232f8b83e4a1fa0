// SPDX-License-Identifier: Apache-2.0
//
// Lays out the application APP below STATE for one new service after the other, and removes it
// again, until it is killed:
//   lay_out_program APP STATE FIRST
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "supervisor/modules/module_store.h"
#include "supervisor/modules/tree/tree_layout.h"
#include "supervisor/modules/tree/tree_publisher.h"

int main(int argc, char** argv) {
  using namespace cohost::supervisor;
  if (argc != 4) return 1;
  const std::string state = argv[2];
  std::vector<std::string> notices;
  const auto store = ModuleStore::Open({.folder = state + "/modules"}, &notices);
  if (!store.ok()) return 2;
  const auto persist = PersistRules::Parse({"data/**"});
  const auto layout = TreeLayout::Open(**store, state);
  if (!layout.ok()) return 2;
  for (int i = std::atoi(argv[3]);; ++i) {
    const auto tree = PublishTree(**store, argv[1], *persist);
    if (!tree.ok()) return 2;
    const auto laid = (*layout)->LayOut("s" + std::to_string(i), tree->manifest, *persist, {});
    if (!laid.ok()) {
      std::fprintf(stderr, "%s\n", laid.status().ToString().c_str());
      return 2;
    }
    if (!(*layout)->Collect({}, {}, absl::ZeroDuration()).ok()) return 2;
  }
}
