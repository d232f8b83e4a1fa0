#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the test cases of the last `bazel test` and prints them as `N passed, N failed`.

Usage: count_cases.py CONFIG TARGET...   (from the root of the repository)

Cases that were skipped count as neither; the line before says how many there were, and each reason once. A target whose results cannot be read (it crashed, or ran out of time) counts as one failed case more.
Exit status: 0 when none failed, 1 otherwise.
"""

import collections
import pathlib
import subprocess
import sys
import xml.etree.ElementTree as ElementTree


def test_logs(config):
    command = ["bazel", "info", f"--config={config}", "bazel-testlogs"]
    return pathlib.Path(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip())


def test_targets(config, targets):
    filters = {"asan": "no_sanitizer|local", "tsan": "no_sanitizer|no_tsan|local"}.get(config)
    query = f"tests({' + '.join(targets)})"
    if filters:
        query += f" except attr(tags, '{filters}', {' + '.join(targets)})"
    command = ["bazel", "query", query]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


def count(folder, reasons):
    """(passed, failed, names of failed) of one target; its shards and runs added up. Adds why cases were skipped."""
    passed, failed, names = 0, 0, []
    files = sorted(folder.rglob("test.xml"))
    skipped = 0
    if not files:
        return 0, 1, ["no result"]
    for file in files:
        try:
            root = ElementTree.parse(file).getroot()
        except ElementTree.ParseError as error:
            failed += 1
            names.append(f"unreadable result: {error}")
            continue
        for case in root.iter("testcase"):
            if case.get("status") == "notrun":
                continue
            if case.find("failure") is not None or case.find("error") is not None:
                failed += 1
                names.append(f"{case.get('classname', '')}.{case.get('name', '')}")
            elif (skip := case.find("skipped")) is not None:
                skipped += 1
                reasons[reason_of(skip)] += 1
            else:
                passed += 1
    if passed + failed + skipped == 0:
        return 0, 1, ["no case ran"]
    return passed, failed, names


def reason_of(skip):
    """GoogleTest puts the place on a line of its own before the reason."""
    lines = (skip.get("message") or skip.text or "").strip().splitlines()
    return lines[-1].strip() if lines else "no reason given"


def main():
    config, targets = sys.argv[1], sys.argv[2:]
    logs = test_logs(config)
    passed = failed = 0
    reasons = collections.Counter()
    for target in test_targets(config, targets):
        good, bad, names = count(logs / target.removeprefix("//").replace(":", "/"), reasons)
        passed, failed = passed + good, failed + bad
        for name in names:
            print(f"FAILED {target} {name}")
    if reasons:
        print(f"{reasons.total()} skipped: " + "; ".join(f"{number} {why}" for why, number in reasons.most_common()))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
