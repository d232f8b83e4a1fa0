// SPDX-License-Identifier: Apache-2.0
//
// Looking into a worker of a whole host that .NET runs in, as operators do, by cohostctl; the
// worker is another user's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "supervisor/ctl/diagnostics/nettrace_reader.h"
#include "tests/support/http_client.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_process.h"
#include "tests/support/wait.h"
#include "tests/worker/dotnet/applications.h"

namespace cohost::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

struct Outcome {
  int exit_code = -1;
  std::string text;  // standard output and error
};

std::string ContentOf(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

class Diagnostics : public DotnetTest {
 protected:
  // Two applications in one worker.
  void Start(const std::string& group = "{name: all}") {
    host_ = StartDotnetHost(
        absl::StrCat("groups:\n  - ", group, "\nservices:\n",
                     ServiceLine({.name = "Minimal"}, "one", "group: all, isolation: shared"),
                     ServiceLine({.name = "Faulty"}, "two", "group: all, isolation: shared")));
    ASSERT_TRUE(host_->WaitUntilReady()) << host_->Log();
  }

  Outcome Ctl(const std::vector<std::string>& arguments) {
    const std::string command =
        absl::StrCat(ProgramPath("supervisor/ctl/cohostctl"), " --socket ", host_->admin_socket(),
                     " ", absl::StrJoin(arguments, " "), " 2>&1");
    Outcome outcome;
    FILE* const pipe = ::popen(command.c_str(), "re");
    if (pipe == nullptr) return outcome;
    char part[4096];
    for (size_t size; (size = std::fread(part, 1, sizeof(part), pipe)) > 0;) {
      outcome.text.append(part, size);
    }
    const int status = ::pclose(pipe);
    if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
    return outcome;
  }

  pid_t Worker() const { return host_->WorkerPids().at("all/0"); }
  std::string WorkerFolders() const { return host_->folder() / "run/workers"; }
  // What the names of everything have in common that the runtime of a process makes: its number
  // and when it was started, since files of others with its number may have been left.
  static std::string MarkOf(pid_t pid) {
    const std::string stat = ContentOf(absl::StrCat("/proc/", pid, "/stat"));
    const std::vector<std::string> fields = absl::StrSplit(stat.substr(stat.rfind(')') + 2), ' ');
    return absl::StrCat("-", pid, "-", fields.at(19), "-");
  }
  // Where it is in `folder` or a folder in it.
  static std::vector<std::string> MadeBy(const std::string& mark, const std::string& folder,
                                         int depth = 1) {
    std::vector<std::string> made;
    std::error_code error;  // entries of other tests come and go
    for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
      const std::string path = entry->path();
      std::error_code ignored;
      if (depth > 0 && entry->is_directory(ignored)) {
        for (std::string& inner : MadeBy(mark, path, depth - 1)) made.push_back(std::move(inner));
      } else if (path.find(mark) != std::string::npos) {
        made.push_back(path);
      }
    }
    return made;
  }

  std::unique_ptr<TestHost> host_;
  TemporaryFolder files_;
};

TEST_F(Diagnostics, ADumpIsACoreOfTheWorkerAndNamesAllItsServices) {
  Start();
  if (HasFatalFailure()) return;
  const std::string file = files_ / "one.dmp";
  const Outcome outcome = Ctl({"dump", "one", file, "--kind", "mini"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.text << host_->Log();
  EXPECT_THAT(outcome.text, HasSubstr("it holds all 2 services of that worker: one, two"));
  struct stat info {};
  ASSERT_EQ(::stat(file.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_EQ(ContentOf(file).substr(0, 4),
            "\x7f"
            "ELF");
  EXPECT_TRUE(std::filesystem::is_empty(host_->folder() / "state/dumps"));
}

TEST_F(Diagnostics, ATraceHasTheStacksOfTheWorkersThreads) {
  Start();
  if (HasFatalFailure()) return;
  const std::string file = files_ / "one.nettrace";
  const Outcome outcome = Ctl({"trace", "one", "--duration", "500ms", file});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.text << host_->Log();
  std::set<std::string> providers;
  supervisor::NettraceReader reader([&](const supervisor::EventKind& kind, std::string_view) {
    providers.insert(kind.provider);
  });
  const absl::Status read = reader.Feed(ContentOf(file));
  EXPECT_TRUE(read.ok()) << read;
  EXPECT_TRUE(reader.ended());
  EXPECT_THAT(providers, AllOf(Contains("Microsoft-DotNETCore-SampleProfiler"),
                               Contains("Microsoft-Windows-DotNETRuntimeRundown")));
}

TEST_F(Diagnostics, CountersAreTheRuntimesAndAspNetCores) {
  Start();
  if (HasFatalFailure()) return;
  const Outcome outcome = Ctl({"counters", "two", "--interval", "300ms", "--duration", "2s"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.text << host_->Log();
  EXPECT_THAT(outcome.text, HasSubstr("all of its services together (one, two)"));
  EXPECT_THAT(outcome.text, HasSubstr("GC Heap Size"));
  EXPECT_THAT(outcome.text, HasSubstr("Microsoft.AspNetCore.Hosting"));
  EXPECT_THAT(outcome.text, HasSubstr("two itself, since it was first deployed here"));
}

TEST_F(Diagnostics, TheSocketIsInAFolderThatGoesWithTheWorker) {
  Start();
  if (HasFatalFailure()) return;
  const pid_t worker = Worker();
  const std::string mark = MarkOf(worker);
  const std::vector<std::string> sockets = MadeBy(mark, WorkerFolders());
  EXPECT_THAT(sockets, Contains(HasSubstr("/dotnet-diagnostic-")));
  for (const std::string& socket : sockets) {
    struct stat info {};
    ASSERT_EQ(::stat(socket.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0077, 0u) << socket;
  }
  EXPECT_TRUE(MadeBy(mark, "/tmp", 0).empty());
  ASSERT_EQ(::kill(worker, SIGKILL), 0);
  EXPECT_TRUE(Eventually([&] { return MadeBy(mark, WorkerFolders()).empty(); }));
  ASSERT_TRUE(host_->WaitUntilReady()) << host_->Log();
  ASSERT_TRUE(Eventually([&] {
    return Ctl({"dump", "one", "--kind", "mini", files_ / "new.dmp"}).exit_code == 0;
  }));
}

TEST_F(Diagnostics, ApplicationsKeepTheirFolderOfTemporaryFiles) {
  Start();
  if (HasFatalFailure()) return;
  auto client = HttpClient::Connect(host_->Port("two"));
  ASSERT_TRUE(client.ok()) << client.status();
  ASSERT_TRUE(client->Send("GET /temporary HTTP/1.1\r\nHost: a\r\n\r\n").ok());
  const auto answer = client->Receive();
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->body, "/tmp/");
}

TEST_F(Diagnostics, OffThereIsNoSocketAndTheCommandsSaySo) {
  Start("{name: all, dotnet: {diagnostics: false}}");
  if (HasFatalFailure()) return;
  EXPECT_TRUE(MadeBy(MarkOf(Worker()), WorkerFolders()).empty());
  EXPECT_TRUE(MadeBy(MarkOf(Worker()), "/tmp", 0).empty());
  const Outcome outcome = Ctl({"counters", "one"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.text, HasSubstr("diagnostics: false"));
}

TEST_F(Diagnostics, AWorkerThatDiesDuringATraceIsTold) {
  Start();
  if (HasFatalFailure()) return;
  const std::string file = files_ / "one.nettrace";
  const pid_t worker = Worker();
  std::thread killer([&] {
    // Once the trace runs: its event comes before.
    EXPECT_TRUE(Eventually([&] {
      const auto events = host_->Events();
      return std::any_of(events.begin(), events.end(),
                         [](const auto& event) { return event.kind() == "diagnostics"; });
    }));
    EXPECT_EQ(::kill(worker, SIGKILL), 0);
  });
  const Outcome outcome = Ctl({"trace", "one", "--duration", "1h", file});
  killer.join();
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.text, HasSubstr("has ended"));
  EXPECT_TRUE(std::filesystem::is_empty(files_.path()));
}

TEST_F(Diagnostics, ATraceEndsWithItsCaller) {
  Start();
  if (HasFatalFailure()) return;
  // The runtime has room for few sessions: each of these is ended, or they run out.
  for (int traces = 0; traces < 70;) {
    const auto stub = host_->Connect();
    admin::v1::TraceWorkerRequest request;
    request.set_service("one");
    request.set_without_rundown(true);
    request.add_providers()->set_name("System.Runtime");
    grpc::ClientContext context;
    const auto reader = stub->TraceWorker(&context, request);
    admin::v1::DiagnosticsPart part;
    bool streams = false;
    while (!streams && reader->Read(&part)) streams = !part.data().empty();
    context.TryCancel();
    const grpc::Status end = reader->Finish();
    // Those before are just ending.
    if (end.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED) continue;
    ASSERT_TRUE(streams) << traces << ": " << end.error_message();
    ++traces;
  }
}

}  // namespace
}  // namespace cohost::testing
