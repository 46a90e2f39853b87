#!/usr/bin/env python3
"""Writes the report of tests/gpu/run as Markdown from what its stages have left so far.

    report.py STATUS_JSONL RESULTS_DIR
"""

import json
import statistics
import sys
from pathlib import Path


def lines(path):
    if not path.exists():
        return []
    found = []
    for text in path.read_text(errors="replace").splitlines():
        try:
            found.append(json.loads(text))
        except json.JSONDecodeError:
            pass  # cut off
    return found


def table(head, rows):
    yield "| " + " | ".join(head) + " |"
    yield "|" + " --- |" * len(head)
    for row in rows:
        yield "| " + " | ".join(str(x).replace("|", "\\|") for x in row) + " |"
    yield ""


def verdict(good):
    return "yes" if good else "**NO**"


def main():
    status, results = Path(sys.argv[1]), Path(sys.argv[2])
    out = ["# GPU run", ""]
    out += table(["stage", "outcome", "s", "last line"],
                 [(x["stage"], x["outcome"], x["seconds"], x["last_line"][:120])
                  for x in lines(status)])
    facts = [x for x in lines(results / "facts.log") if isinstance(x, dict)]
    if facts:
        known = facts[-1]
        device = known.get("device", {})
        out += [f"Device: {device.get('name', 'none')}; torch {known.get('torch')}, "
                f"CUDA {known.get('cuda')}, cuDNN {known.get('cudnn')}, NCCL {known.get('nccl')}, "
                f"transformers {known.get('transformers')}.", ""]
    ceilings = lines(results / "ceilings.json")
    if ceilings:
        c = ceilings[-1]
        out += ["## Ceilings (PyTorch, random data, medians)", "",
                f"Copy {c['copy']['GBps']:.0f} GB/s (read and write), n={c['copy']['n']}.", ""]
        out += table(["precision", "m x k x n", "TFLOP/s", "n"],
                     [(m["precision"], " x ".join(map(str, m["shape"])), f"{m['TFLOPs']:.1f}",
                       m["n"]) for m in c["matmul"]])
    gradients = lines(results / "gradients.jsonl")
    if gradients:
        out += ["## Gradients against PyTorch float64 on the same device", ""]
        out += table(
            ["backend", "model", "precision", "s", "options", "worst tensor", "PyTorch's worst",
             "bound", "loss", "within"],
            [(g["backend"], g["model"], g["precision"], g["sequence_length"],
              " ".join(g["options"] + (["tanh"] if g["gelu"] == "tanh" else []) +
                       (["variable"] if g["variable"] else [])),
              f"{g['worst']:.2e}", f"{g['pytorch_worst']:.2e}", f"{g['bound']:.0e}",
              f"{g['loss_error']:.1e}", verdict(g["good"])) for g in gradients])
    equal = lines(results / "equal.jsonl")
    if equal:
        out += ["## Two runs that must end alike", ""]
        out += table(["a", "b", "both", "bound", "worst", "bits", "within"],
                     [(e["a"] or "run 1", e["b"] or "run 2", e["common"],
                       "bits" if e["bound"] == 0 else f"{e['bound']:.0e}", f"{e['worst']:.2e}",
                       "equal" if e["same_bits"] else "differ", verdict(e["good"]))
                      for e in equal])
    pytorch = lines(results / "pytorch.jsonl")
    if pytorch:
        out += ["## PyTorch on the same device and day", "",
                "Seconds of a step are medians; the spread is (max - min) / median.", ""]
        rows = []
        for p in pytorch:
            median = statistics.median(p["seconds"])
            spread = (max(p["seconds"]) - min(p["seconds"])) / median
            rows.append((p["variant"], p["model"], p["precision"], p["batch"], p["sequence_length"],
                         f"{p['batch'] / median:.1f}", f"{median * 1e3:.2f}", f"{spread:.1%}",
                         len(p["seconds"]), f"{p['peak_bytes'] / 2**30:.1f}",
                         f"{p['ready_s']:.0f}"))
        out += table(["variant", "model", "precision", "batch", "s", "sequences/s", "ms", "spread",
                      "n", "peak GiB", "s until ready"], rows)
    sweep = results / "sweep.txt"
    if sweep.exists():
        out += ["## bert_train, by bertbench sweep", "", "```", sweep.read_text().rstrip(), "```", ""]
    print("\n".join(out))


if __name__ == "__main__":
    main()
