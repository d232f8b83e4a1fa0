// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <utility>

#include "supervisor/config/deployment.h"

namespace cohost::supervisor {

// A valid deployment in which no value is the default; every module is `module`, an absolute path.
Deployment DeploymentOfEverything(const std::string& module);

// Valid deployments without end, the same for the same seed.
class RandomDeployments {
 public:
  RandomDeployments(uint32_t seed, std::string module)
      : random_(seed), module_(std::move(module)) {}

  Deployment Next();

 private:
  // Both inclusive.
  uint64_t Number(uint64_t least, uint64_t most);
  bool Coin() { return Number(0, 1) == 1; }
  double Fraction(double most);
  absl::Duration Time(absl::Duration least, absl::Duration most);
  // Any text, of pieces that are hard to write.
  std::string Text();
  std::string Line();
  LoadClass Class();
  GroupPolicy Policy();
  Address Listen(size_t index);
  Service NextService(size_t index);
  void MakeDotnet(Service& service);

  std::mt19937_64 random_;
  const std::string module_;
};

}  // namespace cohost::supervisor
