// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace cohost {

// Collects records and lays them out as a data image (format: base/format/data_image.h). The same
// records give the same bytes, whatever the order of Add. One thread at a time.
class DataImageBuilder {
 public:
  // `name` is for people, at most 32 bytes.
  explicit DataImageBuilder(std::string name) : name_(std::move(name)) {}

  void Add(std::string key, std::string value) {
    records_.emplace_back(std::move(key), std::move(value));
  }
  size_t size() const { return records_.size(); }

  // The file's content. ALREADY_EXISTS when two records have one key, INVALID_ARGUMENT when the
  // name, a key or a value is too long for its field. The builder is empty afterwards.
  absl::StatusOr<std::string> Build();

 private:
  const std::string name_;
  std::vector<std::pair<std::string, std::string>> records_;
};

// Checks everything that base/format/data_image.h promises, checksum, order, fences and padding
// included, with pread(2) and less than a MiB of memory. DATA_LOSS naming what is wrong. The caller
// makes sure that nobody changes the file meanwhile.
absl::Status VerifyDataImage(int fd);

}  // namespace cohost
