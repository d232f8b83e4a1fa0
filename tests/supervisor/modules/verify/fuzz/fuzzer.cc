// SPDX-License-Identifier: Apache-2.0
//
// What libFuzzer calls: the target that COHOST_FUZZ_TARGET names. Built by
// tests/support/check_fuzz.sh.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tests/supervisor/modules/verify/fuzz/fuzz_targets.h"

namespace {

const cohost::supervisor::FuzzTarget& Target() {
  const char* const name = std::getenv("COHOST_FUZZ_TARGET");
  for (const auto& target : cohost::supervisor::kFuzzTargets) {
    if (name != nullptr && target.name == name) return target;
  }
  std::fputs("COHOST_FUZZ_TARGET names no target\n", stderr);
  std::exit(2);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const cohost::supervisor::FuzzTarget& target = Target();
  target.run({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
