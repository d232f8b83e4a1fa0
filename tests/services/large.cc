// SPDX-License-Identifier: Apache-2.0
//
// LARGE: a module of 8 MiB, all of which each start reads; 512 KiB of pointers that the loader
// relocates; 256 KiB of zeroed data, which each start fills. Answers the sum of what it read.
#include <array>
#include <cstdint>
#include <string>

#include "worker/sdk/cohost.hpp"

// A table of the compiler's would take it a minute.
asm(".pushsection .rodata\n"
    ".globl large_table\n"
    ".hidden large_table\n"
    ".balign 4096\n"
    "large_table: .fill 0x100000, 8, 1\n"
    ".popsection\n"
    ".pushsection .data.rel.ro, \"aw\"\n"
    ".globl large_pointers\n"
    ".hidden large_pointers\n"
    ".balign 4096\n"
    "large_pointers: .rept 0x10000\n"
    ".quad large_table\n"
    ".endr\n"
    ".popsection\n");

extern "C" {
extern const uint64_t large_table[0x100000];
extern const uint64_t* const large_pointers[0x10000];
}

namespace {

std::array<char, 256 << 10> zeroed;

class Large final : public cohost::Service {
 public:
  using Service::Service;

  void Start() override {
    for (const uint64_t& each : large_table) sum_ += each;
    for (const uint64_t* const& pointer : large_pointers) sum_ += pointer == large_table ? 0 : 1;
    zeroed.fill('x');
  }
  void Handle(cohost::Request request) override {
    request.Text(std::to_string(sum_) + " " + zeroed[zeroed.size() / 2] + "\n");
  }

 private:
  uint64_t sum_ = 0;
};

}  // namespace

COHOST_MODULE(Large, 0)
