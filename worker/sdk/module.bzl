"""Builds a native module for Cohost: one shared object with the C ABI of cohost.h."""

load("@rules_cc//cc:defs.bzl", "cc_binary")

# What README.md explains for builds without Bazel.
_COPTS = [
    "-fvisibility=hidden",
    "-fno-gnu-unique",
    "-fPIC",
]

_RUNTIME_LINKOPTS = [
    "-static-libstdc++",
    "-static-libgcc",
]

_LINKOPTS = [
    # gold, which Bazel takes by default, cannot pack relative relocations.
    "-fuse-ld=bfd",
    "-Wl,-Bsymbolic",
    "-Wl,-z,pack-relative-relocs",
    "-Wl,-z,defs",
    "-Wl,--gc-sections",
    "-Wl,--version-script=$(location //worker/sdk:module.lds)",
]

def cohost_module(name, srcs, deps = [], copts = [], linkopts = [], **kwargs):
    """A native module NAME.so.

    Args:
      name: the target; the file is NAME.so.
      srcs: sources, C or C++.
      deps: libraries, linked statically. //worker/sdk:cohost_cc is added.
      copts: further compiler options.
      linkopts: further linker options.
      **kwargs: as for cc_binary (visibility, testonly, tags).
    """
    cc_binary(
        name = name + ".so",
        srcs = srcs,
        copts = _COPTS + copts,
        linkopts = _LINKOPTS + _RUNTIME_LINKOPTS + linkopts,
        additional_linker_inputs = ["//worker/sdk:module.lds"],
        # The other linker does not know --start-lib.
        features = ["-supports_start_end_lib"],
        linkshared = True,
        deps = deps + ["//worker/sdk:cohost_cc"],
        **kwargs
    )
    native.alias(
        name = name,
        actual = name + ".so",
        testonly = kwargs.get("testonly"),
        visibility = kwargs.get("visibility"),
    )
