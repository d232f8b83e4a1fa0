"""Tests of a whole host: the real programs, on a deployment of the test's."""

load("@rules_cc//cc:defs.bzl", "cc_test")

def host_test(name, modules, deps = [], data = [], size = "medium", alone = False, **kwargs):
    """A cc_test of NAME.cc with the programs of Cohost and modules of //tests/services as data.

    Args:
      name: of the test and of its source.
      modules: names in //tests/services.
      deps: beside those that every such test has.
      data: beside the programs and modules.
      size: as for cc_test.
      alone: it asserts times or memory, so no other test runs beside it.
      **kwargs: as for cc_test.
    """
    cc_test(
        name = name,
        size = size,
        srcs = [name + ".cc"],
        data = data + ["//tests/support:host_programs"] +
               ["//tests/services:%s.so" % module for module in modules],
        tags = [
            "local",
            "no_sanitizer",
        ] + (["exclusive"] if alone else []),
        deps = deps + [
            "//:gtest_main",
            "//tests/support:http_client",
            "//tests/support:test_host",
            "//tests/support:wait",
        ],
        **kwargs
    )
