// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "tests/support/test_host.h"

namespace cohost::testing {

// Folder of the program `dotnet`; empty when the build found no SDK.
std::string DotnetRoot();

// A fixture whose tests are skipped on a machine without .NET.
class DotnetTest : public ::testing::Test {
 protected:
  void SetUp() override;
};

// An application of //tests/worker/dotnet/apps and what it is started with, whoever starts it.
struct Application {
  struct Endpoint {
    std::string name;  // in Kestrel:Endpoints
    std::string scheme = "http";
  };
  std::string name;
  std::map<std::string, std::string> environment{};
  std::vector<std::string> arguments{};
  std::vector<std::string> persist{};
  // For one with several of its own.
  std::vector<Endpoint> endpoints{};
};
void PrintTo(const Application& application, std::ostream* out);

// Where it was built: its main assembly is NAME.dll in this folder.
std::string ApplicationFolder(const std::string& name);

// Makes `folder` a copy of it. No hard links: whoever publishes the built one meanwhile would see
// it change.
void LayOut(const std::string& name, const std::string& folder);

// "127.0.0.1:4711" of each endpoint, by the name of the service.
using Addresses = std::map<std::string, std::vector<std::string>>;

// The line of a service in `services:`; `more`: further keys ("limits: {concurrency: 4}");
// `folder`: where the application is, if not where it was built.
std::string ServiceLine(const Application& application, const std::string& service,
                        const std::string& more = "", const std::string& folder = "");

// As TestHost::StartOrDie, with the worker and its managed part where workers of another user can
// read them. Without further `host` keys nothing is precompiled: that takes minutes.
std::unique_ptr<TestHost> StartDotnetHost(const std::string& deployment,
                                          const std::vector<std::string>& environment = {},
                                          const std::string& host = "dotnet: {precompile: off}");

}  // namespace cohost::testing
