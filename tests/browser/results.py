"""Result sets for the pages that report_test.py opens, written into a folder of the test."""

import json
import math
import os
import random


def run_folder(folder):
    """A run folder of two topologies with iterations, three trials of which are slow at first."""
    path = os.path.join(folder, "run")
    cells = []
    for gpus, rate in ((1, 100.0), (2, 190.0), (8, 700.0)):
        trials = []
        for trial in (1, 2, 3):
            name = f"1n{gpus}g/trial_{trial}/iterations.csv"
            os.makedirs(os.path.dirname(os.path.join(path, name)), exist_ok=True)
            with open(os.path.join(path, name), "w") as out:
                out.write("log,trial,step,time_s,seconds,sequences_per_second,loss,rank_spread\n")
                for step in range(1, 201):
                    speed = rate * (0.5 if step < 20 else 1 + 0.01 * ((step * 7 + trial) % 5))
                    out.write(f'"a,b.log",{trial},{step},,{8 / speed},{speed},,\n')
            trials.append({
                "trial": trial, "attempt": 1, "log": "log.txt", "outcome": {"status": "completed"},
                "window": {"rule": "steps:20:200", "chosen_by": "config", "covered": True,
                           "first_step": 20, "last_step": 200},
                "sequences_per_second": rate * (1 + trial / 300), "estimator": "step_time",
                "estimators": {"step_time": rate, "printed": rate * 1.02, "total_time": rate * 0.9},
                "iterations_file": name})
        cells.append({"key": f"bert.fp32.s128.b8.a1.1n{gpus}g", "trials": trials,
                      "identity": {"framework": "x", "model": "bert", "precision": "fp32",
                                   "sequence_length": 128, "micro_batch_size": 8,
                                   "gradient_accumulation_steps": 1, "nodes": 1,
                                   "gpus_per_node": gpus},
                      "throughput": {"unit": "sequences/s", "n": 3, "median": rate * 1.0066,
                                     "mean": rate * 1.0066, "cv": 0.003},
                      "scaling_efficiency": rate / 100 / gpus,
                      "speedup": {"value": rate / 100, "base": "bert.fp32.s128.b8.a1.1n1g"}})
    with open(os.path.join(path, "results.json"), "w") as out:
        json.dump({"schema": "bertbench.result/1", "tool": {"version": "1", "commit": "x"},
                   "cells": cells}, out)
    return path


def grid_result(folder):
    """Batch against topology with a cell that does not fit, one that was not measured, and energy."""
    cells = []
    for batch in (8, 32, 64):
        for nodes, gpus in ((1, 1), (1, 8), (2, 8)):
            if (batch, nodes) == (64, 2):
                continue
            oom = batch == 64 and gpus == 8
            trial = {"trial": 1, "attempt": 1, "log": "log.txt", "estimator": "step_time",
                     "window": {"rule": "all", "chosen_by": "user", "covered": not oom}}
            cell = {"key": f"bert.fp16.s128.b{batch}.a1.{nodes}n{gpus}g", "trials": [trial],
                    "identity": {"framework": "x", "model": "bert", "precision": "fp16", "sequence_length": 128,
                                 "micro_batch_size": batch, "gradient_accumulation_steps": 1, "nodes": nodes,
                                 "gpus_per_node": gpus}}
            if oom:
                trial["outcome"] = {"status": "out_of_memory"}
                cell["throughput"] = {"unit": "sequences/s", "n": 0}
            else:
                per_gpu = 100 + batch - 10 * nodes
                rate = per_gpu * nodes * gpus
                trial.update(outcome={"status": "completed"}, sequences_per_second=rate)
                cell.update(throughput={"unit": "sequences/s", "n": 1, "median": rate, "mean": rate},
                            sequences_per_second_per_gpu=per_gpu, power_w=400.0 * nodes * gpus,
                            energy_per_sequence_j=400.0 / per_gpu)
            cells.append(cell)
    path = os.path.join(folder, "grid.json")
    with open(path, "w") as out:
        json.dump({"schema": "bertbench.result/1", "tool": {"version": "1", "commit": "x"}, "cells": cells}, out)
    return path


def long_names(folder):
    """Names of 100 characters, alike at their beginning: two models, each on 1 and on 8 GPUs."""
    cells = []
    for model in ("m" * 98 + "-a", "m" * 98 + "-b"):
        for gpus in (1, 8):
            trials = [{"trial": i, "attempt": 1, "log": "log.txt", "outcome": {"status": "completed"},
                       "window": {"rule": "all", "chosen_by": "user", "covered": True},
                       "sequences_per_second": 100.0 * gpus + i, "estimator": "step_time",
                       "estimators": {"step_time": 100.0 * gpus + i, "total_time": 90.0 * gpus}}
                      for i in (1, 2, 3)]
            cells.append({"key": f"{model}.fp32.s128.b8.a1.1n{gpus}g", "trials": trials,
                          "identity": {"framework": "x", "model": model, "precision": "fp32",
                                       "sequence_length": 128, "micro_batch_size": 8,
                                       "gradient_accumulation_steps": 1, "nodes": 1, "gpus_per_node": gpus},
                          "throughput": {"unit": "sequences/s", "n": 3, "median": 100.0 * gpus + 2,
                                         "mean": 100.0 * gpus + 2, "cv": 0.01}})
    path = os.path.join(folder, "long.json")
    with open(path, "w") as out:
        json.dump({"schema": "bertbench.result/1", "tool": {"version": "1", "commit": "x"}, "cells": cells}, out)
    return path


def pairs_result(folder, points):
    """A run with variants: 18 pairs a cell, one of which was hit; every fourth cell is 3 % slower."""
    draw = random.Random(1)
    cells = []
    for point in range(points):
        shared = [draw.gauss(0, 0.01) for _ in range(18)]
        for variant in ("base", "new"):
            trials = []
            for i, shift in enumerate(shared):
                rate = 100.0 * (1 + point) * math.exp(shift + draw.gauss(0, 0.006))
                if variant == "new":
                    rate *= (0.97 if point % 4 == 0 else 1) * (0.9 if i == 5 else 1)
                trials.append({"trial": i + 1, "attempt": 1, "log": "log.txt", "outcome": {"status": "completed"},
                               "window": {"rule": "all", "chosen_by": "user", "covered": True},
                               "sequences_per_second": rate, "estimator": "step_time",
                               "block": {"session": 1, "position": 1 + (i + (variant == "new")) % 2}})
            rates = sorted(trial["sequences_per_second"] for trial in trials)
            cells.append({"key": f"bert.fp32.s128.b{8 + point}.a1.1n1g+variant={variant}", "trials": trials,
                          "identity": {"framework": "x", "model": "bert", "precision": "fp32",
                                       "sequence_length": 128, "micro_batch_size": 8 + point,
                                       "gradient_accumulation_steps": 1, "nodes": 1, "gpus_per_node": 1,
                                       "variant": variant},
                          "throughput": {"unit": "sequences/s", "n": 18, "median": (rates[8] + rates[9]) / 2,
                                         "mean": sum(rates) / 18, "cv": 0.012}})
    path = os.path.join(folder, f"pairs-{points}.json")
    with open(path, "w") as out:
        json.dump({"schema": "bertbench.result/1", "tool": {"version": "1", "commit": "x"}, "cells": cells}, out)
    return path
