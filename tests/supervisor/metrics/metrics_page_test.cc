// SPDX-License-Identifier: Apache-2.0
#include "supervisor/metrics/metrics_page.h"

#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "supervisor/metrics/names.h"
#include "tests/fakes/host_control.h"
#include "tests/supervisor/metrics/text_format.h"

namespace cohost::supervisor {
namespace {

using testing::HasSubstr;
using testing::Not;

// A page over a host that the test changes.
class MetricsPageTest : public testing::Test {
 protected:
  ParsedPage Parse() {
    auto parsed = ParsePage(Text());
    EXPECT_TRUE(parsed.ok()) << parsed.status();
    return parsed.ok() ? *parsed : ParsedPage();
  }
  std::string Text() {
    snapshot_ = std::make_shared<const HostSnapshot>(host_);
    return *page_.Render();
  }

  HostSnapshot host_ = SampleHost();
  std::shared_ptr<const HostSnapshot> snapshot_;
  MetricsPage page_{[this] { return snapshot_; }, "1.2.3"};
};

// What promtool says about the page; empty: nothing.
std::string CheckWithPromtool(const std::string& page, int* exit_code) {
  const std::string folder = testing::TempDir();
  std::ofstream(folder + "/page") << page;
  const std::string command =
      "promtool check metrics < " + folder + "/page > " + folder + "/said 2>&1";
  const int status = std::system(command.c_str());
  *exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  std::stringstream said;
  said << std::ifstream(folder + "/said").rdbuf();
  return said.str();
}

TEST_F(MetricsPageTest, PromtoolHasNothingToSay) {
  host_.services[0].metrics = {{"cache_hits", true, 12}, {"cache_entries", false, 3}};
  int exit_code = -1;
  const std::string said = CheckWithPromtool(Text(), &exit_code);
  EXPECT_EQ(exit_code, 0) << "is promtool (package prometheus) installed? It said: " << said;
  EXPECT_EQ(said, "");
}

TEST_F(MetricsPageTest, PromtoolWouldSaySomething) {
  int exit_code = -1;
  EXPECT_THAT(CheckWithPromtool("# TYPE bad counter\nbad 1\n", &exit_code),
              HasSubstr("counter metrics should have \"_total\" suffix"));
}

TEST_F(MetricsPageTest, RequestsByCodeClassAndTheHistogram) {
  host_.services[0].totals.answered = {1, 0, 200, 0, 4, 5};
  host_.services[0].totals.latency = {100, 50, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7};
  host_.services[0].totals.latency_sum_ns = 2'500'000'000;
  const ParsedPage page = Parse();
  const auto requests = [&](const std::string& code_class) {
    return page.Value("cohost_service_requests_total",
                      {{"service", "catalog"}, {"code_class", code_class}});
  };
  EXPECT_EQ(requests("2xx"), 200);
  EXPECT_EQ(requests("5xx"), 5);
  EXPECT_EQ(requests("none"), 1);
  const std::string name = "cohost_service_request_duration_seconds";
  EXPECT_EQ(page.Find(name + "_bucket", {{"service", "catalog"}}).size(), 13u);
  const auto bucket = [&](const std::string& bound) {
    return page.Value(name + "_bucket", {{"service", "catalog"}, {"le", bound}});
  };
  EXPECT_EQ(bucket("0.0005"), 100);
  EXPECT_EQ(bucket("30"), 150);
  EXPECT_EQ(bucket("+Inf"), 157);
  EXPECT_EQ(page.Value(name + "_count", {{"service", "catalog"}}), 157);
  EXPECT_EQ(page.Value(name + "_sum", {{"service", "catalog"}}), 2.5);
}

TEST_F(MetricsPageTest, LabelsAreThoseOfTheManual) {
  const ParsedPage page = Parse();
  for (const Sample& sample : page.samples) {
    std::vector<std::string> labels;
    for (const auto& [name, value] : sample.labels) labels.push_back(name);
    const bool of_service = sample.name.rfind("cohost_service_", 0) == 0;
    if (sample.name == "cohost_service_info") {
      EXPECT_THAT(labels, testing::ElementsAre("group", "revision", "runtime", "service"));
    } else if (of_service) {
      for (const std::string& label : labels) {
        EXPECT_THAT(label, testing::AnyOf("service", "code_class", "le")) << sample.name;
      }
    }
    EXPECT_THAT(labels, Not(testing::Contains("pid")));
    EXPECT_THAT(labels, Not(testing::Contains("generation")));
  }
  EXPECT_EQ(page.Value("cohost_service_info", {{"service", "catalog"},
                                               {"group", "steady-1"},
                                               {"runtime", "native"},
                                               {"revision", "3"}}),
            1);
  EXPECT_EQ(page.Value("cohost_build_info", {{"version", "1.2.3"}}), 1);
}

TEST_F(MetricsPageTest, AtMostThirtySeriesAService) {
  const ParsedPage page = Parse();
  int series = 0;
  for (const Sample& sample : page.samples) {
    const auto service = sample.labels.find("service");
    series += service != sample.labels.end() && service->second == "catalog" ? 1 : 0;
  }
  EXPECT_GT(series, 20);
  EXPECT_LE(series, kMostSeriesPerService);
}

TEST_F(MetricsPageTest, OneStateOfAWorkerIsSet) {
  host_.workers[0].status = WorkerStatus::kBackoff;
  const ParsedPage page = Parse();
  double sum = 0;
  const auto states = page.Find("cohost_worker_state", {{"group", "batch-1"}, {"slot", "0"}});
  EXPECT_EQ(states.size(), 8u);
  for (const Sample& state : states) sum += state.value;
  EXPECT_EQ(sum, 1);
  EXPECT_EQ(page.Value("cohost_worker_state",
                       {{"group", "batch-1"}, {"slot", "0"}, {"state", "backoff"}}),
            1);
  EXPECT_EQ(page.Value("cohost_worker_restarts_total",
                       {{"group", "batch-1"}, {"slot", "0"}, {"reason", "crash"}}),
            3);
}

TEST_F(MetricsPageTest, WhileTwoGenerationsOverlapTheSlotIsOneSeries) {
  WorkerView next = host_.workers[0];
  host_.workers[0].status = WorkerStatus::kReady;
  next.generation = 5;
  next.status = WorkerStatus::kStarting;
  host_.workers.insert(host_.workers.begin() + 1, next);
  const ParsedPage page = Parse();
  const std::map<std::string, std::string> slot = {{"group", "batch-1"}, {"slot", "0"}};
  EXPECT_EQ(page.Value("cohost_worker_pss_bytes", slot), 2 * 1'830'000);
  EXPECT_EQ(
      page.Value("cohost_worker_state", {{"group", "batch-1"}, {"slot", "0"}, {"state", "ready"}}),
      1);
}

TEST_F(MetricsPageTest, CpuOfASlotNeverFalls) {
  const std::map<std::string, std::string> slot = {{"group", "batch-1"}, {"slot", "0"}};
  const auto cpu = [&] { return Parse().Value("cohost_worker_cpu_seconds_total", slot); };
  host_.workers[0].cpu = absl::Seconds(10);
  EXPECT_EQ(cpu(), 10);
  host_.workers[0].generation = 5;
  host_.workers[0].cpu = absl::Seconds(1);
  EXPECT_EQ(cpu(), 11);
  const WorkerView worker = host_.workers[0];
  host_.workers.erase(host_.workers.begin());
  Parse();
  host_.workers.insert(host_.workers.begin(), worker);
  host_.workers[0].generation = 6;
  host_.workers[0].cpu = absl::Seconds(2);
  EXPECT_EQ(cpu(), 13);
}

TEST_F(MetricsPageTest, Met02WhateverANameHoldsThePageParses) {
  const std::vector<std::string> names = {"quote\"",
                                          "back\\slash",
                                          "new\nline",
                                          "} 1\ncohost_false_total 7",
                                          "broken \xff\xc3 utf-8",
                                          "",
                                          std::string(10240, 'x')};
  for (const std::string& name : names) {
    host_ = SampleHost();
    host_.services[0].name = name;
    host_.services[0].description = name;
    host_.services[0].group = name;
    host_.groups[0].name = name;
    host_.workers[0].group = name;
    host_.services[1].metrics = {{name, true, 1}, {name, false, 2}};
    const ParsedPage page = Parse();
    EXPECT_TRUE(page.Find("cohost_false_total").empty());
    EXPECT_EQ(page.Find("cohost_service_ready").size(), 5u);
    int exit_code = -1;
    CheckWithPromtool(Text(), &exit_code);
    EXPECT_EQ(exit_code, 0) << name;
  }
}

TEST_F(MetricsPageTest, Met02NoHelpHasALineEnd) {
  for (const MetricName& name : {kServiceInfo, kServiceDuration, kWorkerState, kStoreSize}) {
    EXPECT_EQ(name.help.find('\n'), std::string_view::npos);
  }
  EXPECT_THAT(Text(), Not(HasSubstr("\n\n")));
}

TEST_F(MetricsPageTest, Met03TwoThousandRecyclesMakeNoNewSeries) {
  const size_t before = Parse().samples.size();
  for (uint32_t i = 0; i < 2000; ++i) {
    WorkerView& worker = host_.workers[i % host_.workers.size()];
    ++worker.generation;
    worker.pid = static_cast<pid_t>(30000 + i);
    ++worker.restarts[1 + i % (kRecycleReasons - 1)];
    if (i % 100 == 0) Text();
  }
  EXPECT_EQ(Parse().samples.size(), before);
}

TEST_F(MetricsPageTest, Met03OfTwoTypesForOneNameTheFirstWins) {
  host_.services[0].metrics = {{"size_total", true, 1}};
  host_.services[1].metrics = {{"size_total", false, 2}, {"depth", false, 4}};
  host_.services[2].metrics = {{"size", true, 3}, {"depth", true, 5}};
  host_.services[3].metrics = {{"depth", false, 6}, {"depth", false, 7}, {"9bad", false, 8}};
  const ParsedPage page = Parse();
  EXPECT_EQ(page.Value("cohost_module_size_total", {{"service", "catalog"}}), 1);
  EXPECT_EQ(page.Value("cohost_module_size_total", {{"service", "invoices"}}), 3);
  EXPECT_EQ(page.Value("cohost_module_depth", {{"service", "currency"}}), 4);
  EXPECT_EQ(page.Value("cohost_module_depth_total", {{"service", "invoices"}}), 5);
  EXPECT_EQ(page.Value("cohost_module_depth", {{"service", "orders"}}), 6);
  // A gauge named as a counter, one series twice, and a bad name.
  EXPECT_EQ(page.Value("cohost_module_metric_conflicts", {}), 3);
}

TEST_F(MetricsPageTest, Met03AThousandServicesAreAPageOfAFewMegabytesInTime) {
  host_ = LargeHost(1000);
  snapshot_ = std::make_shared<const HostSnapshot>(host_);
  timespec before{};
  timespec after{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
  const auto text = page_.Render();
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
  const double seconds = static_cast<double>(after.tv_sec - before.tv_sec) +
                         static_cast<double>(after.tv_nsec - before.tv_nsec) * 1e-9;
  RecordProperty("milliseconds", std::to_string(seconds * 1e3));
  // Unoptimised, with sanitizers and on a busy machine; 50 ms optimised (tests/benchmarks).
  EXPECT_LT(seconds, 1.0);
  EXPECT_LT(text->size(), 6u << 20);
  EXPECT_TRUE(ParsePage(*text).ok());
}

TEST_F(MetricsPageTest, OneSnapshotIsRenderedOnce) {
  snapshot_ = std::make_shared<const HostSnapshot>(host_);
  const auto first = page_.Render();
  EXPECT_EQ(page_.Render(), first);
  snapshot_ = std::make_shared<const HostSnapshot>(host_);
  EXPECT_NE(page_.Render(), first);
}

}  // namespace
}  // namespace cohost::supervisor
