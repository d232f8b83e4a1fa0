// SPDX-License-Identifier: Apache-2.0
//
// The commands from the call to the file, over an admin server and a runtime that tests/fakes has
// made up.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <variant>

#include "base/system/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "supervisor/ctl/diagnostics/counters_command.h"
#include "supervisor/ctl/diagnostics/download_commands.h"
#include "tests/fakes/diagnostics_server.h"
#include "tests/supervisor/admin/admin_fixture.h"
#include "tests/supervisor/ctl/diagnostics/nettrace_bytes.h"

namespace cohost::supervisor {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class DiagnosticsCommands : public AdminFixture {
 protected:
  DiagnosticsCommands() : runtime_(folder_.path()) {
    host_.Change([this](HostSnapshot& host) {
      for (ServiceView& service : host.services) {
        if (service.group != "front") service.runtime = Runtime::kDotnet;
      }
      for (WorkerView& worker : host.workers) {
        worker.pid = ::getpid();
        worker.diagnostics_folder = folder_.path();
      }
    });
    AdminServerOptions options;
    options.dumps_folder = folder_ / "dumps";
    StartServer(std::move(options));
    auto connected = AdminClient::Connect(socket_path());
    client_ = std::move(std::get<std::unique_ptr<AdminClient>>(connected));
    std::filesystem::create_directory(files());
    invocation_.name = "catalog";
    invocation_.duration = absl::Milliseconds(100);
  }

  std::string files() const { return folder_ / "files"; }
  std::string file() const { return files() + "/got"; }
  std::string Content() const { return ReadRegularFile(file(), MiB(1)).value_or(""); }
  using Run = int (*)(const Invocation&, AdminClient&, const Look&, std::ostream&, std::ostream&);
  int Call(Run run) {
    if (run != RunCounters) invocation_.path = file();
    return run(invocation_, *client_, {}, out_, errors_);
  }

  FakeDiagnosticsServer runtime_;
  std::unique_ptr<AdminClient> client_;
  Invocation invocation_;
  std::ostringstream out_;
  std::ostringstream errors_;
};

TEST_F(DiagnosticsCommands, ADumpIsAFileOfItsOwnersAndSaysWhoIsInIt) {
  runtime_.set_dump("memory");
  EXPECT_EQ(Call(RunDump), 0) << errors_.str();
  EXPECT_EQ(Content(), "memory");
  struct stat info {};
  ASSERT_EQ(::stat(file().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_THAT(out_.str(), HasSubstr("core dump of worker steady-1/0"));
  EXPECT_THAT(out_.str(), HasSubstr("it holds all 2 services of that worker: catalog, currency"));
}

TEST_F(DiagnosticsCommands, TheKindOfDumpIsPassedOn) {
  invocation_.dump_kind = "full";
  EXPECT_EQ(Call(RunDump), 0) << errors_.str();
  ASSERT_EQ(runtime_.commands().size(), 1u);
  const std::string payload = runtime_.commands()[0].payload;
  EXPECT_EQ(payload[payload.size() - 8], 4);
}

TEST_F(DiagnosticsCommands, ADumpThatFailsLeavesNoFile) {
  runtime_.FailDumps("No space left on device (28)");
  EXPECT_EQ(Call(RunDump), 2);
  EXPECT_THAT(errors_.str(), HasSubstr("No space left on device"));
  EXPECT_TRUE(std::filesystem::is_empty(files()));
}

TEST_F(DiagnosticsCommands, ARefusalIsTheCallersFault) {
  invocation_.name = "orders";
  EXPECT_EQ(Call(RunDump), 1);
  EXPECT_THAT(errors_.str(), HasSubstr("native"));
  EXPECT_TRUE(std::filesystem::is_empty(files()));
}

TEST_F(DiagnosticsCommands, AFolderThatCannotBeWrittenIsSaid) {
  invocation_.name = "catalog";
  std::filesystem::remove(files());
  EXPECT_NE(Call(RunTrace), 0);
  EXPECT_THAT(errors_.str(), HasSubstr("files/got"));
}

TEST_F(DiagnosticsCommands, ATraceIsWholeAtItsEnd) {
  runtime_.set_stream("Nettrace");
  invocation_.providers = {{"My-Source", 0x1f, 5}};
  EXPECT_EQ(Call(RunTrace), 0) << errors_.str();
  EXPECT_THAT(Content(), AllOf(StartsWith("Nettrace"), HasSubstr("rundown;")));
  EXPECT_THAT(out_.str(), HasSubstr("trace of worker steady-1/0"));
  EXPECT_THAT(runtime_.commands()[0].payload, HasSubstr(Utf16Bytes("My-Source")));
}

TEST_F(DiagnosticsCommands, JsonNamesTheFileAndTheServices) {
  invocation_.output = OutputFormat::kJson;
  EXPECT_EQ(Call(RunDump), 0) << errors_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("\"currency\""), HasSubstr("\"worker\": \"steady-1/0\""),
                                HasSubstr("\"sizeBytes\": 6")));
}

TEST_F(DiagnosticsCommands, CountersAreShownIntervalByInterval) {
  NettraceBytes stream;
  stream.Kind(1, IncrementKind("System.Runtime"));
  stream.Event(1, IncrementPayload("alloc-rate", 10, 1));
  stream.Event(1, IncrementPayload("exception-count", 20, 1));
  stream.Event(1, IncrementPayload("alloc-rate", 30, 1));
  stream.End();
  runtime_.set_stream(stream.bytes());
  EXPECT_EQ(Call(RunCounters), 0) << errors_.str();
  const std::string shown = out_.str();
  EXPECT_THAT(shown, StartsWith("worker steady-1/0"));
  EXPECT_THAT(shown, HasSubstr("all of its services together (catalog, currency)"));
  EXPECT_THAT(shown,
              HasSubstr("catalog itself, since it was first deployed here: 1,234,570 requests"));
  const size_t second = shown.find("worker steady-1/0", 1);
  ASSERT_NE(second, std::string::npos) << shown;
  EXPECT_THAT(shown.substr(0, second), AllOf(HasSubstr("10  B/s"), HasSubstr("20  B/s")));
  EXPECT_THAT(shown.substr(second), HasSubstr("30  B/s"));
}

TEST_F(DiagnosticsCommands, CountersOfAStrangeStreamAreRefused) {
  runtime_.set_stream("no events");
  EXPECT_EQ(Call(RunCounters), 2);
  EXPECT_THAT(errors_.str(), HasSubstr(".nettrace"));
}

}  // namespace
}  // namespace cohost::supervisor
