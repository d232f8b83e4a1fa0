#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the repository with what CONTRIBUTING.md says of it: its folders with the table, its includes with the
direction that they may have. Reads the workspace itself (files under git), which the runfiles' CONTRIBUTING.md links to.
"""

import os
import re
import subprocess
import unittest

ROOT = os.path.dirname(os.path.realpath("CONTRIBUTING.md"))

# Nothing else stands at the top.
TOP = {
    ".bazelrc", ".ci", ".clang-format", ".clang-tidy", ".gitignore", "BUILD", "CONTRIBUTING.md", "LICENSE", "README.md",
    "WORKSPACE", "base", "deploy", "proto", "supervisor", "tests", "third_party", "worker",
}

# The parts of these are named one by one in the table; below the others it is enough that they are.
NAMED_IN_FULL = ("base", "proto", "supervisor", "worker")

# Whole projects in C#, whose folders are namespaces and as the SDK wants them.
CSHARP = ("tests/worker/dotnet/apps", "tests/worker/dotnet/managed", "worker/dotnet/managed")

# Folders of tests that mirror no folder of the product.
OWN_TEST_FOLDERS = {"benchmarks", "fakes", "integration", "services", "soak", "support"}

# What a file of a folder may include, the longest prefix first that it is under.
INCLUDES = {
    "base/": {"base/"},
    "proto/": {"base/", "proto/"},
    "supervisor/keeper/": {"base/", "supervisor/keeper/"},
    "supervisor/": {"base/", "proto/", "supervisor/"},
    # The format of data images is public too; the tool that builds them is a program of ours.
    "worker/sdk/": {"worker/sdk/", "base/format/data_image.h"},
    "worker/sdk/data_image_tool.cc": {"base/"},
    "worker/": {"base/", "proto/", "worker/"},
    "deploy/": {"deploy/", "worker/sdk/"},
}

OURS = ("base/", "deploy/", "proto/", "supervisor/", "tests/", "worker/")


def files():
    """Paths under git, and those that are about to be."""
    listed = subprocess.run(
        ["git", "-c", f"safe.directory={ROOT}", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard"],
        check=True, capture_output=True, text=True)
    return [path for path in listed.stdout.splitlines() if os.path.exists(os.path.join(ROOT, path))]


def folders(paths):
    found = set()
    for path in paths:
        while path := os.path.dirname(path):
            found.add(path)
    return found


def in_csharp(folder):
    return any(folder.startswith(f"{project}/") for project in CSHARP)


def table():
    """Folders that CONTRIBUTING.md names, with the texts beside them."""
    with open(os.path.join(ROOT, "CONTRIBUTING.md"), encoding="utf-8") as file:
        rows = re.findall(r"^\| `([^`]+)` \| (.+) \|$", file.read(), re.MULTILINE)
    return dict(rows)


def includes(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return re.findall(r'^\s*#\s*include\s+"([^"]+)"', file.read(), re.MULTILINE)


class Tree(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.files = files()
        self.folders = folders(self.files)

    def test_the_top_is_as_agreed(self):
        self.assertEqual({path.split("/")[0] for path in self.files}, TOP)

    def test_every_folder_of_the_table_exists_and_has_a_text(self):
        self.assertGreater(len(table()), 10, "is the table still there?")
        for folder, text in table().items():
            self.assertIn(folder, self.folders, "named in CONTRIBUTING.md")
            self.assertGreater(len(text), 10, folder)

    def test_every_folder_is_in_the_table(self):
        named = table()
        for folder in self.folders:
            top = folder.split("/")[0]
            if top == ".ci" or in_csharp(folder):
                continue
            self.assertIn(top, named)
            if top in NAMED_IN_FULL:
                self.assertIn(folder, named, "a folder that CONTRIBUTING.md does not name")

    def test_tests_mirror_the_product(self):
        for folder in self.folders:
            parts = folder.split("/")
            if parts[0] != "tests" or len(parts) < 2 or parts[1] in OWN_TEST_FOLDERS or in_csharp(folder):
                continue
            # What tests keep beside themselves may have a folder of its own.
            mirrored = "/".join(parts[1:])
            if mirrored not in self.folders:
                self.assertIn("/".join(parts[1:-1]), self.folders, f"{folder} mirrors nothing")

    def test_includes_point_one_way(self):
        checked = 0
        for path in self.files:
            rule = next((prefix for prefix in sorted(INCLUDES, key=len, reverse=True) if path.startswith(prefix)), None)
            if rule is None or not path.endswith((".h", ".hpp", ".cc", ".c")):
                continue
            for included in includes(path):
                if included.startswith(OURS):
                    checked += 1
                    self.assertTrue(any(included.startswith(allowed) for allowed in INCLUDES[rule]),
                                    f"{path} includes {included}")
        self.assertGreater(checked, 500, "are the includes still found?")

    def test_folders_and_files_have_no_empty_names(self):
        for name in ("common", "helpers", "impl", "manager", "misc", "util", "utils"):
            for path in self.files:
                self.assertNotIn(name, re.split(r"[/.]", path), path)


if __name__ == "__main__":
    unittest.main(verbosity=2)
