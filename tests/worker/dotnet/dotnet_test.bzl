"""Tests that need .NET: skipped, and counted as skipped, on a machine without an SDK."""

load("@dotnet_sdk//:defs.bzl", "ROOT")
load("@rules_cc//cc:defs.bzl", "cc_test")

def dotnet_test(name, deps = [], data = [], host = False, size = "large", tags = [], **kwargs):
    """A cc_test of NAME.cc with a worker and the applications of //tests/worker/dotnet/apps as data.

    Args:
      name: of the test and of its source.
      deps: beside those that every such test has.
      data: beside worker and applications.
      host: it starts whole hosts, so it needs all programs of Cohost.
      size: as for cc_test.
      tags: beside those that every such test has.
      **kwargs: as for cc_test.
    """
    cc_test(
        name = name,
        size = size,
        srcs = [name + ".cc"],
        data = data + [
            "//tests/worker/dotnet/apps",
            "//worker/dotnet/managed:shim",
        ] + (["//tests/support:host_programs"] if host else ["//worker:cohost-worker"]),
        # Workers look there first.
        env = {"DOTNET_ROOT": ROOT} if ROOT else {},
        tags = tags + [
            "local",
            "no_sanitizer",
        ],
        deps = deps + [
            ":applications",
            "//:gtest_main",
            "//tests/support:test_host",
            "//tests/support:wait",
        ],
        **kwargs
    )

def managed_test(name, folder, assembly, size = "medium", **kwargs):
    """Runs the tests of a published xunit.v3 project.

    Args:
      name: of the test.
      folder: the dotnet_publish target.
      assembly: file name in that folder.
      size: as for sh_test.
      **kwargs: as for sh_test.
    """
    native.sh_test(
        name = name,
        size = size,
        srcs = ["//tests/support:run_xunit.sh"],
        args = [
            "$(rootpath %s)/%s" % (folder, assembly),
        ],
        data = [folder],
        env = {"COHOST_TEST_DOTNET": ROOT},
        tags = [
            "local",
            "no_sanitizer",
        ],
        **kwargs
    )
