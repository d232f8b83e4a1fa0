// SPDX-License-Identifier: Apache-2.0
// A module whose inline function has a static variable that all modules would share.
extern "C" int cohost_module_v1();

template <typename T>
int Next() {
  static int number = 0;
  return ++number;
}

int cohost_module_v1() { return Next<int>(); }
