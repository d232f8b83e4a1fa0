"""Benchmarks: programs that tests/benchmarks/run builds and starts."""

load("@rules_cc//cc:defs.bzl", "cc_binary")

def benchmark(name, deps, data = []):
    """A program NAME of NAME_benchmark.cc; it finds its data below its runfiles folder."""
    cc_binary(
        name = name,
        testonly = True,
        srcs = [name + "_benchmark.cc"],
        data = data,
        deps = deps + [
            ":benchmark_report",
            "//:abseil",
        ],
    )
