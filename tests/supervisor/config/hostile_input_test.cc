// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <random>

#include "tests/supervisor/config/config_fixture.h"

namespace cohost::supervisor {
namespace {

using HostileInput = ConfigTest;

constexpr char kGood[] = R"(version: 1
host: {runtime_dir: run, metrics: {listen: "127.0.0.1:9464"}}
grouping: {worker_memory: 512Mi}
group_defaults: {workers: 2, recycle: {drain_timeout: 45s}}
groups:
  - name: steady
    match: {class: [steady, latency]}
services:
  - name: catalog
    module: m.so
    listen: ["http://localhost:8101", {address: "http+unix:/run/c.sock", mode: "0660"}]
    load: {class: bursty, cpu: 0.05, peak: "09:00-18:00"}
    limits: {request_timeout: 1m30s}
    warmup: [/]
    settings: {db: {password: "${file:/etc/x}"}, text: |
      several
      }
include: ["none/*.yaml"]
)";

// Every answer to bytes that somebody sends is a deployment or errors with their places.
void ExpectAnAnswer(const LoadResult& result, const std::string& text) {
  EXPECT_NE(result.deployment.has_value(), !result.errors.empty()) << text;
  for (const ConfigError& error : result.errors) {
    EXPECT_FALSE(error.message.empty()) << text;
    EXPECT_LT(error.message.size(), 1000u) << text;
  }
}

TEST_F(HostileInput, ChangedBytesNeverCrash) {
  const std::string bytes = "[]{}:,-?&*!|>'\"%@`#\\ \t\n\r~<.$0a\x7f\x80\xc3\xff";
  std::mt19937 random(20260101);  // NOLINT(cert-msc51-cpp): the same run every time
  for (int round = 0; round < 1500; ++round) {
    std::string text = kGood;
    const size_t changes = 1 + random() % 4;
    for (size_t i = 0; i < changes; ++i) {
      const size_t at = random() % text.size();
      const char byte = random() % 32 == 0 ? '\0' : bytes[random() % bytes.size()];
      switch (random() % 3) {
        case 0:
          text[at] = byte;
          break;
        case 1:
          text.insert(at, 1, byte);
          break;
        default:
          text.erase(at, 1 + random() % 5);
      }
    }
    ExpectAnAnswer(ParseDeployment(text, folder() + "/d.yaml"), text);
  }
}

TEST_F(HostileInput, EveryPrefixHasAnAnswer) {
  const std::string text = kGood;
  for (size_t length = 0; length < text.size(); length += 3) {
    const std::string prefix = text.substr(0, length);
    ExpectAnAnswer(ParseDeployment(prefix, folder() + "/d.yaml"), prefix);
  }
}

TEST_F(HostileInput, CFG_04_LargeFilesAreRefusedUnread) {
  const std::string path = Write("large.yaml", "version: 1\n");
  ASSERT_EQ(truncate(path.c_str(), off_t{200} << 20), 0);
  ExpectOnly(LoadDeployment(path), 0, 0, "", "longer than 4Mi");
  ExpectOnly(ParseDeployment(std::string((4 << 20) + 1, ' '), "sent.yaml"), 0, 0, "",
             "longer than 4194304 bytes");
}

}  // namespace
}  // namespace cohost::supervisor
