"""Tests of a whole host: the real programs, on a deployment of the test's."""

load("@rules_cc//cc:defs.bzl", "cc_test")

def host_test(name, modules, deps = [], data = [], size = "medium", **kwargs):
    """A cc_test of NAME.cc with the programs of Cohost and modules of //tests/services as data."""
    cc_test(
        name = name,
        size = size,
        srcs = [name + ".cc"],
        data = data + ["//tests/support:host_programs"] +
               ["//tests/services:%s.so" % module for module in modules],
        tags = [
            "local",
            "no_sanitizer",
        ],
        deps = deps + [
            "//:gtest_main",
            "//tests/support:http_client",
            "//tests/support:test_host",
            "//tests/support:wait",
        ],
        **kwargs
    )
