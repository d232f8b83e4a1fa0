// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/diagnostics/counter_views.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cohost::supervisor {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class CounterViewsTest : public ::testing::Test {
 protected:
  CounterViewsTest() {
    worker_.set_group("steady-1");
    worker_.set_pid(123);
    worker_.add_services("catalog");
    worker_.add_services("orders");
    service_.set_name("orders");
    service_.set_requests(1234);
    service_.set_errors(2);
  }

  std::string View(const std::vector<CounterValue>& counters) const {
    return CountersView(worker_, counters, service_, {});
  }

  admin::v1::DiagnosedWorker worker_;
  admin::v1::Service service_;
};

TEST_F(CounterViewsTest, SaysThatCountersAreOfTheWholeWorkerAndWhatIsTheServicesOwn) {
  const std::string view =
      View({{"System.Runtime", "cpu-usage", "CPU Usage", "%", 1.25, false, 1}});
  EXPECT_THAT(view, StartsWith("worker steady-1/0, process 123: all of its services together "
                               "(catalog, orders)\n"));
  EXPECT_THAT(view, HasSubstr("CPU Usage   1.25  %     System.Runtime\n"));
  EXPECT_THAT(
      view,
      HasSubstr("orders itself, since it was first deployed here: 1,234 requests, 2 answered 5xx"));
}

TEST_F(CounterViewsTest, IncrementsAreRates) {
  EXPECT_THAT(View({{"P", "alloc-rate", "", "B", 1000, true, 0.5}}), HasSubstr("2000  B/s"));
  EXPECT_THAT(CountersJson(worker_, {{"P", "alloc-rate", "", "B", 1000, true, 0.5}}, service_,
                           absl::FromUnixSeconds(0)),
              HasSubstr("\"value\":2000"));
}

TEST_F(CounterViewsTest, AWorkersTextDoesNotReachTheTerminal) {
  EXPECT_THAT(View({{"P", "x", "\x1b[2J", "\n", 1, false, 1}}), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace cohost::supervisor
