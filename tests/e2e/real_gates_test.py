#!/usr/bin/env python3
"""scripts/real_gates: its statistics against published values, its judging of made-up grids, and a
small measurement. real_gates_test.py BERTBENCH SOURCE_DIR"""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import random
import sys
import tempfile
import unittest
import unittest.mock

BERTBENCH, SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("real_gates", os.path.join(SOURCE, "scripts/real_gates"))
real_gates = importlib.util.module_from_spec(importlib.util.spec_from_loader("real_gates", loader))
loader.exec_module(real_gates)
sys.path.insert(0, os.path.join(SOURCE, "scripts/lib"))
import result_sets  # noqa: E402


def grid(number, trials=14, noise=0.002):
    """Three cells of two variants, and of the slowed ones in one cell, with the losses that their
    names say."""
    draw = random.Random(number)
    cells = []
    for batch in (1, 2, 4):
        slowed = batch == (1, 2, 4)[number % 3]
        for variant in real_gates.VARIANTS if slowed else real_gates.VARIANTS[:2]:
            rate = 100 * batch / (1 + real_gates.LOSSES.get(variant, 0))
            identity = result_sets.identity(framework="bert_train", model="bert-tiny", sequence_length=16,
                                            micro_batch_size=batch, variant=variant)
            cells.append(result_sets.cell(identity, [
                result_sets.trial(t, rate * (1 + noise * draw.gauss(0, 1)), block={"session": 1, "position": 1})
                for t in range(1, trials + 1)]))
    return real_gates.Grid(number, result_sets.result_set(
        cells, created=f"2026-01-01T00:00:{number:02d}Z", environment={"machine": "m"}))


class Statistics(unittest.TestCase):
    def test_known_values(self):
        self.assertAlmostEqual(real_gates.beta_share(2, 3, 0.5), 0.6875, 12)
        self.assertAlmostEqual(real_gates.beta_share(0.5, 0.5, 0.25), 1 / 3, 12)
        # Clopper and Pearson 1934: no event in 40 is below 1 - 0.025^(1/40).
        self.assertEqual(real_gates.clopper_pearson(0, 40)[0], 0)
        self.assertAlmostEqual(real_gates.clopper_pearson(0, 40)[1], 1 - 0.025 ** (1 / 40), 9)
        self.assertAlmostEqual(real_gates.clopper_pearson(38, 40)[0], 0.830803, 6)
        # t = 3.674 with 4 degrees of freedom.
        self.assertAlmostEqual(real_gates.welch_slower([1, 2, 3], [4, 5, 6]), 0.0106558, 6)
        self.assertAlmostEqual(real_gates.welch_slower([4, 5, 6], [1, 2, 3]), 1 - 0.0106558, 6)
        self.assertAlmostEqual(real_gates.rank_sum_slower([1, 2, 3], [4, 5, 6]), 1 / 20)
        self.assertAlmostEqual(real_gates.rank_sum_slower([1, 2, 4], [3, 5, 6]), 2 / 20)
        self.assertEqual(real_gates.rank_sum_slower([4, 5, 6], [1, 2, 3]), 1)


class Judged(unittest.TestCase):
    def test_grids_of_known_losses(self):
        grids = [grid(n) for n in range(7)]
        with tempfile.TemporaryDirectory() as folder:
            counts = real_gates.judge(grids, real_gates.Bertbench(BERTBENCH, folder))
        for gate, of in (("paired", 7), ("store", 2), ("store, confirmed", 2), ("Welch's t-test", 6)):
            self.assertEqual(counts[gate].of["clean"], of, gate)
            self.assertEqual(counts[gate].grids["slow3"], of, gate)
        for gate in ("paired", "store", "store, confirmed"):
            self.assertEqual(counts[gate].grids["clean"], 0, gate)
        self.assertEqual(counts["fixed 5 %, medians"].grids["slow3"], 0)

    def test_a_grid_that_lost_six_percent(self):
        grids = [grid(n) for n in range(6)]
        for cell in grids[5].result["cells"]:
            if cell["identity"]["variant"] != "base":
                for trial in cell["trials"]:
                    trial["sequences_per_second"] *= 0.94
        with tempfile.TemporaryDirectory() as folder:
            counts = real_gates.judge(grids, real_gates.Bertbench(BERTBENCH, folder))
        for gate in ("paired", "store", "store, confirmed", "fixed 5 %, medians", "rank sum"):
            self.assertEqual(counts[gate].grids["clean"], 1, gate)
        self.assertEqual(counts["fixed 10 %, one trial"].grids["clean"], 0)

    def test_too_few_trials_confirm_nothing(self):
        grids = [grid(n, trials=10) for n in range(6)]
        with tempfile.TemporaryDirectory() as folder:
            counts = real_gates.judge(grids, real_gates.Bertbench(BERTBENCH, folder))
        self.assertEqual(counts["store"].of["clean"], 1)
        self.assertEqual(counts["store, confirmed"].of["clean"], 0)


class Measured(unittest.TestCase):
    def run_script(self, *args):
        out = io.StringIO()
        argv = ["real_gates", "--build", os.path.dirname(BERTBENCH), "--out", self.folder.name, *args]
        small = {"topology": ["1n1g"], "model": ["bert-tiny"], "precision": ["fp32"], "micro_batch_size": [1],
                 "sequence_length": [16]}
        with unittest.mock.patch.object(sys, "argv", argv), unittest.mock.patch.object(real_gates, "GRID", small), \
                contextlib.redirect_stdout(out):
            real_gates.main()
        return out.getvalue()

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()

    def tearDown(self):
        self.folder.cleanup()

    def test_it_goes_on_where_it_was(self):
        text = self.run_script("--grids", "1", "--pairs", "2")
        self.assertIn("1 grids of 1 cells, 2 blocks", text)
        journal = os.path.join(self.folder.name, "grid_0000/journal.jsonl")
        with open(journal, encoding="utf-8") as lines:
            before = lines.read()
        self.assertEqual(before.count('"event":"finished"'), 8)  # four variants, two blocks
        with open(os.path.join(self.folder.name, "grid_0000/results.json"), encoding="utf-8") as text:
            cells = {cell["identity"]["variant"]: cell for cell in json.load(text)["cells"]}
        self.assertEqual(sorted(cells), sorted(real_gates.VARIANTS))
        with open(os.path.join(self.folder.name, "train_slow3"), encoding="utf-8") as text:
            self.assertIn("--handicap 3% ", text.read())
        text = self.run_script("--grids", "2", "--pairs", "2", "--load", "1")
        self.assertIn("2 grids of 1 cells, 2 blocks", text)
        with open(journal, encoding="utf-8") as lines:
            self.assertEqual(lines.read(), before)
        self.assertEqual(self.run_script("--report"), text)
        with self.assertRaisesRegex(SystemExit, "grids of other settings"):
            self.run_script("--grids", "3", "--pairs", "3")


    def test_variants_that_take_turns(self):
        self.run_script("--grids", "1", "--pairs", "2", "--turn-s", "0.002")
        with open(os.path.join(self.folder.name, "grid_0000/results.json"), encoding="utf-8") as text:
            cells = json.load(text)["cells"]
        self.assertEqual(len(cells), 4)
        for cell in cells:
            self.assertEqual(cell["context"]["turn_s"], 0.002)
            for trial in cell["trials"]:
                self.assertEqual((trial["outcome"]["status"], trial["block"]["session"]), ("completed", 1))
                # All four started up at the same time, and each waited for the steps of the others.
                self.assertNotIn("arrival", trial["estimators"])
        with self.assertRaisesRegex(SystemExit, "grids of other settings"):
            self.run_script("--grids", "1", "--pairs", "2")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
