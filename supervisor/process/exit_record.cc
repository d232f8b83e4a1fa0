// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "supervisor/process/process_launcher.h"

namespace cohost::supervisor {

std::string DescribeExit(const ExitRecord& record) {
  std::string text;
  if (record.exit_code.has_value()) {
    text = absl::StrCat("exit code ", *record.exit_code);
  } else if (record.signal.has_value()) {
    const char* name = sigabbrev_np(*record.signal);
    text = absl::StrCat("signal ", *record.signal);
    if (name != nullptr) absl::StrAppend(&text, " (SIG", name, ")");
  } else {
    text = "unknown";
  }
  if (record.out_of_memory) text += ", out of memory";
  return text;
}

}  // namespace cohost::supervisor
