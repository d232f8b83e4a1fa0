#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The benchmarks that `run` names are those that there are, each built and each with a text of its own."""

import os
import re
import unittest

FOLDER = "tests/benchmarks"

# Programs that are no benchmarks: what `hello` is compared with.
PEERS = {"bare_beast"}


class Run(unittest.TestCase):
    def test_every_benchmark_that_run_names_is_built(self):
        with open(f"{FOLDER}/run", encoding="utf-8") as file:
            named = re.search(r"^ALL=\(([^)]*)\)$", file.read(), re.MULTILINE).group(1).split()
        built = [entry.name for entry in os.scandir(FOLDER)
                 if entry.is_file() and os.access(entry.path, os.X_OK) and "." not in entry.name
                 and entry.name not in PEERS | {"run", "run_test"}]
        self.assertGreater(len(named), 0)
        self.assertEqual(sorted(named), sorted(built))


if __name__ == "__main__":
    unittest.main()
