#!/usr/bin/env python3
"""predict_step.py on the table of machine code and on altered ones, and report.py, which has its
predictions next to a profile: predict_step_test.py"""

import csv
import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))
import predict_step
from machine_code import kernels_of, table_of

WANTED_MS = 134  # of bert-large, 256 x 128, without cuDNN's attention and a search of algorithms
GELU = predict_step.CODE["gelu_forward_kernel"]


def run(*arguments, script="predict_step.py"):
    return subprocess.run([sys.executable, "-B", str(HERE / script), *map(str, arguments)],
                          capture_output=True, text=True)


def step_of(output):
    return float(re.search(r"^predicted: ([\d.]+) ms a step", output, re.M)[1])


def kernels():
    return kernels_of(predict_step.newest_table().read_text())


class PredictStep(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def predict(self, text):
        table = self.folder / "table.txt"
        table.write_text(text)
        return run("--table", table)

    def refused(self, done, *parts):
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertEqual(done.stdout, "")
        self.assertRegex(done.stderr, r"^error: .*\n$")
        for part in parts:
            self.assertIn(part, done.stderr)

    def test_a_step_of_bert_large_takes_no_longer_than_wanted(self):
        done = run()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLessEqual(step_of(done.stdout), WANTED_MS)
        for name in (*predict_step.CODE, "reduce_partials_kernel"):
            if not name.startswith(("flash_query", "flash_key")):  # of longer sequences
                self.assertRegex(done.stdout, rf"(?m)^{name} ")

    def test_what_was_not_executed_stands_apart(self):
        sums, apart = run().stdout.split("Apart, in no sum above:\n")
        self.assertIn("predicted: ", sums)
        self.assertNotIn("not executed", sums)
        for part in ("cuDNN's attention", "search of products' algorithms"):
            self.assertRegex(apart, rf"(?m)^{part} .*not executed$")

    def test_the_parts_add_up_to_the_step(self):
        line = re.search(r"^predicted: .*$", run().stdout, re.M)[0]
        parts = re.findall(r"(?:products|kernels|rest) ([\d.]+) ms", line)
        self.assertEqual(len(parts), 3)
        self.assertAlmostEqual(sum(map(float, parts)), step_of(line), delta=0.2)

    def test_mfu_is_that_of_the_formula_masked_head(self):
        # docs/performance.md: bert-large of 128 tokens, 1986 sequences a second are 48.3 % of 989.5.
        flops = predict_step.Shape("bert-large", 256, 128).flops()
        self.assertAlmostEqual(1986 * flops / 989.5e12, 0.483, delta=0.0006)

    def test_the_largest_gap_comes_first(self):
        table = run().stdout.split("\n\n")[2].splitlines()
        self.assertRegex(table[0], r"measured us +ratio +gap ms$")
        gaps = [float(line.split()[-1]) for line in table[1:]]
        self.assertEqual(gaps, sorted(gaps, reverse=True))

    def test_more_instructions_take_longer(self):
        slower = kernels()
        slower[GELU]["instructions"] *= 20
        done = self.predict(table_of(slower, "0.0"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(step_of(done.stdout), step_of(run().stdout) + 10)

    def test_no_instructions_leave_the_bytes(self):
        free = kernels()
        for kernel in free.values():
            kernel["instructions"] = kernel["loop"] = 0
        step = step_of(self.predict(table_of(free, "0.0")).stdout)
        self.assertLess(step, step_of(run().stdout))
        self.assertGreater(step, 100)

    def test_longer_sequences_take_the_two_kernels_of_attention(self):
        done = run("--sequences", 64, "--length", 512)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("whole_head_kernel", done.stdout)
        self.assertGreater(step_of(done.stdout), step_of(run().stdout))
        self.assertEqual(run("--model", "bert-base").returncode, 0)

    def test_a_table_without_a_kernel_is_refused(self):
        for name in ("whole_head_kernel", "gelu_forward_kernel", "squares_kernel"):
            less = kernels()
            del less[predict_step.CODE[name]]
            self.refused(self.predict(table_of(less, "0.0")), "table.txt", predict_step.CODE[name])

    def test_a_table_without_a_column_is_refused(self):
        text = table_of(kernels(), "0.0")
        for column in ("loop", "instructions"):
            other = re.sub(rf"(?m)^(kernel .*)\b{column}\b", r"\1other", text)
            self.refused(self.predict(other), "table.txt", f"no column {column}")

    def test_what_is_no_table_is_refused(self):
        self.refused(self.predict(""), "table.txt")
        self.refused(self.predict("kernel  instructions\nx  y\n"), "table.txt")
        self.refused(run("--table", self.folder / "absent.txt"), "absent.txt")

    def test_more_tokens_than_the_model_has_positions_are_refused(self):
        self.refused(run("--length", 513), "512 positions")

    def test_frozen_rates_are_those_of_their_source(self):
        frozen = predict_step.FROZEN
        derived = 0
        for name, rate in frozen["issue"]["rates"].items():
            self.assertIn(name, predict_step.CODE)
            source = re.match(r"(\d+) warps of ([\d +x]+), (\d+) us$", rate["from"])
            if source is None:
                continue
            derived += 1
            terms = [re.findall(r"\d+", term) for term in source[2].split("+")]
            executed = sum(int(t[0]) * int(t[1] if len(t) > 1 else 1) for t in terms)
            slots = int(source[3]) * frozen["schedulers"] * frozen["GHz"] * 1e3
            self.assertAlmostEqual(int(source[1]) * executed / slots / rate["rate"], 1, delta=0.01)
        self.assertEqual(derived, 7)

    def test_the_report_has_predictions_next_to_a_profile(self):
        us = {"gelu_forward_kernel": 1000, "flash_forward_kernel": 100, "unknown_kernel": 5}
        update = "void bert::cuda::<unnamed>::adamw_kernel<__nv_bfloat16>(OptimizerArguments)"
        launches = [(update, 2500), *((f"void bert::cuda::<unnamed>::{name}<x>(A)", time)
                                      for name, time in us.items()), (update, 2500)]
        with (self.folder / "kernels.csv").open("w") as file:
            out = csv.writer(file, quoting=csv.QUOTE_ALL)
            out.writerow(["Kernel Name", "Metric Name", "Metric Unit", "Metric Value"])
            for name, time in launches:
                out.writerow([name, "gpu__time_duration.sum", "us", time])
        (self.folder / "status.jsonl").write_text("")
        done = run(self.folder / "status.jsonl", self.folder, script="report.py")
        self.assertEqual(done.returncode, 0, done.stderr)
        gelu = predict_step.kernels_of_step(
            predict_step.Shape(*predict_step.PROFILED))["gelu_forward_kernel"]
        mean = gelu.us / gelu.calls
        self.assertIn(f"| gelu_forward_kernel | 1 | 1000.0 | 27.7% | {mean:.1f} | "
                      f"{(1000 - mean) / 1e3:.2f} |", done.stdout)
        self.assertIn("| unknown_kernel | 1 | 5.0 | 0.1% |  |  |", done.stdout)
        names = re.findall(r"(?m)^\| (\w+_kernel) ", done.stdout)
        self.assertEqual(names[0], "gelu_forward_kernel")
        self.assertEqual(names[-1], "unknown_kernel")

    def test_the_report_has_the_ratio_of_steps_with_and_without_graphs(self):
        def log(way, batch, ms):
            header = {"time": "t", "command": [], "model": "bert-large", "precision": "bf16",
                      "global_batch_size": batch, "sequence_length": 128, "backend": "cuda, a GPU",
                      "settings": ["CUDA graphs: forward and backward"] if way == "on" else []}
            steps = [{"type": "step", "seconds": x / 1e3} for x in (99, *ms)]
            (self.folder / f"graphs_{way}_{batch}.log").write_text(
                "\n".join(json.dumps(x) for x in (header, *steps, {})))

        log("off", 1, (9, 6, 8))
        log("on", 1, (9, 3, 5))
        log("off", 4, (9, 7, 7))
        (self.folder / "status.jsonl").write_text("")
        done = run(self.folder / "status.jsonl", self.folder, script="report.py")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("| bert-large | bf16 | 1 | 128 | 7.00 | 6.00..8.00 | 2 | 4.00 | 3.00..5.00 | "
                      "2 | 1.75 |", done.stdout)
        self.assertIn("| bert-large | bf16 | 4 | 128 | 7.00 | 7.00..7.00 | 2 |  |  |  |  |",
                      done.stdout)

    def test_the_report_holds_what_was_measured_against_the_goals(self):
        def log(name, batch, length, ms, precision="bf16", device="NVIDIA H200", lengths=False,
                **more):
            header = {"time": name, "command": ["--algorithm-cache"], "model": "bert-large",
                      "precision": precision, "global_batch_size": batch,
                      "sequence_length": length, "backend": f"cuda, {device}, sm_90", **more}
            steps = [{"type": "step", "seconds": ms / 1e3}] * 2
            if lengths:
                header.update(lengths="wikipedia", unpadded=True)
                steps = [{"type": "step", "seconds": x * ms / 1e3, "mean_length": length / 2,
                          "mean_square_length": 0.375 * length * length} for x in (9, 9, 0.5, 1.5)]
            (self.folder / f"{name}.log").write_text(
                "\n".join(json.dumps(x) for x in (header, *steps, {})))

        def pytorch(variant, batch, ms, mode=None, length=128, lengths="full", mean=128):
            return {"variant": variant, "mode": mode, "model": "bert-large", "precision": "bf16",
                    "batch": batch, "sequence_length": length, "gelu": "erf", "peak_bytes": 0,
                    "lengths": lengths, "mean_length": mean, "ready_s": 9,
                    "seconds": [ms / 1e3] * 3}

        (self.folder / "flops_128.json").write_text('{"flops_per_sequence": {"masked_head": 2.4e11}}')
        log("speed_erf_128", 256, 128, 120)
        log("speed_cudnn_128", 256, 128, 110)
        log("speed_fp8_128", 256, 128, 90, "fp8")
        log("speed_wikipedia", 64, 512, 80, lengths=True)
        for batch, calls, graphs in ((1, 12, 8), (16, 13, 12)):
            log(f"graphs_off_{batch}", batch, 128, calls)
            log(f"graphs_on_{batch}", batch, 128, graphs,
                settings=["CUDA graphs: forward and backward"])
        (self.folder / "pytorch.log").write_text("\n".join(json.dumps(x) for x in (
            pytorch("eager", 256, 150), pytorch("huggingface", 256, 165),
            pytorch("compile", 256, 121, "max-autotune"),
            pytorch("eager", 64, 136, None, 512, "wikipedia", 256),
            pytorch("eager", 64, 99, None, 512, "uniform", 256),
            pytorch("eager", 1, 16), pytorch("eager", 16, 15))))
        (self.folder / "status.jsonl").write_text("")
        done = run(self.folder / "status.jsonl", self.folder, script="report.py")
        self.assertEqual(done.returncode, 0, done.stderr)
        goals = {row[1]: row[2:5] for row in (re.split(r" ?\| ", line) for line in
                                              done.stdout.splitlines()) if len(row) == 6}
        rate = 256 / 0.110
        wanted = {
            "MFU, 256 x 128, bf16": (0.57, rate * 2.4e11 / 989.5e12),
            "MFU, 64 x 512, bf16": (0.48, None),
            "fp8 to the fastest PyTorch in bf16, 256 x 128": (1.3, 121 / 90),
            "bf16 to Hugging Face as shipped, 256 x 128": (1.4, 165 / 110),
            "bf16 to torch.compile max-autotune, 256 x 128": (1.0, 121 / 110),
            "bf16 to PyTorch eager, the least of micro-batches of 1, 4, 8 and 16 x 128":
                (1.5, 15 / 12),
            "bf16 without padding to padded PyTorch, 64 sequences of Wikipedia's lengths up to 512":
                (1.8, 136 / 80)}
        for goal, (least, value) in wanted.items():
            self.assertEqual(goals.get(goal), [
                f"{least:.2f}", f"{value:.3f}" if value else "not in this call",
                "" if value is None else "yes" if value >= least else "**NO**"], goal)
        # Half of the tokens: less than half of the FLOPs of a full sequence, as attention's fall more.
        flops = predict_step.Shape("bert-large", 64, 512).flops(256, 0.375 * 512 * 512)
        self.assertIn(f"| wikipedia, unpadded | erf | searched | 800.0 | 80.00 |  | 40.00..120.00 | 2 "
                      f"| {800 * flops / 989.5e12:.1%} |", done.stdout)

    def test_a_report_without_a_run_has_no_goals(self):
        (self.folder / "status.jsonl").write_text("")
        done = run(self.folder / "status.jsonl", self.folder, script="report.py")
        self.assertNotIn("## Goals", done.stdout)


if __name__ == "__main__":
    unittest.main()
