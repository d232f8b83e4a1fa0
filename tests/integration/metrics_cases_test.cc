// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/supervisor/metrics/text_format.h"
#include "tests/support/http_client.h"
#include "tests/support/http_load.h"
#include "tests/support/test_host.h"
#include "tests/support/wait.h"

// Cases MET, and invariant 7, on the endpoint of a real host.
namespace cohost::testing {
namespace {

using supervisor::ParsedPage;
using supervisor::ParsePage;
using supervisor::Sample;

constexpr char kServices[] = R"(
groups:
  - {name: pair, match: {class: [latency]}, workers: 2}
services:
  - {name: a, runtime: native, module: "${echo}", listen: ["http://127.0.0.1:0"], load: {class: latency}}
  - {name: b, runtime: native, module: "${echo}", listen: ["http://127.0.0.1:0"]}
)";

ParsedPage Scrape(const TestHost& host) {
  std::string text;
  // While the supervisor is being replaced a scrape waits in the listener's queue; one that was
  // under way ends.
  Eventually([&] { return !(text = host.Metrics()).empty(); });
  const auto page = ParsePage(text);
  EXPECT_TRUE(page.ok()) << page.status();
  return page.ok() ? *page : ParsedPage();
}

std::string Series(const Sample& sample) {
  std::string text = sample.name;
  for (const auto& [name, value] : sample.labels) absl::StrAppend(&text, " ", name, "=", value);
  return text;
}

std::set<std::string> AllSeries(const ParsedPage& page) {
  std::set<std::string> series;
  for (const Sample& sample : page.samples) series.insert(Series(sample));
  return series;
}

bool IsCounter(const ParsedPage& page, const std::string& name) {
  const auto type = page.types.find(name);
  if (type != page.types.end()) return type->second == "counter";
  // Samples of a histogram have the family's name and a suffix.
  const auto family = page.types.find(name.substr(0, name.rfind('_')));
  return family != page.types.end() && family->second == "histogram";
}

std::map<std::string, double> Counters(const ParsedPage& page) {
  std::map<std::string, double> counters;
  for (const Sample& sample : page.samples) {
    if (IsCounter(page, sample.name)) counters[Series(sample)] = sample.value;
  }
  return counters;
}

void ExpectNoneFell(const std::map<std::string, double>& before,
                    const std::map<std::string, double>& after, const std::string& when) {
  for (const auto& [series, value] : before) {
    const auto found = after.find(series);
    ASSERT_NE(found, after.end()) << series << " is gone " << when;
    EXPECT_GE(found->second, value) << series << " fell " << when;
  }
}

// The case has 2,000 recycles; a label with a pid or a generation shows in the first.
TEST(MetricsCases, MET_03_ThirtyRecyclesMakeNoNewSeries) {
  const auto host = TestHost::StartOrDie({kServices, {}, {}});
  const std::set<std::string> before = AllSeries(Scrape(*host));
  ASSERT_GT(before.size(), 50u);
  for (int round = 0; round < 15; ++round) {
    const auto recycled = host->Recycle("pair");
    ASSERT_TRUE(recycled.ok()) << recycled.status();
    ASSERT_EQ(recycled->recycled_size(), 2) << host->Log();
  }
  const absl::Time begin = absl::Now();
  const std::set<std::string> after = AllSeries(Scrape(*host));
  EXPECT_LT(absl::Now() - begin, absl::Seconds(1));
  EXPECT_EQ(after, before);
  for (const std::string& series : after) {
    EXPECT_EQ(series.find(" pid="), std::string::npos) << series;
    EXPECT_EQ(series.find(" generation="), std::string::npos) << series;
  }
}

TEST(MetricsCases, MET_03_NoServiceHasMoreThanThirtySeries) {
  const auto host = TestHost::StartOrDie({kServices, {}, {}});
  const ParsedPage page = Scrape(*host);
  for (const char* service : {"a", "b"}) {
    size_t count = 0;
    for (const Sample& sample : page.samples) {
      const auto label = sample.labels.find("service");
      count += label != sample.labels.end() && label->second == service;
    }
    EXPECT_GT(count, 0u) << service;
    EXPECT_LE(count, 30u) << service;
  }
}

TEST(MetricsCases, NoCounterFallsOverRecyclesAndDeathsOfTheSupervisor) {
  const auto host = TestHost::StartOrDie({kServices, {}, {}});
  HttpLoad load({{host->Port("a"), host->Port("b")}, "/", 8, /*rate=*/500, true});
  std::map<std::string, double> before = Counters(Scrape(*host));
  ASSERT_GT(before.size(), 20u);
  const auto look = [&](const std::string& when) {
    const auto after = Counters(Scrape(*host));
    ExpectNoneFell(before, after, when);
    before = after;
  };
  for (int round = 0; round < 5; ++round) {
    const uint64_t answered = load.answered();
    ASSERT_TRUE(Eventually([&] { return load.answered() > answered + 200; }));
    look("under load");
    const auto recycled = host->Recycle("pair");
    ASSERT_TRUE(recycled.ok()) << recycled.status();
    look("after a recycle");
    const pid_t supervisor = host->SupervisorPid();
    ASSERT_EQ(kill(supervisor, SIGKILL), 0);
    look("right after the supervisor died");
    ASSERT_TRUE(Eventually([&] {
      const pid_t next = host->SupervisorPid();
      return next > 0 && next != supervisor;
    }));
    look("with the next supervisor");
    const pid_t worker = host->WorkerPids().at("pair/0");
    ASSERT_EQ(kill(worker, SIGKILL), 0);
    ASSERT_TRUE(Eventually([&] {
      const auto pids = host->WorkerPids();
      return pids.contains("pair/0") && pids.at("pair/0") != worker;
    }));
    look("after a worker's death");
  }
  load.Stop();
}

TEST(MetricsCases, PromtoolHasNothingToSayAboutARealHost) {
  const auto host = TestHost::StartOrDie({kServices, {}, {}});
  auto client = HttpClient::Connect(host->Port("a"));
  ASSERT_TRUE(client.ok());
  ASSERT_TRUE(client->Get("/").ok());
  const std::string page = host->folder() / "page";
  const std::string said = host->folder() / "said";
  std::ofstream(page) << host->Metrics();
  const int status =
      std::system(absl::StrCat("promtool check metrics < ", page, " > ", said, " 2>&1").c_str());
  std::stringstream text;
  text << std::ifstream(said).rdbuf();
  EXPECT_EQ(status, 0) << text.str();
  EXPECT_EQ(text.str(), "");
}

}  // namespace
}  // namespace cohost::testing
