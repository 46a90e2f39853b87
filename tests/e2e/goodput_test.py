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
NEAR = 0.01


def lines_of(path):
    """Whole lines of JSON."""
    with open(path, encoding="utf-8") as text:
        return [json.loads(line) for line in text if line.endswith("\n")]


class Goodput(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="bb-goodput-")
        self.jobs = []  # (first line was there, ended), by this test's clock

    def tearDown(self):
        self.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def job(self, number, steps, kill_at):
        words = [TRAINER, "--model", "bert-tiny", "--micro-batch-size", "2", "--sequence-length", "16",
                 "--steps", str(steps), "--threads", "1", "--checkpoint", self.path("checkpoints"),
                 "--checkpoint-every", str(EVERY), "--timings", self.path(f"timings_{number}.jsonl")]
        if number > 0:
            words += ["--resume", self.path("checkpoints")]
        log = self.path(f"logs/job_{number}.log")
        with open(log, "w", encoding="utf-8") as out:
            process = subprocess.Popen(words, stdout=out, stdin=subprocess.DEVNULL)
        begin = None
        while process.poll() is None:
            with open(log, encoding="utf-8") as out:
                text = out.read()
            if begin is None and text:
                begin = time.monotonic()
            if kill_at and f'"step":{kill_at},' in text:
                process.send_signal(signal.SIGKILL)
                break
            time.sleep(0.002)
        process.wait()
        self.jobs.append((begin, time.monotonic()))
        self.assertEqual(process.returncode, -signal.SIGKILL if kill_at else 0)

    def test_a_training_that_is_killed_and_resumed(self):
        os.mkdir(self.path("logs"))
        steps = 30 * (KILLS + 1)
        for number in range(KILLS + 1):
            # Some steps after a checkpoint, other ones each time.
            last = number == KILLS
            self.job(number, steps, 0 if last else 30 * (number + 1) - 8 + 3 * (number % 3))
            if not last:
                time.sleep(PAUSE_S)
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
              f"lost {parts['lost']:.3f} s and {lost_s:.3f} s; other {other:.3f} s")
        self.assertEqual(found["steps"]["counted"], steps)
        self.assertGreater(parts["checkpoint"], 0)
        together = parts["counted"] + parts["lost"] + other
        self.assertAlmostEqual(together, counted_s + lost_s, delta=NEAR * together + KILLS * longest)
        self.assertAlmostEqual(parts["counted"], counted_s, delta=NEAR * counted_s + other)
        # Of a job that was killed the log may hold one step more than the timings.
        self.assertAlmostEqual(parts["lost"], lost_s, delta=NEAR * lost_s + other + KILLS * longest)

        total = self.jobs[-1][1] - self.jobs[0][0]
        print(f"total {found['total_s']:.3f} s, by the test's clock {total:.3f} s")
        self.assertAlmostEqual(found["total_s"], total, delta=5 * NEAR * total)
        self.assertAlmostEqual(sum(parts.values()), found["total_s"], delta=1e-6 * total)
        self.assertEqual(len(found["jobs"]), KILLS + 1)
        self.assertGreater(parts["between"], KILLS * PAUSE_S)
        self.assertTrue(found["between_known"])
        with open(self.path("out.svg"), encoding="utf-8") as text:
            self.assertIn("steps that were lost", text.read())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
