#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pastes README.md: runs the deployment that it shows and every cohostctl command of its examples against it."""

import os
import random
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest

# A start on a loaded machine, and one command.
START_LIMIT = 60
COMMAND_LIMIT = 30


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def commands(text):
    """Lines that call cohostctl, with a prompt in console blocks and as they are in plain ones."""
    lines = [line for block in blocks(text, "console") for line in block.splitlines() if line.startswith("$ ")]
    lines = [line[2:] for line in lines]
    lines += [line for block in blocks(text, "") for line in block.splitlines()]
    return [line for line in lines if line.startswith("cohostctl ")]


def is_free(port):
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_offset(ports):
    """At random, since another run of this test looks at the same time; below the ports that the kernel gives away."""
    offsets = range(1000, 32000 - max(ports))
    return next(offset for offset in random.sample(offsets, 100) if all(is_free(port + offset) for port in ports))


class Host:
    """A running cohostd with the deployment of README.md; a context."""

    def __init__(self, deployment):
        self.folder = tempfile.mkdtemp(prefix="ch.", dir="/tmp")
        os.chmod(self.folder, 0o755)
        self.socket = f"{self.folder}/run/admin.sock"
        os.mkdir(f"{self.folder}/modules")
        # Which module it is does not matter here.
        for module in re.findall(r"module: modules/(\S+)\.so", deployment):
            shutil.copy("tests/services/hello.so", f"{self.folder}/modules/{module}.so")
        self.file = f"{self.folder}/cohost.yaml"
        for name in (self.file, f"{self.folder}/new.yaml"):
            with open(name, "w", encoding="utf-8") as file:
                file.write(deployment)
        self.offset = free_offset([int(port) for port in re.findall(r"127\.0\.0\.1:(\d+)", deployment)])
        self.process = None

    def __enter__(self):
        ready, writer = os.pipe()
        with open(f"{self.folder}/log", "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                ["supervisor/keeper/cohostd", "--config", self.file, "--port-offset", str(self.offset),
                 "--supervisor", os.path.abspath("supervisor/cohost-supervisor"),
                 "--worker", os.path.abspath("worker/cohost-worker"),
                 "--runtime-dir", f"{self.folder}/run", "--state-dir", f"{self.folder}/state",
                 "--ready-fd", str(writer)],
                pass_fds=[writer], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        os.close(writer)
        readable = select.select([ready], [], [], START_LIMIT)[0]
        if not readable or not os.read(ready, 1):
            with open(f"{self.folder}/log", encoding="utf-8") as log:
                text = log.read()
            self.__exit__()
            raise AssertionError(f"the deployment of README.md does not start:\n{text}")
        os.close(ready)
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(START_LIMIT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder)

    def start(self, command):
        environment = dict(os.environ, COHOST_SOCKET=self.socket)
        environment["PATH"] = os.path.abspath("supervisor/ctl") + ":" + environment["PATH"]
        # exec: a signal reaches the command and not a shell.
        return subprocess.Popen(["/bin/bash", "-c", f"exec {command}"], cwd=self.folder, env=environment,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


class Readme(unittest.TestCase):
    def setUp(self):
        with open("README.md", encoding="utf-8") as file:
            self.text = file.read()
        self.deployment = next(block for block in blocks(self.text, "yaml") if block.startswith("version:"))

    def test_every_command_works_when_it_is_pasted(self):
        pasted = commands(self.text)
        self.assertGreater(len(pasted), 10, "are the examples still found?")
        with Host(self.deployment) as host:
            for command in pasted:
                with self.subTest(command):
                    self.run_one(host, command)

    def run_one(self, host, command):
        process = host.start(command)
        if "--follow" in command:
            # It goes on until somebody ends it.
            with self.assertRaises(subprocess.TimeoutExpired):
                process.wait(1)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=COMMAND_LIMIT)
            self.assertIn(process.returncode, (0, -signal.SIGINT))
            return
        try:
            output = process.communicate(timeout=COMMAND_LIMIT)[0]
        finally:
            process.kill()
        self.assertEqual(process.returncode, 0, output)

    def test_every_file_that_it_links_to_is_there(self):
        root = os.path.dirname(os.path.realpath("README.md"))
        links = [link for link in re.findall(r"\]\(([^)#]+)\)", self.text) if "://" not in link]
        self.assertGreater(len(links), 2)
        for link in links:
            self.assertTrue(os.path.exists(os.path.join(root, link)), link)


if __name__ == "__main__":
    unittest.main(verbosity=2)
