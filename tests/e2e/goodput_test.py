#!/usr/bin/env python3
"""Goodput of a real training that is killed and resumed, against the trainer's own --timings and
the times at which this test started and ended its jobs.
goodput_test.py BERTBENCH BERT_TRAIN [KILLS]"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BERTBENCH, TRAINER = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
KILLS = int(sys.argv[3]) if len(sys.argv) > 3 else 4
EVERY = 10  # steps between checkpoints
PAUSE_S = 0.5  # between jobs
NEVER = 1_000_000  # steps: no job gets there before it is killed
STAMP_S = 0.01  # by which stamps in logs are rounded, and more
NEAR = 0.01


def lines_of(path):
    """Whole lines of JSON."""
    with open(path, encoding="utf-8") as text:
        return [json.loads(line) for line in text if line.endswith("\n")]


class Goodput(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="bb-goodput-")
        self.jobs = []  # (started, first line was there, ended), by this test's clock

    def tearDown(self):
        self.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def job(self, number, steps, kill_at):
        """Up to `steps`, or killed once step `kill_at` is in the log. Gives the last step there."""
        words = [TRAINER, "--model", "bert-tiny", "--micro-batch-size", "2", "--sequence-length", "16",
                 "--steps", str(steps), "--threads", "1", "--checkpoint", self.path("checkpoints"),
                 "--checkpoint-every", str(EVERY), "--timings", self.path(f"timings_{number}.jsonl")]
        if number > 0:
            words += ["--resume", self.path("checkpoints")]
        log = self.path(f"logs/job_{number}.log")
        started = time.time()
        with open(log, "w", encoding="utf-8") as out:
            process = subprocess.Popen(words, stdout=out, stdin=subprocess.DEVNULL)
        begin = None
        while process.poll() is None:
            with open(log, encoding="utf-8") as out:
                text = out.read()
            if begin is None and text:
                begin = time.time()
            if kill_at and f'"step":{kill_at},' in text:
                process.send_signal(signal.SIGKILL)
                break
            time.sleep(0.002)
        process.wait()
        self.jobs.append((started, begin, time.time()))
        self.assertEqual(process.returncode, -signal.SIGKILL if kill_at else 0)
        return max(line["step"] for line in lines_of(log) if line["type"] == "step")

    def test_a_training_that_is_killed_and_resumed(self):
        os.mkdir(self.path("logs"))
        reached = 0
        for number in range(KILLS):
            # Some steps after a checkpoint, other ones each time. On a busy machine it is more of them.
            kill_at = reached - reached % EVERY + 22 + 3 * (number % 3)
            reached = self.job(number, NEVER, kill_at)
            time.sleep(PAUSE_S)
        steps = reached + 30
        self.job(KILLS, steps, 0)
        done = subprocess.run([BERTBENCH, "goodput", self.path("logs"), "--json", "-o", self.path("out.svg")],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)

        first = [lines_of(self.path(f"timings_{n}.jsonl"))[0]["step"] for n in range(KILLS + 1)]
        counted_s = lost_s = 0.0
        longest = 0.0
        for number in range(KILLS + 1):
            keep = min(first[number + 1:], default=steps + 1) - 1
            for line in lines_of(self.path(f"timings_{number}.jsonl")):
                longest = max(longest, line["seconds"])
                if line["step"] <= keep:
                    counted_s += line["seconds"]
                else:
                    lost_s += line["seconds"]
        parts = found["seconds"]
        # The timings of a step hold whatever lay before it: the checkpoint, and a machine at work on
        # something else.
        other = parts.get("stall", 0) + parts.get("checkpoint", 0)
        print(f"counted {parts['counted']:.3f} s, by the timings {counted_s:.3f} s; "
              f"lost {parts.get('lost', 0):.3f} s and {lost_s:.3f} s; other {other:.3f} s")
        self.assertEqual(found["steps"]["counted"], steps)
        self.assertGreater(parts["checkpoint"], 0)
        lost = parts.get("lost", 0)
        together = parts["counted"] + lost + other
        self.assertAlmostEqual(together, counted_s + lost_s, delta=NEAR * together + KILLS * longest)
        self.assertAlmostEqual(parts["counted"], counted_s, delta=NEAR * counted_s + other)
        # Of a job that was killed the log may hold one step more than the timings.
        self.assertAlmostEqual(lost, lost_s, delta=NEAR * lost_s + other + KILLS * longest)

        # From the first job's first line, which came after its start and before it was found here, to
        # the last job's last one, which came after its start and before its end.
        least = self.jobs[-1][0] - self.jobs[0][1] - STAMP_S
        most = self.jobs[-1][2] - self.jobs[0][0] + STAMP_S
        print(f"total {found['total_s']:.3f} s, by the test's clock {least:.3f} to {most:.3f} s")
        self.assertTrue(least <= found["total_s"] <= most)
        self.assertAlmostEqual(sum(parts.values()), found["total_s"], delta=1e-6 * most)
        self.assertEqual(len(found["jobs"]), KILLS + 1)
        self.assertGreater(parts["between"], KILLS * (PAUSE_S - STAMP_S))
        self.assertTrue(found["between_known"])
        with open(self.path("out.svg"), encoding="utf-8") as text:
            self.assertIn("steps that were lost", text.read())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
