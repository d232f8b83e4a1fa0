// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/deployment_loader.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "tests/supervisor/config/config_fixture.h"

namespace cohost::supervisor {
namespace {

using LoadDeploymentTest = ConfigTest;

constexpr char kWhole[] = R"(version: 1
host:
  runtime_dir: run
  state_dir: /var/lib/example
  metrics: {listen: "127.0.0.1:9464"}
grouping: {max_services_per_worker: 20, worker_memory: 512Mi, worker_cpu: 2}
group_defaults:
  workers: 2
  limits: {open_files: 1024}
groups:
  - name: steady
    match: {class: [steady, latency]}
    limits: {memory: 512Mi, cpu: 1.5, tasks: 256}
    recycle: {drain_timeout: 45s}
    health: {interval: 1s, start_timeout: 20s}
    stop_timeout: 3s
    log: {size: 1Mi, files: 2}
  - name: other
    workers: 3
services:
  - name: catalog
    description: What the shop sells
    runtime: native
    module: m.so
    data_images: {words: m.so}
    listen: ["http://localhost:8101", {address: "http+unix:/run/shop/catalog.sock", mode: "0660"}]
    load: {class: bursty, requests_per_second: 40, cpu: 0.05, memory: 8Mi, peak: "09:00-18:00"}
    limits: {concurrency: 32, queue: 0, request_timeout: 1m30s, memory: 32Mi}
    health: {path: /healthz, interval: 2s}
    warmup: [/, "/items/1?all"]
    settings: {currency: EUR, db: {password: "${file:/etc/x}"}, hosts: [a, b], zip: 01234}
    instances: one
    overlap: false
    access_log: true
  - {name: second, module: m.so, listen: ["http://[::1]:0"], group: other}
)";

TEST_F(LoadDeploymentTest, ReadsEveryKindOfValue) {
  const LoadResult result = LoadText(kWhole);
  ASSERT_TRUE(result.deployment.has_value()) << AllErrors(result);
  const Deployment& deployment = *result.deployment;
  EXPECT_EQ(deployment.host.runtime_dir, folder() + "/run");
  EXPECT_EQ(deployment.host.admin.path, folder() + "/run/admin.sock");
  EXPECT_EQ(deployment.host.metrics->Key(), "tcp:127.0.0.1:9464");
  EXPECT_EQ(deployment.grouping.worker_memory, MiB(512));
  EXPECT_EQ(deployment.grouping.worker_cpu, 2.0);
  ASSERT_EQ(deployment.services.size(), 2u);
  const Service& service = deployment.services[0];
  EXPECT_EQ(service.name, "catalog");
  EXPECT_EQ(service.module, folder() + "/m.so");
  EXPECT_EQ(service.data_images.at("words"), folder() + "/m.so");
  EXPECT_EQ(service.load.load_class, LoadClass::kBursty);
  EXPECT_EQ(service.load.peak->begin.minutes, 9 * 60);
  EXPECT_EQ(service.limits.queue, 0u);
  EXPECT_EQ(service.limits.request_timeout, absl::Seconds(90));
  EXPECT_EQ(service.limits.body_size, MiB(8));
  EXPECT_EQ(service.warmup, (std::vector<std::string>{"/", "/items/1?all"}));
  EXPECT_EQ(service.settings, (Settings{{"currency", "EUR"},
                                        {"db:password", "${file:/etc/x}"},
                                        {"hosts:0", "a"},
                                        {"hosts:1", "b"},
                                        {"zip", "01234"}}));
  EXPECT_EQ(service.instances, Instances::kOne);
  EXPECT_FALSE(service.overlap);
  EXPECT_TRUE(service.access_log);
  EXPECT_EQ(result.files, std::vector<std::string>{folder() + "/d.yaml"});
}

TEST_F(LoadDeploymentTest, ReadsBothFormsOfAnAddress) {
  const LoadResult result = LoadText(kWhole);
  ASSERT_TRUE(result.deployment.has_value()) << AllErrors(result);
  const std::vector<Address>& listen = result.deployment->services[0].listen;
  ASSERT_EQ(listen.size(), 2u);
  EXPECT_EQ(listen[0].text, "http://127.0.0.1:8101");
  EXPECT_EQ(listen[0].mode, 0600u);
  EXPECT_EQ(listen[1].path, "/run/shop/catalog.sock");
  EXPECT_EQ(listen[1].mode, 0660u);
}

TEST_F(LoadDeploymentTest, GroupsStartFromTheDefaults) {
  const LoadResult result = LoadText(kWhole);
  ASSERT_TRUE(result.deployment.has_value()) << AllErrors(result);
  const Group& steady = result.deployment->groups[0];
  EXPECT_EQ(steady.match, (std::vector<LoadClass>{LoadClass::kSteady, LoadClass::kLatency}));
  EXPECT_EQ(steady.policy.workers, 2u);
  EXPECT_EQ(steady.policy.limits.open_files, 1024u);
  EXPECT_EQ(steady.policy.limits.memory, MiB(512));
  EXPECT_EQ(steady.policy.drain_timeout, absl::Seconds(45));
  EXPECT_EQ(steady.policy.log_files, 2u);
  EXPECT_EQ(result.deployment->groups[1].policy.workers, 3u);
  EXPECT_EQ(result.deployment->group_defaults.workers, 2u);
}

TEST_F(LoadDeploymentTest, IncludedFilesAddServicesAndGroups) {
  Write("services.d/b.yaml",
        "services: [{name: b, module: ../m.so, listen: [\"http://127.0.0.1:8002\"]}]\n");
  Write("services.d/c.yaml",
        "groups: [{name: g}]\nservices:\n"
        "- {name: c, group: g, module: ../m.so, listen: [\"http://127.0.0.1:8003\"]}\n");
  Write("services.d/ignored.yaml~", "not yaml: [");
  const LoadResult result = LoadText(OneService("include: [\"services.d/*.yaml\"]\n"));
  ASSERT_TRUE(result.deployment.has_value()) << AllErrors(result);
  ASSERT_EQ(result.deployment->services.size(), 3u);
  EXPECT_EQ(result.deployment->services[1].name, "b");
  EXPECT_EQ(result.deployment->services[1].module, folder() + "/services.d/../m.so");
  EXPECT_EQ(result.files.size(), 3u);
}

TEST_F(LoadDeploymentTest, IncludesThatCannotBe) {
  ExpectOnly(LoadText(OneService("include: [none.yaml]\n")), 6, 11, "include[0]",
             "No such file or directory");
  ExpectOnly(LoadText(OneService("include: [\"*/x.yaml\"]\n")), 6, 11, "include[0]",
             "wildcards stand in the last part");
  // A pattern that matches the file itself is a cycle.
  ExpectOnly(LoadText(OneService("include: [\"*.yaml\"]\n")), 6, 11, "include[0]",
             "is part of the deployment already");
  EXPECT_TRUE(LoadText(OneService("include: [\"none/*.yaml\"]\n")).deployment.has_value());
}

TEST_F(LoadDeploymentTest, IncludedFilesHaveServicesAndGroupsOnly) {
  const std::string path = Write("more.yml", "host: {state_dir: /x}\n");
  const LoadResult result = LoadText(OneService("include: [more.yml]\n"));
  ExpectOnly(result, 1, 1, "host", "unknown key");
  EXPECT_EQ(result.errors[0].file, path);
}

TEST_F(LoadDeploymentTest, AnErrorOfAnyFileIsReportedInOneRun) {
  Write("more.yml", "services:\n- {name: b, modul: m.so}\n");
  const LoadResult result = LoadText(OneService("  overlap: on\ninclude: [more.yml]\n"));
  EXPECT_EQ(result.errors.size(), 4u) << AllErrors(result);
  ExpectError(result, 6, 12, "services[0].overlap", "write true");
  ExpectError(result, 2, 13, "services[0].modul", "did you mean 'module'?");
  ExpectError(result, 2, 3, "services[0]", "key 'module' is missing");
  ExpectError(result, 2, 3, "services[0]", "key 'listen' is missing");
  EXPECT_EQ(result.errors[0].file, folder() + "/d.yaml");
  EXPECT_EQ(result.errors[3].file, folder() + "/more.yml");
}

TEST_F(LoadDeploymentTest, OptionsOverrideTheFile) {
  LoadOptions options;
  options.runtime_dir = "/run/other/";
  options.state_dir = "/state/other";
  options.port_offset = 1000;
  const LoadResult result = LoadText(
      "version: 1\nhost: {runtime_dir: /run/x, metrics: {listen: \"127.0.0.1:9464\"}}\nservices:\n"
      "- {name: a, module: m.so, listen: [\"http://127.0.0.1:0\", \"http://127.0.0.1:80\", "
      "\"http+unix:/run/x/a.sock\", \"http+unix:/run/xy.sock\"]}\n",
      options);
  ASSERT_TRUE(result.deployment.has_value()) << AllErrors(result);
  const Host& host = result.deployment->host;
  EXPECT_EQ(host.runtime_dir, "/run/other");
  EXPECT_EQ(host.state_dir, "/state/other");
  EXPECT_EQ(host.admin.text, "unix:/run/other/admin.sock");
  EXPECT_EQ(host.metrics->text, "http://127.0.0.1:10464");
  const std::vector<Address>& listen = result.deployment->services[0].listen;
  EXPECT_EQ(listen[0].port, 0);
  EXPECT_EQ(listen[1].text, "http://127.0.0.1:1080");
  EXPECT_EQ(listen[2].text, "http+unix:/run/other/a.sock");
  EXPECT_EQ(listen[3].path, "/run/xy.sock");
}

TEST_F(LoadDeploymentTest, AnOffsetThatLeavesThePortRangeIsAnError) {
  LoadOptions options;
  options.port_offset = 60000;
  ExpectOnly(LoadText(OneService(""), options), 5, 12, "services[0].listen[0]", "above 65535");
}

TEST_F(LoadDeploymentTest, ATextLoadsAsAFileWould) {
  const std::string text = OneService("");
  const LoadResult result = ParseDeployment(text, folder() + "/sent.yaml");
  ASSERT_TRUE(result.deployment.has_value()) << AllErrors(result);
  EXPECT_EQ(*result.deployment, *LoadText(text).deployment);
  EXPECT_TRUE(result.files.empty());
}

TEST_F(LoadDeploymentTest, ModulesMustBeRegularFiles) {
  std::filesystem::create_directory(folder() + "/folder.so");
  ExpectOnly(LoadText("version: 1\nservices:\n- {name: a, module: none.so, listen: "
                      "[\"http://127.0.0.1:1\"]}\n"),
             3, 21, "services[0].module", folder() + "/none.so");
  ExpectOnly(LoadText("version: 1\nservices:\n- {name: a, module: folder.so, listen: "
                      "[\"http://127.0.0.1:1\"]}\n"),
             3, 21, "services[0].module", "not a regular file");
}

TEST_F(LoadDeploymentTest, UsersMustExist) {
  const LoadResult result = LoadText(
      "version: 1\ngroups:\n- name: g\n  identity: {user: no-such-user-x, supplementary_groups: "
      "[root, no-such-group-x]}\n");
  ExpectError(result, 4, 20, "groups[0].identity.user", "no user 'no-such-user-x'");
  ExpectError(result, 4, 65, "groups[0].identity.supplementary_groups[1]",
              "no group of users 'no-such-group-x'");
  EXPECT_EQ(result.errors.size(), 2u);
}

TEST_F(LoadDeploymentTest, TenThousandServicesFitIntoOneFile) {
  std::string text = "version: 1\nservices:\n";
  for (int i = 0; i < 10'000; ++i) {
    absl::StrAppend(&text, "- name: service-", i, "\n  module: m.so\n  listen: [\"http://127.0.",
                    i / 200, ".1:", 1000 + i,
                    "\"]\n  load: {class: bursty, memory: 1Mi}\n  settings: {index: \"", i,
                    "\", db: {host: example}}\n");
  }
  const LoadResult result = LoadText(text);
  ASSERT_TRUE(result.deployment.has_value()) << AllErrors(result);
  EXPECT_EQ(result.deployment->services.size(), 10'000u);
}

}  // namespace
}  // namespace cohost::supervisor
