#!/usr/bin/env python3
"""The commands of docs/dlperf.md that need nothing but this repository give DLPerf's result file.
dlperf_page_test.py BERTBENCH SOURCE_DIR; ends with 77 (skipped) without bert_train next to bertbench."""

import json
import os
import re
import subprocess
import sys
import tempfile

BERTBENCH, SOURCE = sys.argv[1], sys.argv[2]
HEADING = "## On any machine, with the embedded trainer"


def commands():
    with open(os.path.join(SOURCE, "docs/dlperf.md"), encoding="utf-8") as page:
        part = page.read().split(HEADING + "\n")[1]
    return re.search(r"```sh\n(.*?)```", part, re.S).group(1)


def main():
    build = os.path.dirname(os.path.abspath(BERTBENCH))
    if not os.access(os.path.join(build, "bert_train"), os.X_OK):
        print("skipped: bert_train is not built")
        return 77
    with tempfile.TemporaryDirectory(prefix="dlperf_page_") as folder:
        os.symlink(os.path.join(SOURCE, "configs"), os.path.join(folder, "configs"))
        done = subprocess.run(["bash", "-euc", commands()], cwd=folder, text=True, check=False,
                              env={**os.environ, "PATH": f"{build}:{os.environ['PATH']}"},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        print(done.stdout)
        if done.returncode != 0:
            print(f"FAILED: the commands ended with {done.returncode}")
            return 1
        with open(os.path.join(folder, "dlperf/bz32_result.json"), encoding="utf-8") as text:
            result = json.load(text)
        with open(os.path.join(folder, "dlperf/bz32/results.json"), encoding="utf-8") as text:
            cells = json.load(text)["cells"]
    if len(result) != 1:
        print(f"FAILED: {result} holds not one model")
        return 1
    (topologies,) = result.values()
    expected = {f"{cell['nodes']}n{cell['gpus_per_node']}g": cell for cell in cells}
    if set(topologies) != {"1n1g", "1n2g"} or set(expected) != set(topologies):
        print(f"FAILED: {result} holds not the topologies asked for")
        return 1
    for name, row in topologies.items():
        cell = expected[name]
        median = cell["throughput"]["median"]
        if row["batch_size_per_device"] != 32 or cell["throughput"]["n"] != 3:
            print(f"FAILED: {name}: {row}, {cell['throughput']}")
            return 1
        if abs(row["median_speed"] - median) > 0.011:  # both are rounded to two decimals
            print(f"FAILED: {name}: {row['median_speed']}, but the run's median is {median}")
            return 1
    if topologies["1n1g"]["speedup"] != 1.0:
        print(f"FAILED: {result}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
