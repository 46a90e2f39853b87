#!/usr/bin/env python3
"""The clock that no log can falsify: a sweep of a trainer that prints a counter and nothing else is
measured by when its lines came, and compared with the trainer's own times.
arrival_test.py BERTBENCH SOURCE_DIR"""

import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BERTBENCH, SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
TRAINER = os.path.join(SOURCE, "tests/e2e/own_trainer/count.py")
NEAR = 0.05  # of the trainer's own clock, on a machine with other work
ERRORS = 3  # standard deviations that a rate may be off where it states itself that it is no nearer
ENOUGH_ARRIVALS = 6  # for a rate: two marks and what a busy machine leaves out


class Arrival(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="bb-arrival-")
        self.variables = {name: value for name, value in os.environ.items()
                          if name not in ("RANK", "PYTHONUNBUFFERED")}

    def tearDown(self):
        shutil.rmtree(self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def sweep(self, *options, before=(), status=0):
        words = [BERTBENCH, "sweep", "--out", "run", "--grid", "micro_batch_size=4", "--trials", "1", *before,
                 "--", sys.executable, TRAINER, "--clock", self.path("clock.txt"), *options]
        done = subprocess.run(words, cwd=self.folder, env=self.variables, text=True,
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        with open(self.path("run/results.json"), encoding="utf-8") as text:
            (cell,) = json.load(text)["cells"]
        (trial,) = cell["trials"]
        return trial

    def true_rate(self, trial):
        """Sequences per second over the window, without the time before its first record."""
        with open(self.path("clock.txt"), encoding="utf-8") as text:
            ends = [float(line) for line in text]
        first, last = trial["window"]["first_step"], trial["window"]["last_step"]
        begin = max(first, 1)
        return 4 * (last - begin) / (ends[last - 1] - ends[begin - 1])

    def assert_true(self, trial, rate):
        """Of a harness that was held up for long the rate has a larger error, and its own word for it."""
        self.assertLess(abs(rate / self.true_rate(trial) - 1),
                        max(NEAR, ERRORS * trial["expected_error"]["arrival"]))

    def codes(self, trial):
        return [notice["code"] for notice in trial.get("notices", [])]

    def test_a_counter_is_enough(self):
        trial = self.sweep()
        self.assertEqual(trial["outcome"]["status"], "completed")
        self.assertEqual(trial["estimator"], "arrival")
        self.assertEqual(trial["iterations"]["seen"], 200)
        self.assert_true(trial, trial["sequences_per_second"])
        self.assertGreater(trial["resolution"]["arrival"], 0)
        self.assertGreater(trial["expected_error"]["arrival"], 0)
        self.assertNotIn("arrival_in_bursts", self.codes(trial))

    def test_the_arrivals_are_kept(self):
        trial = self.sweep()
        log = self.path(os.path.join("run", trial["log"]))
        with open(log + ".arrivals.csv", encoding="utf-8") as text:
            lines = text.read().splitlines()
        self.assertEqual(lines[0], "from_byte,to_byte,look_s,age_s,gap_s,quiet_s")
        self.assertEqual(int(lines[-1].split(",")[1]), os.path.getsize(log))
        # `extract` reads the trial as the sweep did.
        read = subprocess.run([BERTBENCH, "extract", "--json", "--micro-batch-size", "4", "--nodes", "1",
                               "--gpus-per-node", "1", "--gradient-accumulation-steps", "1", log],
                              text=True, capture_output=True, check=True)
        self.assertEqual(json.loads(read.stdout)["cells"][0]["trials"][0]["sequences_per_second"],
                         trial["sequences_per_second"])
        # Read again from its log, as after another program's hands on it.
        os.utime(log)
        self.assertEqual(self.sweep(), trial)
        # Without them the log alone says nothing of time.
        os.remove(log + ".arrivals.csv")
        os.utime(log)
        self.assertNotIn("arrival", self.sweep(status=1).get("estimators", {}))

    def test_a_killed_harness_loses_none(self):
        words = [BERTBENCH, "sweep", "--out", "run", "--grid", "micro_batch_size=4", "--trials", "1", "--",
                 sys.executable, TRAINER, "--clock", self.path("clock.txt")]
        with subprocess.Popen(words, cwd=self.folder, env=self.variables, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as harness:
            while harness.poll() is None and len(self.recorded()) < ENOUGH_ARRIVALS:
                time.sleep(0.02)
            harness.send_signal(signal.SIGKILL)
        self.assertGreaterEqual(len(self.recorded()), ENOUGH_ARRIVALS)
        # The attempt that the harness left is made again, and its arrivals stay next to its log.
        before = self.recorded()
        trial = self.sweep()
        self.assertEqual(trial["attempt"], 2)
        self.assertEqual(self.recorded(), before)
        self.assertEqual(trial["estimator"], "arrival")
        self.assert_true(trial, trial["sequences_per_second"])

    def recorded(self):
        """The lines of arrivals that are on disk."""
        lines = []
        for path in glob.glob(self.path("run/*/trial_1/log.txt.arrivals.csv")):
            with open(path, encoding="utf-8") as text:
                lines += text.read().splitlines()[1:]
        return lines

    def test_a_log_that_is_followed_has_the_clock(self):
        log = self.path("train.log")
        with open(log, "wb") as out, subprocess.Popen(
                [sys.executable, TRAINER, "--clock", self.path("clock.txt"), "--state", "0.02"], stdout=out,
                env=self.variables) as trainer, subprocess.Popen(
                [BERTBENCH, "extract", "--follow", "--json", log], stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, env=self.variables) as follower:
            trainer.wait()
            time.sleep(1)  # some looks more
            follower.send_signal(signal.SIGINT)
            (cell,) = json.loads(follower.communicate()[0])["cells"]
        (trial,) = cell["trials"]
        self.assert_true(trial, 4 * trial["estimators"]["arrival"])

    def test_output_that_is_kept_back_is_no_clock(self):
        trial = self.sweep("--keep-back", status=1)  # all lines come at the end
        self.assertNotIn("estimator", trial)
        self.assertIn("arrival_in_bursts", self.codes(trial))
        listed = subprocess.run([BERTBENCH, "list", "notices"], text=True, capture_output=True, check=True)
        self.assertIn("PYTHONUNBUFFERED=1", listed.stdout)

    def test_blocks_of_a_buffer_are_no_clock_but_its_cure_is(self):
        options = ["--keep-back", "--pad", "100", "--steps", "400"]
        trial = self.sweep(*options, status=1)
        self.assertNotEqual(trial.get("estimator"), "arrival")
        self.assertIn("arrival_in_bursts", self.codes(trial))
        (text,) = (n["text"] for n in trial["notices"] if n["code"] == "arrival_in_bursts")
        self.assertIn("PYTHONUNBUFFERED=1", text)
        self.variables["PYTHONUNBUFFERED"] = "1"
        shutil.rmtree(self.path("run"))
        trial = self.sweep(*options)
        self.assertEqual(trial["estimator"], "arrival")
        self.assert_true(trial, trial["sequences_per_second"])

    def test_a_time_that_is_not_true_is_reported(self):
        trial = self.sweep("--state", "0.005")
        self.assertEqual(trial["estimator"], "arrival", "the time of a line that no format knows is a guess")
        self.assertIn("arrival_differs", self.codes(trial))
        self.assert_true(trial, trial["estimators"]["arrival"])


unittest.main(argv=sys.argv[:1])
