#!/usr/bin/env python3
"""The commands of docs/own_trainer.md, run as they stand there, and what they print.
own_trainer_test.py BERTBENCH SOURCE_DIR"""

import glob
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

BERTBENCH, SOURCE = os.path.abspath(sys.argv[1]), sys.argv[2]
with open(os.path.join(SOURCE, "docs/own_trainer.md"), encoding="utf-8") as source:
    PAGE = source.read()
COMMANDS = re.findall(r"```sh\n(.*?)```", PAGE, re.S)
FILES = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE, re.S)]
LINE = "python3 train.py --batch {micro_batch_size} --steps {steps}".split()


class OwnTrainer(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="bb-own-")
        shutil.copy(os.path.join(SOURCE, "tests/e2e/own_trainer/train.py"), self.folder)
        for name, content in (("settings.json", FILES[0]), ("own.json", FILES[1])):
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as out:
                json.dump(content, out)
        # A rank of a launcher around this test is none of ours.
        self.variables = {name: value for name, value in os.environ.items() if name != "RANK"}
        self.variables["PATH"] = f"{os.path.dirname(BERTBENCH)}:{os.environ['PATH']}"

    def tearDown(self):
        shutil.rmtree(self.folder)

    def text(self, path):
        if not os.path.exists(path):
            return ""
        with open(path, encoding="utf-8") as source:
            return source.read()

    def of_page(self, words, status=0):
        """Runs the command of the page that holds `words`."""
        (command,) = (one for one in COMMANDS if words in one)
        return self.done(["bash", "-euc", command], status)

    def sweep(self, *words, status=0):
        return self.done([BERTBENCH, "sweep", *words], status)

    def done(self, words, status):
        done = subprocess.run(words, cwd=self.folder, env=self.variables, text=True, capture_output=True,
                              check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def result(self, out):
        with open(os.path.join(self.folder, out, "results.json"), encoding="utf-8") as text:
            return {cell["key"]: cell for cell in json.load(text)["cells"]}

    def clock(self, out, cell):
        """Sequences per second of one rank by the lines of the logs: of their median step, which a machine that
        stood still for a moment leaves alone."""
        seconds = []
        for trial in cell["trials"]:
            log = self.text(os.path.join(self.folder, out, os.path.dirname(trial["log"]), "log.txt"))
            seconds += [float(s) for s in re.findall(r"(\S+) s/step", log)]
        return cell["micro_batch_size"] / statistics.median(seconds)

    def test_a_dry_run_shows_each_process(self):
        done = self.of_page("--dry-run")
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 4)
        two = next(line for line in lines if "b4" in line and "1n2g" in line)
        for piece in ("world_size=2", "processes=2", "RANK=0..1", "train.py --batch 4 --steps 60"):
            self.assertIn(piece, two)

    def test_the_grid_is_measured_and_resumed(self):
        done = self.of_page("--out run ")
        cells = self.result("run")
        self.assertEqual(set(cells), {f"?.?.s?.b{b}.a1.1n{g}g" for b in (4, 8) for g in (1, 2)})
        for key, cell in cells.items():
            self.assertIn(key, done.stdout)
            self.assertEqual(cell["throughput"]["n"], 5)
            self.assertEqual({trial["outcome"]["status"] for trial in cell["trials"]}, {"completed"})
            expected = self.clock("run", cell) * cell["world_size"]
            # The window may leave slow steps out; another unit or world size would be a factor of 2.
            measured = statistics.median(trial["sequences_per_second"] for trial in cell["trials"])
            self.assertLess(abs(measured / expected - 1), 0.4)
            self.assertEqual(cell["context"]["command"], LINE)
        self.assertIn("4 cells, 20 trials", done.stderr)
        again = self.of_page("--out run ")
        self.assertIn("resumed: 20 of 20 trials done before and kept, 0 to run", again.stderr)
        self.assertEqual(self.result("run"), cells)
        # Other words: nothing of before is kept.
        changed = self.sweep("--out", "run", "--grid", "micro_batch_size=4", "--trials", "1", "--",
                             *LINE, "--lr", "0.2")
        self.assertIn("its command has changed", changed.stderr)

    def test_a_killed_sweep_loses_no_finished_trial(self):
        words = [BERTBENCH, "sweep", "--out", "run", "--grid", "micro_batch_size=4", "--trials", "3",
                 "--", *LINE]
        self.signal_while_it_hangs(words, 2, signal.SIGKILL)
        done = self.done(words, 0)
        self.assertIn("resumed: 1 of 3 trials done before", done.stderr)
        self.assertEqual(self.result("run")["?.?.s?.b4.a1.1n1g"]["throughput"]["n"], 3)

    def test_facts_name_the_cell(self):
        self.of_page("--out named")
        (cell,) = self.result("named").values()
        self.assertEqual(cell["key"], "tiny.fp32.s16.b4.a1.1n1g")

    def test_an_option_is_an_axis(self):
        self.of_page("--out rates")
        self.assertEqual(set(self.result("rates")), {f"?.?.s?.b4.a1.1n1g+lr={lr}" for lr in ("1e-2", "1e-1")})

    def test_a_file_is_written_for_each_trial(self):
        self.of_page("--out files")
        (cell,) = self.result("files").values()
        trial = os.path.join(self.folder, "files", os.path.dirname(cell["trials"][0]["log"]))
        with open(os.path.join(trial, "files/settings.json"), encoding="utf-8") as text:
            self.assertEqual(json.load(text), {"batch": 4, "steps": 30, "lr": 0.1})
        self.assertEqual(cell["trials"][0]["iterations"]["seen"], 30)

    @unittest.skipUnless(shutil.which("mpirun"), "no mpirun")
    def test_mpirun_starts_it_as_well(self):
        self.of_page("--out mpi")
        (cell,) = self.result("mpi").values()
        self.assertEqual(cell["key"], "?.?.s?.b4.a1.1n2g")
        self.assertEqual(cell["trials"][0]["outcome"]["status"], "completed")

    def test_an_exit_status_is_the_outcome(self):
        done = self.of_page("--out crash", status=1)
        (cell,) = self.result("crash").values()
        outcome = cell["trials"][0]["outcome"]
        self.assertEqual((outcome["status"], outcome["step"]), ("error", 19))
        self.assertIn("exit status 3", outcome["detail"])
        self.assertIn("exit status 3", done.stderr)

    def test_a_raised_error_is_the_outcome_on_two_ranks(self):
        self.sweep("--out", "run", "--grid", "topology=1n2g", "--grid", "micro_batch_size=4", "--trials", "1",
                   "--", *LINE, "--fail-at", "10", status=1)
        (cell,) = self.result("run").values()
        self.assertEqual(cell["trials"][0]["iterations"]["seen"], 9)
        self.assertEqual(cell["trials"][0]["outcome"]["status"], "error")
        self.assertIn("ValueError: no such token", cell["trials"][0]["outcome"]["detail"])

    def first_log(self, out):
        """What the first attempt of the first trial of the only cell printed."""
        found = glob.glob(os.path.join(self.folder, out, "*/trial_1/log.txt"))
        return self.text(found[0]) if found else ""

    def crash_at(self, step):
        """The trainer of the same command line, which raises an error at this step."""
        path = os.path.join(self.folder, "train.py")
        text = self.text(path)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text.replace('"--fail-at", type=int, default=0', f'"--fail-at", type=int, default={step}'))

    def signal_while_it_hangs(self, words, start, number):
        """The trainer's start of that number hangs at step 13, and the harness gets a signal. Its status and notes."""
        path, starts, hangs = (os.path.join(self.folder, name) for name in ("train.py", "starts", "hangs"))
        text = self.text(path)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text.replace("    if args.fail_at == step:", f"""    if step == 1:
        with open("{starts}", "a") as count:
            count.write("x")
    if step == 13 and os.path.getsize("{starts}") == {start}:
        open("{hangs}", "w").close()
        time.sleep(3600)
    if args.fail_at == step:"""))
        with subprocess.Popen(words, cwd=self.folder, env=self.variables, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True) as harness:
            # Its line of step 12 is there a moment before it hangs: only the file shows that it does.
            while harness.poll() is None and not os.path.exists(hangs):
                time.sleep(0.01)
            harness.send_signal(number)
            notes = harness.communicate()[1]
        return harness.returncode, notes

    def check(self, *words, status):
        return self.done([BERTBENCH, "check", *words], status)

    def test_a_trainer_that_crashes_fails_the_sweep_and_the_gate(self):
        words = ["--grid", "micro_batch_size=4,8", "--trials", "5", "--set", "steps=40", "--", *LINE]
        self.sweep("--out", "good", *words)
        self.crash_at(12)
        done = self.sweep("--out", "bad", *words, status=1)
        self.assertIn("10 trials failed", done.stderr)
        self.assertIn("5 error at step 11", done.stdout)
        again = self.sweep("--out", "bad", *words, status=1)
        self.assertIn("10 of 10 trials done before and kept", again.stderr)
        # Its cells have numbers, and fail all the same.
        limits = ["--floor", "90%", "--allow-context", "loss"]
        seen = self.check("bad", "--baseline", "good", *limits, "--github", "--junit", "junit.xml", status=1)
        self.assertIn("::error title=regression", seen.stdout)
        self.assertIn("5 of 5 trials failed (error x5), 0 of 5 in the baseline", seen.stdout)
        self.assertIn('failures="2"', self.text(os.path.join(self.folder, "junit.xml")))
        cells = json.loads(self.check("bad", "--baseline", "good", *limits, "--json", status=1).stdout)["cells"]
        self.assertEqual({cell["reason_code"] for cell in cells}, {"more_trials_failed"})
        self.assertEqual({cell["outcomes"]["failed_new"] for cell in cells}, {5})
        # A baseline of failures is taken with a word, and lets as many pass.
        added = self.done([BERTBENCH, "store", "add", "bad", "--db", "bad.db"], 0)
        self.assertIn("10 of 10 trials failed (error x10; in 2 cells)", added.stderr)
        same = self.check("bad", "--baseline", "bad.db", *limits, status=0)
        self.assertIn("no clearly larger share", same.stdout)

    def test_a_trial_that_ctrl_c_cut_short_is_run_again(self):
        words = [BERTBENCH, "sweep", "--out", "run", "--grid", "micro_batch_size=4", "--trials", "1", "--set",
                 "steps=40", "--", *LINE]
        status, notes = self.signal_while_it_hangs(words, 1, signal.SIGINT)
        self.assertEqual(status, 130, notes)
        cut = self.first_log("run")
        self.assertNotIn("step 13 ", cut)
        self.done(words, 0)
        (cell,) = self.result("run").values()
        (result,) = cell["trials"]
        self.assertEqual((result["attempt"], result["iterations"]["seen"]), (2, 40))
        self.assertEqual(result["outcome"]["status"], "completed")
        self.assertEqual(self.first_log("run"), cut)

    def test_a_configuration_has_all_of_it(self):
        self.of_page("sweep own.json")
        self.assertEqual(set(self.result("own")), {"?.?.s?.b4.a1.1n1g", "?.?.s?.b4.a1.1n2g"})
        (cell, _) = self.result("own").values()
        self.assertEqual(cell["framework"], "plain python")
        # What it resolved to runs the same trials.
        again = self.sweep("own/sweep.json", "--out", "own")
        self.assertIn("resumed: 4 of 4 trials", again.stderr)
        self.done([BERTBENCH, "report", "own", "--to", "markdown", "-o", "own.md"], 0)
        self.done([BERTBENCH, "sweep", "own/sweep.json", "--out", "own", "--plan"], 0)

    def test_a_regression_is_confirmed_by_the_run_s_own_configuration(self):
        for out in ("a", "b"):
            self.sweep("--out", out, "--grid", "micro_batch_size=4", "--trials", "6", "--set", "steps=20", "--", *LINE)
        path = os.path.join(self.folder, "a/results.json")
        faster = json.loads(self.text(path))
        for trial in faster["cells"][0]["trials"]:
            trial["sequences_per_second"] *= 3
        with open(path, "w", encoding="utf-8") as out:
            json.dump(faster, out)
        done = self.done([BERTBENCH, "check", "b", "--baseline", "a/results.json", "--confirm", "b/sweep.json"], 1)
        self.assertIn("confirming 1 flagged cell", done.stderr)

    def test_other_commands_are_not_compared(self):
        for out, more in (("a", []), ("b", ["--lr", "0.3"])):
            self.sweep("--out", out, "--grid", "micro_batch_size=4", "--trials", "1", "--set", "steps=30",
                       "--", *LINE, *more)
        done = self.done([BERTBENCH, "check", "b", "--baseline", "a/results.json"], 4)
        self.assertIn("--lr", done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
