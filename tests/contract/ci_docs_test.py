#!/usr/bin/env python3
"""The CI examples of docs/ci.md: YAML that parses, shell that parses, options that exist.
ci_docs_test.py BERTBENCH SOURCE_DIR; ends with 77 (skipped) without python3-yaml."""

import os
import re
import shlex
import subprocess
import sys
import unittest

BERTBENCH, SOURCE = sys.argv[1], sys.argv[2]
try:
    import yaml
except ImportError:
    print("skipped: python3-yaml is not installed")
    sys.exit(77)

with open(os.path.join(SOURCE, "docs/ci.md")) as source:
    TEXT = source.read()
BLOCKS = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", TEXT, re.S)]
GITHUB = [block for block in BLOCKS if "jobs" in block]
GITLAB = [block for block in BLOCKS if "jobs" not in block]


def scripts():
    for workflow in GITHUB:
        for job in workflow["jobs"].values():
            yield from (step["run"] for step in job["steps"] if "run" in step)
    for pipeline in GITLAB:
        for job in pipeline.values():
            if isinstance(job, dict) and "script" in job:
                yield "\n".join(job["script"])


def commands():
    """Words of each bertbench command line, continuation lines joined."""
    for script in scripts():
        for line in script.replace("\\\n", " ").splitlines():
            if "bertbench " in line:
                words = shlex.split(line, comments=True)
                at = next((i for i, word in enumerate(words) if word.endswith("bertbench")), None)
                if at is not None:
                    yield words[at + 1:]


class CiExamples(unittest.TestCase):
    def test_there_is_one_for_github_and_one_for_gitlab_and_both_gate(self):
        self.assertTrue(GITHUB and GITLAB)
        gates = [words for words in commands() if words[0] == "check"]
        self.assertGreaterEqual(len(gates), 2)
        self.assertTrue(any("--github" in words for words in gates))
        self.assertTrue(any("--junit" in words for words in gates))

    def test_workflows_have_what_their_systems_need(self):
        for workflow in GITHUB:
            self.assertTrue(workflow.get("on", workflow.get(True)))  # YAML 1.1 reads `on` as true
            for job in workflow["jobs"].values():
                self.assertIn("runs-on", job)
                for step in job["steps"]:
                    self.assertTrue(("run" in step) != ("uses" in step), step)
        for pipeline in GITLAB:
            self.assertTrue(any(isinstance(job, dict) and "script" in job for job in pipeline.values()))

    def test_their_shell_parses(self):
        for script in scripts():
            plain = re.sub(r"\$\{\{.*?\}\}", "x", script)
            done = subprocess.run(["bash", "-n"], input=plain.encode(), capture_output=True)
            self.assertEqual(done.returncode, 0, done.stderr.decode() + plain)

    def test_every_command_and_option_exists(self):
        for words in commands():
            done = subprocess.run([BERTBENCH, words[0], "--help"], capture_output=True)
            self.assertEqual(done.returncode, 0, words)
            help_text = done.stdout.decode()
            for word in words:
                if word.startswith("--"):
                    self.assertRegex(help_text, re.escape(word.split("=")[0]) + r"\b", words)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
