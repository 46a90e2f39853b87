#!/usr/bin/env python3
"""Every machine output against its published schema: schemas_test.py BERTBENCH SOURCE_DIR
Ends with 77 (skipped) where python3-jsonschema is not installed."""

import copy
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BERTBENCH, SOURCE = sys.argv[1], sys.argv[2]
RESULTS = os.path.join(SOURCE, "tests/data/results")
PUBLISHED = os.path.join(SOURCE, "tests/data/published")

try:
    import jsonschema
except ImportError:
    print("skipped: python3-jsonschema is not installed")
    sys.exit(77)


def schema_of(name):
    with open(os.path.join(SOURCE, "configs/schema", name + ".schema.json")) as source:
        return json.load(source)


def strict(schema):
    """The schema with no room for keys that it does not name: an output may not grow unnoticed."""
    out = copy.deepcopy(schema)

    def walk(node):
        if isinstance(node, dict):
            if "properties" in node and "additionalProperties" not in node:
                node["additionalProperties"] = False
            for inner in node.values():
                walk(inner)
        elif isinstance(node, list):
            for inner in node:
                walk(inner)

    walk(out)
    return out


def answer(*args, statuses=(0,)):
    done = subprocess.run([BERTBENCH, *args], capture_output=True)
    assert done.returncode in statuses, f"{args}: {done.returncode} {done.stderr.decode()}"
    return json.loads(done.stdout)


class Schemas(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="bb-schemas-")

    def tearDown(self):
        self.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def put(self, name, value):
        with open(self.path(name), "w") as out:
            json.dump(value, out)
        return self.path(name)

    def measured(self):
        with open(os.path.join(RESULTS, "dlperf_mxnet.json")) as source:
            return json.load(source)

    def conforms(self, name, value):
        rules = strict(schema_of(name))
        jsonschema.Draft202012Validator.check_schema(rules)
        errors = [f"{error.json_path}: {error.message}"
                  for error in jsonschema.Draft202012Validator(rules).iter_errors(value)]
        self.assertEqual(errors[:5], [], name)
        return value

    def refuses(self, name, value):
        self.assertTrue(list(jsonschema.Draft202012Validator(strict(schema_of(name))).iter_errors(value)))

    def slower(self, factor):
        """dlperf_mxnet with every second cell slower, and one cell that the other has not."""
        result = self.measured()
        for cell in result["cells"][::2]:
            for trial in cell["trials"]:
                trial["sequences_per_second"] *= factor
                trial["stated"] = {"watts_per_gpu": 300}
        result["cells"][-1]["identity"]["precision"] = "fp16"
        return self.put("slower.json", result)

    def test_every_schema_is_one_and_refuses_an_empty_object(self):
        for name in os.listdir(os.path.join(SOURCE, "configs/schema")):
            schema = schema_of(name.removesuffix(".schema.json"))
            jsonschema.Draft202012Validator.check_schema(schema)
            if name != "sweep.schema.json":
                self.assertTrue(list(jsonschema.Draft202012Validator(schema).iter_errors({})), name)

    def test_sweep_configurations(self):
        command = {"command": ["python3", "t.py", "{lr}", "{file:a.json}"], "grid": {"lr": [0.1]}, "each": "node",
                   "framework": "f", "files": {"a.json": {"steps": "{steps}"}}, "setup": ["true"],
                   "trial_cleanup": ["rm", "{dir}"]}
        done = subprocess.run([BERTBENCH, "sweep", self.put("command.json", command), "--dry-run"], capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        configs = os.path.join(SOURCE, "configs")
        with open(os.path.join(configs, "dlperf-sim.json")) as text:
            trained = json.loads("".join(line for line in text if not line.strip().startswith("//")))
        bare = {axis: values for axis, values in trained["grid"].items()
                if axis not in ("sequence_length", "micro_batch_size", "zip")}
        phases = {**trained, "grid": bare, "zip": [], "phases": [
            {"sequence_length": 128, "micro_batch_size": 64, "steps": 7},
            {"sequence_length": 512, "micro_batch_size": 8, "steps": 2, "args": ["--seed", 2]}]}
        del phases["steps"]
        strong = {**trained, "zip": [], "scaling": "strong",
                  "grid": {**bare, "sequence_length": 128, "global_batch_size": [64, 128]}}
        for value in (command, {"command": ["t"]}, trained, phases, strong):
            self.conforms("sweep", value)
        for wrong in ({**command, "workload": "bert_train"}, {"command": []}, {**trained, "each": "gpu"}, {},
                      {**trained, "grid": {"topology": "1n1g"}}, {**trained, "grid": bare},
                      {**trained, "scaling": "both"}, {**phases, "phases": phases["phases"][:1]}, {**command, "each": "gpus"}):
            self.refuses("sweep", wrong)

    def test_result_sets(self):
        for name in ("dlperf_mxnet", "empty", "failures", "hostile", "quickstart"):
            value = answer("report", os.path.join(RESULTS, name + ".json"), "--to", "json")
            self.conforms("result", value)

    def test_result_set_of_gpus(self):
        """What none of the stored result sets and logs have, and words, keys and limits of the schema."""
        gpu = {"gpu": "NVIDIA H200", "emulated": True, "time_to_train_s": 3600.0, "power_w": 452.5,
               "energy_per_sequence_j": 2.5, "flops": {"palm": {"tflops_per_gpu": 15.6, "mfu": 0.0158, "hfu": 0.0158}}}
        result = self.measured()
        result["cells"][0].update(gpu)
        result["cells"][0]["trials"][0]["energy_per_sequence_j"] = 2.5
        written = self.conforms("result", answer("report", self.put("gpu.json", result), "--to", "json"))
        cell = written["cells"][0]
        self.assertEqual({key: cell[key] for key in gpu}, gpu)
        self.assertEqual(cell["trials"][0]["energy_per_sequence_j"], 2.5)
        window, identity = cell["trials"][0]["window"], cell["identity"]
        for inner, key, wrong in ((written, "schema", "bertbench.result/2"), (cell, "nodes", 0), (cell, "nodes", "1"),
                                  (cell, "kind", "trainng"), (window, "coverd", True), (identity, "xla", 1),
                                  (cell["trials"][0], "sequences_per_second", 0),
                                  (cell["trials"][0], "estimators", {"guess": 3})):
            before = dict(inner)
            inner[key] = wrong
            self.refuses("result", written)
            inner.clear()
            inner.update(before)
        self.conforms("result", written)

    def test_result_set_of_a_real_log(self):
        samples = os.path.join(SOURCE, "tests/data/samples")
        logs = [os.path.join(at, name) for at, _, names in os.walk(samples) for name in names
                if name.endswith(".log")]
        self.conforms("result", answer("extract", *logs, "--json"))

    def test_audit(self):
        for name in ("seed001_ngc_bert_pytorch.csv", "seed004_dlperf_mxnet_bert.csv"):
            value = answer("audit", os.path.join(PUBLISHED, name), "--json", statuses=(0, 1))
            self.conforms("audit", value)
            self.assertTrue(any(table["cells"] for table in value["tables"]))
        value["tables"][-1]["cells"][0]["verdict"] = "fine"
        self.refuses("audit", value)

    def test_flops(self):
        value = answer("flops", "--model", "bert-large", "--sequence-length", "128", "--json")
        self.conforms("flops", value)

    def test_compare_and_check(self):
        base, new = os.path.join(RESULTS, "dlperf_mxnet.json"), self.slower(0.9)
        compared = self.conforms("compare", answer("compare", base, new, "--json"))
        self.assertTrue(any(cell["significant"] for cell in compared["cells"]))
        self.assertEqual(compared["cells"][0]["stated"], {"watts_per_gpu": {"b": 300}})
        checked = self.conforms("check", answer("check", new, "--baseline", base, "--json", statuses=(1,)))
        self.assertEqual({cell["verdict"] for cell in checked["cells"]} & {"regression", "missing", "new"},
                         {"regression", "missing", "new"})
        waived = next(cell for cell in checked["cells"] if cell["verdict"] == "regression")
        waivers = {"schema": "bertbench.waivers/1", "waivers": [
            {"cell": waived["key"], "limit": "12%", "reason": "known", "expiry": "9999-12-31"},
            {"cell": "none", "kind": "evaluation", "verdict": "optimizer", "limit": 0.1, "reason": "known",
             "expiry": "9999-12-31"}]}
        file = self.put("waivers.json", self.conforms("waivers", waivers))
        judged = self.conforms("check", answer("check", new, "--baseline", base, "--waive", file, "--json", statuses=(1,)))
        self.assertTrue(next(cell for cell in judged["cells"] if cell["key"] == waived["key"])["waived"])
        del waivers["waivers"][0]["expiry"]
        self.refuses("waivers", waivers)
        checked["cells"][0]["verdict"] = "good"
        self.refuses("check", checked)

    def test_check_by_pairs(self):
        result = self.measured()
        changed = copy.deepcopy(result["cells"])
        for variant, cells in (("base", result["cells"]), ("new", changed)):
            for cell in cells:
                cell["identity"]["variant"] = variant
                cell["key"] += "+variant=" + variant
                for number, trial in enumerate(cell["trials"]):
                    trial["trial"] = number + 1
                    trial["block"] = {"session": 1, "position": 1}
        result["cells"] += changed
        pairs = self.put("pairs.json", self.conforms("result", result))
        self.conforms("check", answer("check", pairs, "--paired", "base", "--json", statuses=(0, 3)))

    def test_compare_with_published_values(self):
        # Logs of DLPerf name the model "bert" only.
        result = json.loads(json.dumps(self.measured()).replace('"bert"', '"bert-base"'))
        value = answer("compare", self.put("base.json", result), "--published", "dlperf-mxnet", "--json")
        self.conforms("compare-published", value)
        self.assertTrue(any("ratio" in cell for cell in value["cells"]))
        del value["cells"][0]["published"]
        self.refuses("compare-published", value)

    def test_published_files(self):
        folder = os.path.join(SOURCE, "configs/published")
        names = {os.path.splitext(name)[0] for name in os.listdir(folder)}
        for name in names:
            with open(os.path.join(folder, name + ".json")) as source:
                self.conforms("published", json.load(source))
        listed = self.conforms("list", answer("list", "published", "--json"))["published"]
        self.assertEqual({page["name"] for page in listed}, names)

    def test_predict(self):
        self.conforms("predict", answer("predict", os.path.join(RESULTS, "dlperf_mxnet.json"),
                                        "--topologies", "8n8g,16n8g", "--json"))

    def test_store(self):
        db = self.path("history.db")
        base = os.path.join(RESULTS, "dlperf_mxnet.json")
        self.conforms("store", answer("store", "add", base, "--db", db, "--json"))
        self.conforms("store", answer("store", "add", self.slower(0.9), "--db", db, "--json"))
        self.assertEqual(len(self.conforms("store", answer("store", "list", "--db", db, "--json"))), 2)
        self.conforms("store", answer("store", "trend", "--db", db, "--json"))
        self.conforms("result", answer("store", "export", "1", "--db", db))

    def numbered(self, number, factor=1.0):
        """dlperf_mxnet as measured at another time, with a little scatter between runs."""
        result = self.measured()
        result["created"] = f"2026-01-01T00:{number // 60:02}:{number % 60:02}Z"
        for cell in result["cells"]:
            for trial in cell["trials"]:
                trial["sequences_per_second"] *= factor * (1 + 0.002 * ((number * 7) % 5 - 2))
        return self.put(f"run{number}.json", result)

    def test_processes_that_store_at_once_lose_nothing(self):
        db, runs = self.path("history.db"), 24
        files = [self.numbered(number) for number in range(runs)]
        writers = [subprocess.Popen([BERTBENCH, "store", "add", *files[at::6], "--db", db],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                   for at in range(6)]
        for writer in writers:
            errors = writer.communicate(timeout=60)[1]
            self.assertEqual(writer.returncode, 0, errors.decode())
        stored = answer("store", "list", "--db", db, "--json")
        self.assertEqual(sorted(run["created"] for run in stored),
                         sorted(f"2026-01-01T00:00:{number:02}Z" for number in range(runs)))

    def test_a_trend_finds_the_run_where_the_level_fell(self):
        db = self.path("history.db")
        files = [self.numbered(number, 1.0 if number < 13 else 0.95) for number in range(24)]
        answer("store", "add", *files, "--db", db, "--json")
        for cell in self.conforms("store", answer("store", "trend", "--db", db, "--json")):
            self.assertEqual(len(cell["points"]), 24)
            self.assertEqual([shift["run"] for shift in cell["shifts"]], [14])
            self.assertAlmostEqual(cell["shifts"][0]["change"], -0.05, delta=0.005)

    def test_reconcile(self):
        """One log with time stamps, a log with a script's number, restarts, a failure, a plan."""
        logs = [os.path.join(at, name) for folder in ("parsers/samples", "tests/data/samples")
                for at, _, names in os.walk(os.path.join(SOURCE, folder)) for name in names
                if name.endswith(".log")]
        seen = set()
        for log in logs:
            done = subprocess.run([BERTBENCH, "reconcile", log, "--json"], capture_output=True)
            if done.returncode == 0:
                with self.subTest(log=log):
                    seen |= set(self.conforms("reconcile", json.loads(done.stdout)))
        self.assertIn("time_parts", seen)
        native = [log for log in logs if f"{os.sep}native{os.sep}" in log]
        again = self.path("again.log")  # one file named twice would count once
        shutil.copy(native[0], again)
        both = self.conforms("reconcile", answer("reconcile", native[0], again, "--json"))
        self.assertEqual(len(both["logs"]), 2)
        both["estimates"][0]["estimator"] = "guess"
        self.refuses("reconcile", both)
        plan = answer("reconcile", "--plan", os.path.join(SOURCE, "configs/plans/dgx2-two-phase.json"), "--json")
        self.conforms("plan", plan)
        del plan["phases"][0]["corrected"]
        self.refuses("plan", plan)

    def test_list(self):
        value = self.conforms("list", answer("list", "formats,reports,launchers,models,hardware,published", "--json"))
        self.assertTrue(all(value[kind] for kind in value))

    def test_shipped_templates_and_sweeps(self):
        def read(path):
            with open(path) as source:
                # A comment, or a string that may hold its marks.
                return json.loads(re.sub(r'("(?:[^"\\]|\\.)*")|//[^\n]*', lambda m: m[1] or "", source.read()))
        for name, folder in (("template", "workloads/external"), ("sweep", "configs")):
            files = [file for file in os.listdir(os.path.join(SOURCE, folder))
                     if file.endswith(".json") and file != "hardware.json"]
            self.assertGreater(len(files), 8)
            for file in files:
                errors = list(jsonschema.Draft202012Validator(schema_of(name)).iter_errors(
                    read(os.path.join(SOURCE, folder, file))))
                self.assertEqual([error.message for error in errors], [], file)

    def test_sweep_without_running(self):
        config = os.path.join(SOURCE, "configs/quickstart.json")
        self.assertEqual(len(self.conforms("dry-run", answer("sweep", config, "--dry-run", "--json"))["trials"]), 20)
        seen = answer("sweep", config, "--plan", "--history", os.path.join(RESULTS, "quickstart.json"), "--json")
        self.assertTrue(self.conforms("forecast", seen)["losses"])

    def test_doctor(self):
        self.conforms("doctor", answer("doctor", "--json"))
        nodes = self.conforms("doctor", answer("doctor", "--launcher", "local", "--nodes", "2", "--json"))
        self.assertEqual([node["node"] for node in nodes["preflight"]["nodes"]], [0, 1])

    def test_telemetry_of_ranks_that_are_nobodys_children(self):
        # A rank is what carries the variable, whoever started it; it ends after the sampler.
        environment = {**os.environ, "BERTBENCH_TRIAL": f"schemas-{os.getpid()}:x"}
        rank = subprocess.Popen([sys.executable, "-c", "while True: pass"], env=environment)
        try:
            value = answer("telemetry", "--json", "--marker", environment["BERTBENCH_TRIAL"],
                           "--seconds", "1")
        finally:
            rank.kill()
            rank.wait()
        self.conforms("telemetry", value)
        self.assertGreaterEqual(value["samples"], 3)
        self.assertGreater(value["cpu"]["trainer_cores"], 0)
        self.assertGreater(value["resident_peak_bytes"], 1 << 20)

    def test_convergence(self):
        value = answer("convergence", os.path.join(PUBLISHED, "seed000_dgx2_tensorflow_pytorch.csv"), "--json")
        self.conforms("convergence", value)
        self.assertEqual(len(value["checkpoints"]), 17)

    def test_goodput(self):
        value = answer("goodput", os.path.join(SOURCE, "parsers/samples/native/sample.log"), "--json")
        self.conforms("goodput", value)
        self.assertEqual(value["steps"], {"counted": 12, "lost": 0})
        self.refuses("goodput", {**value, "goodput": 1.5})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
