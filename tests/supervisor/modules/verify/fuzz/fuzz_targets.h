// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

namespace cohost::supervisor {

// What is fuzzed: functions that take hostile bytes. Each says whether it accepted them, and ends
// the program when something that must hold for any bytes does not. Inputs that found something, or
// reach what others do not, are beside this file: TARGET-good-WHAT.seed is accepted,
// TARGET-bad-WHAT.seed is not. tests/support/check_fuzz.sh makes further ones of them;
// corpus_test.cc reads each of them once.
struct FuzzTarget {
  std::string_view name;
  bool (*run)(std::string_view bytes);
};

bool FuzzSharedObject(std::string_view bytes);
bool FuzzLibraryCache(std::string_view bytes);
bool FuzzAssembly(std::string_view bytes);
bool FuzzDataImage(std::string_view bytes);
bool FuzzSourceIndex(std::string_view bytes);

inline constexpr std::array<FuzzTarget, 5> kFuzzTargets = {{{"elf", FuzzSharedObject},
                                                            {"cache", FuzzLibraryCache},
                                                            {"assembly", FuzzAssembly},
                                                            {"image", FuzzDataImage},
                                                            {"index", FuzzSourceIndex}}};

}  // namespace cohost::supervisor
