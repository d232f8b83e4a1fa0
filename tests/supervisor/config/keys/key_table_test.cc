// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/keys/key_table.h"

#include <functional>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/strings.h"
#include "supervisor/config/keys/schema.h"
#include "tests/supervisor/config/config_fixture.h"

namespace cohost::supervisor {
namespace {

// The table says what a key is, the readers put it somewhere, deployment.h has its default: these
// tests hold the three together.
class KeyTableTest : public ConfigTest {
 protected:
  KeyTableTest() {
    Write("module.so", "another module");
    Write("words.image", "data");
    Write("Shop.dll", "another assembly");
    Write("release.pub", "key");
    Write("services.d/x.yaml",
          "services: [{name: x, module: ../m.so, listen: [\"http://127.0.0.1:9\"]}]\n");
  }

  // A complete deployment that has `text` in the map of `block`, instead of the key `without`; its
  // service is of that runtime.
  LoadResult LoadWith(const Block& block, std::string_view without, const std::string& text,
                      std::string_view runtime = "") {
    std::map<std::string, std::string> service = {{"name", "a"},
                                                  {"listen", "[\"http://127.0.0.1:8001\"]"}};
    if (runtime == "dotnet") {
      service["runtime"] = "dotnet";
      service["app"] = "App.dll";
    } else {
      service["module"] = "m.so";
    }
    std::map<std::string, std::string> group = {{"name", "g"}};
    std::string top = "version: 1\n";
    const std::string title(block.title);
    const std::string inner = absl::StrCat("{", text, "}");
    if (title.empty()) {
      top = without == "version" ? absl::StrCat(text, "\n") : absl::StrCat(top, text, "\n");
    } else if (title == "services[]") {
      service.erase(std::string(without));
    } else if (title == "services[].listen[]") {
      service["listen"] = without == "address"
                              ? absl::StrCat("[", inner, "]")
                              : absl::StrCat("[{address: \"http+unix:/run/a.sock\", ", text, "}]");
    } else if (title.rfind("services[].", 0) == 0) {
      service[title.substr(11)] = inner;
    } else if (title == "groups[]") {
      group.erase(std::string(without));
    } else if (title.rfind("groups[].", 0) == 0) {
      group[title.substr(9)] = inner;
    } else if (title.rfind("host.", 0) == 0) {
      absl::StrAppend(&top, "host: {", title.substr(5), ": ", inner, "}\n");
    } else {
      absl::StrAppend(&top, title, ": ", inner, "\n");
    }
    absl::StrAppend(&top, Entry("groups", group, title == "groups[]" ? text : "",
                                title.empty() ? without : ""));
    return LoadText(absl::StrCat(top, Entry("services", service, title == "services[]" ? text : "",
                                            title.empty() ? without : "")));
  }

  static std::string Entry(const std::string& list, const std::map<std::string, std::string>& keys,
                           const std::string& more, std::string_view without) {
    if (without == list) return "";
    std::string text = absl::StrCat(list, ":\n- {", more);
    for (const auto& [key, value] : keys) {
      if (more.rfind(key + ":", 0) == 0) continue;
      absl::StrAppend(&text, text.back() == '{' ? "" : ", ", key, ": ", value);
    }
    return absl::StrCat(text, "}\n");
  }

  static void ForEachKey(const std::function<void(const Block&, const Key&)>& visit) {
    for (const Block* block : AllBlocks()) {
      for (const Key* key : block->AllKeys()) {
        SCOPED_TRACE(absl::StrCat(AsAbsl(block->title), ".", AsAbsl(key->name)));
        visit(*block, *key);
      }
    }
  }

  static std::string Line(const Key& key, std::string_view value) {
    return absl::StrCat(AsAbsl(key.name), ": ", AsAbsl(value));
  }

  // What changes with these is refused by other checks: declared needs a group for the service,
  // required_from needs a key of the host, shared_libraries another share_libraries.
  static bool StandsAlone(const Key& key) {
    return key.name != "strategy" && key.name != "required_from" && key.name != "shared_libraries";
  }
};

TEST_F(KeyTableTest, EveryExampleIsReadAndChangesTheDeployment) {
  size_t read = 0;
  ForEachKey([&](const Block& block, const Key& key) {
    const LoadResult plain = LoadWith(kRootBlock, "", "", key.runtime);
    ASSERT_TRUE(plain.deployment.has_value()) << AllErrors(plain);
    if (key.state == KeyState::kReserved || key.type == KeyType::kMap) return;
    ASSERT_FALSE(key.example.empty());
    if (!StandsAlone(key)) return;
    // A group and a version have one example only; runtime and name are compared below.
    const std::string more =
        &block == &kServiceBlock && key.name == "group" ? "group: g" : Line(key, key.example);
    const LoadResult with = LoadWith(block, key.name, more, key.runtime);
    ASSERT_TRUE(with.deployment.has_value()) << AllErrors(with);
    ++read;
    if (key.name == "version" || key.name == "runtime") return;
    EXPECT_NE(*with.deployment, *plain.deployment);
  });
  EXPECT_GE(read, 60u);
}

TEST_F(KeyTableTest, DefaultsAreThoseOfTheDeployment) {
  size_t compared = 0;
  ForEachKey([&](const Block& block, const Key& key) {
    if (key.default_text.empty() || &block == &kListenBlock) return;
    const LoadResult plain = LoadWith(block, "", "", key.runtime);
    const LoadResult with = LoadWith(block, "", Line(key, key.default_text), key.runtime);
    ASSERT_TRUE(plain.deployment.has_value()) << AllErrors(plain);
    ASSERT_TRUE(with.deployment.has_value()) << AllErrors(with);
    EXPECT_EQ(*with.deployment, *plain.deployment);
    ++compared;
  });
  EXPECT_GE(compared, 48u);
  const LoadResult map = LoadWith(kListenBlock, "", "mode: \"0600\", backlog: 1024");
  ASSERT_TRUE(map.deployment.has_value()) << AllErrors(map);
  EXPECT_EQ(map.deployment->services[0].listen[0].mode, Address().mode);
  EXPECT_EQ(map.deployment->services[0].listen[0].backlog, Address().backlog);
}

TEST_F(KeyTableTest, ReservedKeysAreNotInThisVersion) {
  ForEachKey([&](const Block& block, const Key& key) {
    if (key.state != KeyState::kReserved) return;
    const LoadResult result = LoadWith(block, "", Line(key, "x"));
    ASSERT_EQ(result.errors.size(), 1u) << AllErrors(result);
    EXPECT_EQ(result.errors[0].message, "not in this version");
  });
}

TEST_F(KeyTableTest, RangesHoldAtBothEnds) {
  size_t checked = 0;
  ForEachKey([&](const Block& block, const Key& key) {
    if (key.least.empty()) return;
    const std::string huge = key.type == KeyType::kBytes      ? "99999Ti"
                             : key.type == KeyType::kDuration ? "9000d"
                                                              : "99999999999";
    const LoadResult result = LoadWith(block, key.name, Line(key, huge), key.runtime);
    ASSERT_EQ(result.errors.size(), 1u) << AllErrors(result);
    EXPECT_NE(result.errors[0].message.find(
                  absl::StrCat("allowed: ", AsAbsl(key.least), " to ", AsAbsl(key.most))),
              std::string::npos)
        << AllErrors(result);
    ++checked;
  });
  EXPECT_GT(checked, 30u);
}

TEST_F(KeyTableTest, EveryKeyOfTheDesignIsKnown) {
  const std::map<std::string, std::set<std::string>> design = {
      {"", {"version", "host", "grouping", "groups", "services", "include"}},
      {"host", {"runtime_dir", "state_dir", "admin", "metrics"}},
      {"grouping", {"strategy", "max_services_per_worker", "worker_memory", "worker_cpu"}},
      {"groups[]",
       {"name", "match", "workers", "identity", "limits", "recycle", "health", "rapid_fail"}},
      {"groups[].identity", {"user", "supplementary_groups", "read_write_paths"}},
      {"groups[].recycle", {"requests", "private_memory", "age", "schedule", "drain_timeout"}},
      {"groups[].health", {"interval", "stall_timeout", "start_timeout"}},
      {"services[]",
       {"name", "runtime", "module", "listen", "load", "limits", "health", "warmup", "settings",
        "app", "environment", "persist", "instances"}},
      {"services[].load", {"class", "requests_per_second", "cpu", "memory", "peak"}},
      {"services[].limits", {"concurrency", "queue", "request_timeout", "memory"}},
  };
  size_t blocks = 0;
  for (const Block* block : AllBlocks()) {
    const auto expected = design.find(std::string(block->title));
    if (expected == design.end()) continue;
    ++blocks;
    for (const std::string& key : expected->second) {
      EXPECT_NE(block->Find(key), nullptr) << block->title << "." << key;
    }
  }
  EXPECT_EQ(blocks, design.size());
}

TEST_F(KeyTableTest, TheSchemaHasEveryKeyOfThisVersion) {
  const std::string schema = SchemaJson();
  ForEachKey([&](const Block&, const Key& key) {
    if (key.state == KeyState::kReserved) return;
    EXPECT_NE(schema.find(absl::StrCat("\"", AsAbsl(key.name), "\": {")), std::string::npos);
  });
  EXPECT_EQ(schema.find("\"rapid_fail\""), std::string::npos);
}

TEST_F(KeyTableTest, KeysOfOneRuntimeAreRefusedForTheOther) {
  size_t refused = 0;
  ForEachKey([&](const Block& block, const Key& key) {
    if (key.runtime.empty() || key.state == KeyState::kReserved) return;
    const std::string_view other = key.runtime == "dotnet" ? "native" : "dotnet";
    const LoadResult result = LoadWith(block, "", Line(key, key.example), other);
    ASSERT_EQ(result.errors.size(), 1u) << AllErrors(result);
    EXPECT_EQ(result.errors[0].message,
              absl::StrCat("only services of the runtime '", AsAbsl(key.runtime), "' have it"));
    ++refused;
  });
  EXPECT_GE(refused, 16u);
}

TEST_F(KeyTableTest, UnknownKeysNameTheNearest) {
  ExpectOnly(LoadText(OneService("  limits: {concurency: 3}\n")), 6, 12,
             "services[0].limits.concurency",
             "unknown key 'concurency', did you mean 'concurrency'?");
  ExpectOnly(LoadText(OneService("  warm_up: [/]\n")), 6, 3, "services[0].warm_up",
             "did you mean 'warmup'?");
  const LoadResult far = LoadText(OneService("xylophone: 1\n"));
  ExpectOnly(far, 6, 1, "xylophone", "unknown key 'xylophone'");
  EXPECT_EQ(far.errors[0].message.find("did you mean"), std::string::npos);
}

TEST_F(KeyTableTest, WrongChoicesNameTheNearest) {
  ExpectOnly(LoadText(OneService("  instances: on\n")), 6, 14, "services[0].instances",
             "expected one of one, all, not 'on', did you mean 'one'?");
}

}  // namespace
}  // namespace cohost::supervisor
