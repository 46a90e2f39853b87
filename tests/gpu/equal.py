#!/usr/bin/env python3
"""Runs bert_train twice and compares where the two end: weights and first moments.

    equal.py --bin DIR --bound 1e-5 --a "--backend cuda ..." --b "--backend cpu ..." [common ...]

--bound 0 asks for equal bits. --a-env and --b-env: NAME=VALUE words. Prints one JSON object; exit
status 0 within the bound, 1 not, 2 cannot be run.
"""

import argparse
import json
import os
import sys
import tempfile

from gradients import read_checkpoint, run, without_key


def ending(a, words, variables, common, folder):
    environment = dict(os.environ, **dict(v.split("=", 1) for v in variables.split()))
    run([f"{a.bin}/bert_train", *common, *words.split(), "--checkpoint", folder], env=environment)
    return read_checkpoint(folder)


def main():
    import numpy as np
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--bin", required=True)
    p.add_argument("--bound", type=float, required=True)
    p.add_argument("--a", required=True)
    p.add_argument("--b", required=True)
    p.add_argument("--a-env", default="")
    p.add_argument("--b-env", default="")
    a, common = p.parse_known_args()
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        first = ending(a, a.a, a.a_env, common, one)
        second = ending(a, a.b, a.b_env, common, two)
    worst, where, same = 0.0, "", True
    for name, arrays in first.items():
        for x, y in zip(arrays, second[name]):
            same = same and x.tobytes() == y.tobytes()
            x, y = without_key(name, x), without_key(name, y)
            norm = float(np.linalg.norm(y.astype("f8")))
            if name.endswith("self.key.bias") or norm == 0:
                continue
            error = float(np.linalg.norm(x.astype("f8") - y)) / norm
            if error > worst:
                worst, where = error, name
    good = same if a.bound == 0 else worst <= a.bound
    print(json.dumps({"a": a.a, "b": a.b, "common": " ".join(common), "bound": a.bound,
                      "good": good, "same_bits": same, "worst": worst, "worst_tensor": where}))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
