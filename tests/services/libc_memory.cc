// SPDX-License-Identifier: Apache-2.0
//
// LIBC_MEMORY: frees memory that libc gave it (strdup, asprintf, getline, realpath, open_memstream)
// at every request, and answers "same" when malloc is the one of the program that loaded it,
// "other" when not.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "worker/sdk/cohost.hpp"

namespace {

// Everything that comes back in one piece, to be freed by whoever asked.
bool UseLibc() {
  char* copy = ::strdup("a text that is long enough not to be anywhere else");
  char* printed = nullptr;
  const int length = ::asprintf(&printed, "%s %d", copy, 42);
  char* path = ::realpath("/proc/self/exe", nullptr);
  char* line = nullptr;
  size_t room = 0;
  FILE* const file = std::fopen("/proc/self/status", "re");
  const bool read = file != nullptr && ::getline(&line, &room, file) > 0;
  if (file != nullptr) std::fclose(file);
  char* stream_text = nullptr;
  size_t stream_size = 0;
  FILE* const stream = ::open_memstream(&stream_text, &stream_size);
  for (int i = 0; i < 1000; ++i) std::fputs("many parts, so that it grows; ", stream);
  std::fclose(stream);
  const bool all = copy != nullptr && length > 0 && path != nullptr && read && stream_size == 30000;
  for (char* text : {copy, printed, path, line, stream_text}) std::free(text);
  return all;
}

class LibcMemory final : public cohost::Service {
 public:
  using Service::Service;
  void Handle(cohost::Request request) override {
    const bool same = reinterpret_cast<void*>(&std::malloc) == ::dlsym(RTLD_DEFAULT, "malloc");
    request.Text(!UseLibc() ? "failed\n" : same ? "same\n" : "other\n");
  }
};

}  // namespace

COHOST_MODULE(LibcMemory, COHOST_BLOCKING)
