// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.h"
#include "tests/support/test_host.h"

namespace cohost::benchmarks {

// The example of deploy/examples/reference-data, 47 services, laid out in a temporary folder, with
// its ports moved to where all are free. Starts share a state folder, so that all but the first
// find the modules in the store.
class Example {
 public:
  Example();

  // `grouping` is the value of that key of the deployment.
  std::unique_ptr<testing::TestHost> Start(const std::string& grouping) const;
  const std::vector<uint16_t>& ports() const { return ports_; }

 private:
  testing::TemporaryFolder folder_;
  std::vector<uint16_t> ports_;  // of the services, with the offset
  uint16_t offset_ = 0;
};

// How the example groups its services: six groups.
inline constexpr char kExampleGrouping[] = "{strategy: load_profile, max_services_per_worker: 16}";

}  // namespace cohost::benchmarks
