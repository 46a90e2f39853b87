#!/usr/bin/env python3
"""A rank that is slow in a job of four emulated nodes is named by log, sweep and report; a node that is
slow is named before. Each is slowed on purpose and by so much that no other load hides it.
slow_ranks_test.py BERTBENCH BERT_TRAIN SOURCE_DIR"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BERTBENCH, BERT_TRAIN, SOURCE = (os.path.abspath(path) for path in sys.argv[1:4])


class Ranks(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="bb-ranks-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.variables = {name: value for name, value in os.environ.items()
                          if name != "RANK" and not name.startswith("SLURM_")}

    def bertbench(self, *words, status=0, **variables):
        done = subprocess.run([BERTBENCH, *words], cwd=self.folder, env={**self.variables, **variables},
                              text=True, capture_output=True, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def read(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8") as text:
            return text.read()

    def sweep(self, *options, nodes=4):
        return self.bertbench("sweep", "--out", "run", "--grid", f"topology={nodes}n1g",
                              "--grid", "micro_batch_size=1", "--trials", "1", "--set", "steps=20", "--no-probe",
                              "--", BERT_TRAIN, "--model", "bert-tiny", "--micro-batch-size", "{micro_batch_size}",
                              "--sequence-length", "32", "--threads", "1", "--steps", "{steps}", *options)

    def test_a_slow_rank_is_named(self):
        done = self.sweep("--handicap", "400%@2")
        (cell,) = json.loads(self.read("run/results.json"))["cells"]
        (trial,) = cell["trials"]
        ranks = trial["ranks"]
        self.assertEqual(ranks["ranks"], 4)
        self.assertEqual(ranks["slowest"]["rank"], 2)
        self.assertGreater(ranks["slowest"]["ratio"], 1.5)
        self.assertEqual([rank["rank"] for rank in ranks["stragglers"]][:1], [2])
        self.assertTrue(ranks["slowest"]["node"].startswith("2:"))
        self.assertEqual(len(ranks["nodes"]), 4)
        self.assertEqual(ranks["nodes"][0]["node"], ranks["slowest"]["node"])
        self.assertIn("straggler", [notice["code"] for notice in trial["notices"]])
        self.assertIn("stays slow", done.stderr)
        self.assertIn("slowest rank", done.stdout)
        page = self.read("run/report.html")
        self.assertIn("Ranks and nodes", page)
        self.assertIn('id="plot-ranks-1"', page)

    def test_a_rank_that_nice_slows_is_named(self):
        # On its core a loop takes ten times its share, whatever else runs.
        done = subprocess.run([os.path.join(SOURCE, "scripts/straggler_runs"), "--out", "run", "--runs", "1", "--steps", "20",
                               "--slow", "core", "--bertbench", BERTBENCH, "--bert-train", BERT_TRAIN],
                              cwd=self.folder, env=self.variables, text=True, capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("runs that name rank 2 and no other  1 of 1 ", done.stdout)

    def test_a_slow_node_is_named_before_and_the_report_of_a_sweep_says_so(self):
        # It works a hundredth of the time.
        done = self.bertbench("doctor", "--launcher", "local", "--nodes", "4", "--out", "run", "--json",
                              BERTBENCH_PROBE_HANDICAP="9900%@2")
        preflight = json.loads(done.stdout)["preflight"]
        self.assertEqual(preflight, json.loads(self.read("run/preflight.json")))
        self.assertEqual([node["node"] for node in preflight["nodes"]], [0, 1, 2, 3])
        self.assertEqual(preflight["silent"], [])
        self.assertTrue(preflight["emulated"])
        slow = preflight["nodes"][2]
        self.assertEqual(min(preflight["nodes"], key=lambda node: node["gflops"]), slow)
        self.assertTrue(any(text.startswith("GEMM") for text in slow["outliers"]), slow)
        # Its two pairs are the slowest ones, and the node is named by both.
        by_rate = sorted(preflight["pairs"], key=lambda pair: pair["gb_s"])
        self.assertEqual(sorted(pair["nodes"] for pair in by_rate[:2]), [[1, 2], [2, 3]])
        self.assertEqual(len(by_rate), 4)
        self.assertIn("all-reduce slow with both neighbours", slow["outliers"])
        for node in preflight["nodes"]:  # all of them on one clock
            self.assertLessEqual(node["skew_s"]["low"], 0.001)
            self.assertGreaterEqual(node["skew_s"]["high"], -0.001)
        done = self.sweep(nodes=1)
        self.assertIn("preflight.json named node 2", " ".join(done.stderr.split()))
        environment = json.loads(self.read("run/results.json"))["environment"]
        self.assertTrue(any("node 2" in text for text in environment["preflight"]["outliers"]))
        self.assertRegex(self.read("run/report.html"), "<p class=\"note\">the preflight of [^<]*node 2 ")

    def test_a_node_that_does_not_answer_is_named_with_what_was_printed(self):
        # Without a bertbench that the launcher may start there is no reading.
        fake = os.path.join(self.folder, "bin")
        os.mkdir(fake)
        with open(os.path.join(fake, "ssh"), "w", encoding="utf-8") as text:
            text.write("#!/bin/sh\necho 'no route to gpu01' >&2\nexit 255\n")
        os.chmod(os.path.join(fake, "ssh"), 0o755)
        done = self.bertbench("doctor", "--launcher", "ssh", "--set", 'hosts=["gpu01"]', "--json",
                              PATH=fake + ":" + self.variables["PATH"])
        preflight = json.loads(done.stdout)["preflight"]
        self.assertEqual(preflight["silent"], [0])
        self.assertEqual(preflight["unread"], ["exit status 255: no route to gpu01"])

    def test_without_a_trainer_nodes_are_measured_and_pairs_are_not(self):
        alone = os.path.join(self.folder, "bertbench")
        shutil.copy(BERTBENCH, alone)
        done = subprocess.run([alone, "doctor", "--launcher", "local", "--nodes", "2", "--json"], cwd=self.folder,
                              env={**self.variables, "PATH": "/usr/bin:/bin"}, text=True, capture_output=True, check=True)
        preflight = json.loads(done.stdout)["preflight"]
        self.assertEqual([node["node"] for node in preflight["nodes"]], [0, 1])
        self.assertNotIn("pairs", preflight)
        self.assertIn("bert_train", preflight["pairs_problem"])

    def test_a_signal_ends_a_preflight_and_what_it_started(self):
        # Stands for a launcher that takes a moment to end what it started elsewhere.
        fake, places = os.path.join(self.folder, "bin"), os.path.join(self.folder, "tmp")
        os.mkdir(fake)
        os.mkdir(places)
        with open(os.path.join(fake, "ssh"), "w", encoding="utf-8") as text:
            text.write(f"#!/bin/sh\ntouch {self.folder}/started\ncat > /dev/null\nsleep 0.1\n"
                       f"touch {self.folder}/ended\n")
        os.chmod(os.path.join(fake, "ssh"), 0o755)
        with subprocess.Popen([BERTBENCH, "doctor", "--launcher", "ssh", "--set", 'hosts=["gpu01"]', "--out", "run"],
                              cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env={**self.variables, "TMPDIR": places,
                                   "PATH": fake + ":" + self.variables["PATH"]}) as doctor:
            while doctor.poll() is None and not os.path.exists(os.path.join(self.folder, "started")):
                time.sleep(0.01)
            doctor.send_signal(signal.SIGINT)
            _, said = doctor.communicate()
        self.assertEqual(doctor.returncode, 130, said)
        self.assertIn("interrupted", said)
        self.assertTrue(os.path.exists(os.path.join(self.folder, "ended")), "it was not given time to end")
        self.assertEqual(os.listdir(places), [])
        self.assertFalse(os.path.exists(os.path.join(self.folder, "run")))

    def test_what_a_preflight_needs_is_said(self):
        done = self.bertbench("doctor", "--nodes", "2", status=2)
        self.assertIn("--launcher", done.stderr)
        done = self.bertbench("doctor", "--launcher", "local", "--nodes", "none", status=2)
        self.assertIn("whole number", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
