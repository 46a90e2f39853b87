"""Result sets for the pages that report_test.py opens, written into a folder of the test."""

import math
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts/lib"))
from result_sets import cell, identity, key_of, trial, write  # noqa: E402


def run_folder(folder):
    """A run folder of two topologies with iterations, three trials of which are slow at first."""
    path = os.path.join(folder, "run")
    cells = []
    for gpus, rate in ((1, 100.0), (2, 190.0), (8, 700.0)):
        trials = []
        for number in (1, 2, 3):
            name = f"1n{gpus}g/trial_{number}/iterations.csv"
            os.makedirs(os.path.dirname(os.path.join(path, name)), exist_ok=True)
            with open(os.path.join(path, name), "w") as out:
                out.write("log,trial,step,time_s,seconds,sequences_per_second,loss,rank_spread\n")
                for step in range(1, 201):
                    speed = rate * (0.5 if step < 20 else 1 + 0.01 * ((step * 7 + number) % 5))
                    out.write(f'"a,b.log",{number},{step},,{8 / speed},{speed},,\n')
            trials.append(trial(
                number, rate * (1 + number / 300), iterations_file=name,
                window={"rule": "steps:20:200", "chosen_by": "config", "covered": True, "first_step": 20,
                        "last_step": 200},
                estimators={"step_time": rate, "printed": rate * 1.02, "total_time": rate * 0.9}))
        cells.append(cell(identity(gpus_per_node=gpus), trials, scaling_efficiency=rate / 100 / gpus,
                          speedup={"value": rate / 100, "base": key_of(identity())}))
    write(os.path.join(path, "results.json"), cells)
    return path


def grid_result(folder):
    """Batch against topology with a cell that does not fit, one that was not measured, and energy."""
    cells = []
    for batch in (8, 32, 64):
        for nodes, gpus in ((1, 1), (1, 8), (2, 8)):
            if (batch, nodes) == (64, 2):
                continue
            known = identity(precision="fp16", micro_batch_size=batch, nodes=nodes, gpus_per_node=gpus)
            per_gpu = 100 + batch - 10 * nodes
            measured = trial(1, per_gpu * nodes * gpus)
            if batch == 64 and gpus == 8:
                del measured["sequences_per_second"]
                measured["outcome"]["status"] = "out_of_memory"
                measured["window"]["covered"] = False
                cells.append(cell(known, [measured]))
            else:
                cells.append(cell(known, [measured], sequences_per_second_per_gpu=per_gpu,
                                  power_w=400.0 * nodes * gpus, energy_per_sequence_j=400.0 / per_gpu))
    return write(os.path.join(folder, "grid.json"), cells)


def long_names(folder):
    """Names of 100 characters, alike at their beginning: two models, each on 1 and on 8 GPUs."""
    cells = []
    for model in ("m" * 98 + "-a", "m" * 98 + "-b"):
        for gpus in (1, 8):
            trials = [trial(i, 100.0 * gpus + i,
                            estimators={"step_time": 100.0 * gpus + i, "total_time": 90.0 * gpus})
                      for i in (1, 2, 3)]
            cells.append(cell(identity(model=model, gpus_per_node=gpus), trials))
    return write(os.path.join(folder, "long.json"), cells)


def units_result(folder):
    """Memory and times whose numbers are in another order than their values."""
    cells = [cell(identity(gpus_per_node=gpus), [trial(1, 100.0 * gpus)], time_to_train_s=seconds,
                  memory={"peak_bytes": int(mib * 2**20), "source": "log"})
             for gpus, mib, seconds in ((1, 25.5 * 1024, 34020), (2, 1.5 * 1024, 5220), (4, 798.7, 2214))]
    return write(os.path.join(folder, "units.json"), cells)


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
                trials.append(trial(i + 1, rate,
                                    block={"session": 1, "position": 1 + (i + (variant == "new")) % 2}))
            cells.append(cell(identity(micro_batch_size=8 + point, variant=variant), trials))
    return write(os.path.join(folder, f"pairs-{points}.json"), cells)
