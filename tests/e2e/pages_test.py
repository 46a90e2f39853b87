#!/usr/bin/env python3
"""The commands of a page of docs/, run in order as they stand there, and what they print.
pages_test.py BERTBENCH SOURCE_DIR PAGE

A block "sh" is run; its exit status is 0, or one of "exit=1|3" after that word. A block "text" has lines of
what the block before it printed, in order; each number stands for any number, and a line may be the
beginning or a part of one. A block "json file=NAME" is written. "sh cluster" runs where an emulated Slurm can be
started."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BERTBENCH, SOURCE, PAGE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3]
with open(os.path.join(SOURCE, "docs", PAGE), encoding="utf-8") as source:
    BLOCKS = re.findall(r"^```(\w+)([^\n]*)\n(.*?)^```$", source.read(), re.S | re.M)
CLUSTER = os.path.join(SOURCE, "tests/harness/slurm_cluster")


def plain(text):
    """Without the numbers and the width of columns, which differ from run to run."""
    return re.sub(r"\s+", " ", re.sub(r"[-+~<]?\d[\d.,]*", "#", text)).strip()


class Page(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="bb-page-")
        self.addCleanup(shutil.rmtree, self.folder)
        os.chmod(self.folder, 0o755)  # munge wants it
        for name in ("parsers", "configs"):
            os.symlink(os.path.join(SOURCE, name), os.path.join(self.folder, name))
        shutil.copy(os.path.join(SOURCE, "tests/e2e/own_trainer/train.py"), self.folder)
        # A rank of a launcher around this test is none of ours, nor is its allocation.
        self.variables = {name: value for name, value in os.environ.items()
                          if name != "RANK" and not name.startswith("SLURM_")}
        self.variables["PATH"] = f"{os.path.dirname(BERTBENCH)}:{os.environ['PATH']}"
        self.cluster = None

    def has_cluster(self):
        if self.cluster is None:
            place = os.path.join(self.folder, "cluster")
            started = subprocess.run([CLUSTER, "start", place], env=self.variables, text=True,
                                     capture_output=True, check=False)
            self.addCleanup(subprocess.run, [CLUSTER, "stop", place], capture_output=True, check=False)
            self.cluster = started.returncode == 0
            if self.cluster:
                self.variables["SLURM_CONF"] = started.stdout.split()[-1]
            else:
                print("not run, no cluster:", started.stdout.strip(), file=sys.stderr)
        return self.cluster

    def test_the_commands_print_what_the_page_shows(self):
        printed, ran = None, 0
        for kind, more, body in BLOCKS:
            if kind == "json" and "file=" in more:
                with open(os.path.join(self.folder, more.split("file=")[1]), "w", encoding="utf-8") as out:
                    out.write(body)
            elif kind == "sh":
                printed = None
                if "cluster" in more and not self.has_cluster():
                    continue
                done = subprocess.run(["bash", "-euc", body], cwd=self.folder, env=self.variables, text=True,
                                      capture_output=True, check=False)
                printed = done.stdout + done.stderr
                wanted = re.search(r"exit=(\S+)", more)
                statuses = wanted.group(1).split("|") if wanted else ["0"]
                self.assertIn(str(done.returncode), statuses, body + printed)
                ran += 1
            elif kind == "text" and printed is not None:
                lines = [plain(line) for line in printed.splitlines()]
                for wanted in body.splitlines():
                    at = next((i for i, line in enumerate(lines) if plain(wanted) in line), None)
                    self.assertIsNotNone(at, f"not printed, or not in this order: {wanted}\n{printed}")
                    lines = lines[at + 1:]
        self.assertGreater(ran, 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
