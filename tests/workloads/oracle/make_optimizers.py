"""Writes tests/data/oracle/optimizers.bin: weights after three updates with given gradients.

    python make_optimizers.py OUT_DIR       needs numpy, torch

AdamW is torch.optim.AdamW in float64. LAMB is written here in numpy float64 from algorithm 2 of
You et al. 2020 (arXiv:1904.00962), with the switches in which published versions differ.
"""

import sys

import formula
import numpy as np
import torch

SHAPE = dict(layers=1, hidden=8, heads=2, intermediate=16, vocabulary=11, positions=8)
UPDATES = 3
DEFAULTS = dict(kind="adamw", rate=0.01, beta1=0.9, beta2=0.999, epsilon=1e-6, decay=0.01,
                factor=1.0, bias_correction=1, pre_normalization=0, trust_without_decay=0,
                min_trust=0.0, max_trust=0.0)
CASES = {
    "adamw": {},
    "adamw_clipped": dict(factor=0.25, decay=0.1, beta2=0.98),
    "lamb": dict(kind="lamb"),
    "lamb_clipped": dict(kind="lamb", factor=0.25),
    "lamb_without_bias_correction": dict(kind="lamb", bias_correction=0),
    "lamb_pre_normalized": dict(kind="lamb", pre_normalization=1),
    "lamb_trust_everywhere": dict(kind="lamb", trust_without_decay=1),
    "lamb_trust_bounded": dict(kind="lamb", min_trust=0.08, max_trust=0.5),
    "lamb_all_options": dict(kind="lamb", pre_normalization=1, trust_without_decay=1,
                             min_trust=0.08, max_trust=0.5, bias_correction=0),
}


def decays(name):
    return not (name.endswith("bias") or "LayerNorm" in name)


def gradients(update, offset, size):
    values = formula.uniform(formula.GRADIENTS, update * formula.CASE + offset, size) / 10
    return values.astype(np.float32).astype(np.float64)


def adamw(o, weights):
    tensors = {n: torch.from_numpy(w.copy()).requires_grad_() for n, w, _ in weights}
    groups = [dict(params=[t for n, t in tensors.items() if decays(n) == on],
                   weight_decay=o["decay"] if on else 0.0) for on in (True, False)]
    optimizer = torch.optim.AdamW(groups, lr=o["rate"], betas=(o["beta1"], o["beta2"]),
                                  eps=o["epsilon"])
    for t in range(1, UPDATES + 1):
        for name, w, offset in weights:
            tensors[name].grad = torch.from_numpy(gradients(t, offset, w.size) * o["factor"])
        optimizer.step()
    return np.concatenate([tensors[n].detach().numpy() for n, _, _ in weights])


def lamb(o, weights):
    weights = [(n, w.copy(), offset) for n, w, offset in weights]
    m = {n: np.zeros_like(w) for n, w, _ in weights}
    v = {n: np.zeros_like(w) for n, w, _ in weights}
    for t in range(1, UPDATES + 1):
        g = {n: gradients(t, offset, w.size) for n, w, offset in weights}
        factor = o["factor"]
        if o["pre_normalization"]:
            factor = 1 / np.sqrt(sum((x * x).sum() for x in g.values()))
        c1 = 1 - o["beta1"] ** t if o["bias_correction"] else 1.0
        c2 = 1 - o["beta2"] ** t if o["bias_correction"] else 1.0
        for n, w, _ in weights:
            x = g[n] * factor
            m[n] = o["beta1"] * m[n] + (1 - o["beta1"]) * x
            v[n] = o["beta2"] * v[n] + (1 - o["beta2"]) * x * x
            update = (m[n] / c1) / (np.sqrt(v[n] / c2) + o["epsilon"])
            if decays(n):
                update = update + o["decay"] * w
            ratio = 1.0
            if decays(n) or o["trust_without_decay"]:
                a, b = np.linalg.norm(w), np.linalg.norm(update)
                ratio = a / b if a > 0 and b > 0 else 1.0
                if o["min_trust"] > 0:
                    ratio = max(ratio, o["min_trust"])
                if o["max_trust"] > 0:
                    ratio = min(ratio, o["max_trust"])
            w -= o["rate"] * ratio * update
    return np.concatenate([w for _, w, _ in weights])


if __name__ == "__main__":
    start, at = [], 0
    for tensor, shape in formula.layout(SHAPE):
        count = int(np.prod(shape))
        start.append((tensor, formula.weight(tensor, at, count), at))
        at += count
    header = ["bertbench-oracle 1", f"made-by torch-{torch.__version__}", f"updates {UPDATES}"]
    header += [f"{key} {value}" for key, value in SHAPE.items()]
    results = []
    for case, changes in CASES.items():
        options = DEFAULTS | changes
        header.append(f"case {case} " + " ".join(str(v) for v in options.values()))
        results.append((adamw if options["kind"] == "adamw" else lamb)(options, start))
    with open(f"{sys.argv[1]}/optimizers.bin", "wb") as out:
        out.write(("\n".join(header) + "\ndata\n").encode())
        out.write(np.concatenate(results).astype("<f8").tobytes())
