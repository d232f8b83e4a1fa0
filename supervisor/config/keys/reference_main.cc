// SPDX-License-Identifier: Apache-2.0
//
// Prints the key reference of deploy/README.md, or with `schema` the JSON Schema.
#include <cstdio>
#include <string>
#include <string_view>

#include "supervisor/config/keys/reference.h"
#include "supervisor/config/keys/schema.h"

int main(int argc, char** argv) {
  const bool schema = argc == 2 && std::string_view(argv[1]) == "schema";
  if (argc > 1 && !schema) {
    std::fputs("usage: reference [schema]\n", stderr);
    return 1;
  }
  const std::string text =
      schema ? cohost::supervisor::SchemaJson() : cohost::supervisor::ReferenceMarkdown();
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() ? 0 : 2;
}
