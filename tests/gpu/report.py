#!/usr/bin/env python3
"""Writes the report of tests/gpu/run as Markdown from what its stages have left so far.

    report.py STATUS_JSONL RESULTS_DIR
"""

import csv
import json
import operator
import re
import statistics
import sys
from collections import defaultdict
from pathlib import Path

from predict_step import PREDICTED, PROFILED, CannotPredict, Shape, kernels_of_step

# Dense bf16 TFLOP/s of the devices whose data sheet says so, and what 8 bits have of it.
PEAK = PREDICTED["dense_TFLOPs"]
TIMES = {"bf16": 1, "fp16": 1, "fp8": 2}
POWER_CAP = 0x4  # of NVML's reasons for a clock


def lines(path):
    """The JSON objects among the lines of a file, which may be a log."""
    if not path.exists():
        return []
    found = []
    for text in path.read_text(errors="replace").splitlines():
        try:
            found.append(json.loads(text))
        except json.JSONDecodeError:
            pass  # other text, or cut off
    return [x for x in found if isinstance(x, dict)]


def table(head, rows):
    yield "| " + " | ".join(head) + " |"
    yield "|" + " --- |" * len(head)
    for row in rows:
        yield "| " + " | ".join(str(x).replace("|", "\\|") for x in row) + " |"
    yield ""


def verdict(good):
    return "yes" if good else "**NO**"


def spread(seconds):
    return f"{min(seconds) * 1e3:.2f}..{max(seconds) * 1e3:.2f}"


def power(path):
    """Median power and clock over the samples of nvidia-smi above half of the largest power, which
    leaves out loading and the end, and the share of them that the power cap held down."""
    samples = []
    for text in path.read_text(errors="replace").splitlines() if path.exists() else []:
        try:
            _, watts, clock, reasons = (x.strip() for x in text.split(","))
            samples.append((float(watts.removesuffix(" W")), float(clock.removesuffix(" MHz")),
                            int(reasons, 16) & POWER_CAP != 0))
        except ValueError:
            pass  # a message, a value that is not known here, or cut off
    busy = [x for x in samples if x[0] > max(samples)[0] / 2]
    if not busy:
        return None
    watts, clocks, capped = zip(*busy)
    return {"watts": statistics.median(watts), "mhz": statistics.median(clocks),
            "capped": sum(capped) / len(busy), "n": len(busy)}


def speed(results, stage="speed"):
    """One row a training run: what it was, and its seconds of the second half."""
    runs = []
    for path in results.glob(f"{stage}_*.log"):
        log = lines(path)
        steps = [x for x in log if x.get("type") == "step"]
        if not steps:
            continue
        steps = steps[len(steps) // 2:]
        header, words = log[0], log[0]["command"]
        gelu = "tanh" if "tanh" in words else "erf"
        s = header["sequence_length"]
        flops = results / f"flops_{s}.json"
        device = header["backend"].split(", ")[1] if ", " in header["backend"] else ""
        name = path.stem.removeprefix(f"{stage}_")
        runs.append({"name": name, "time": header["time"], "model": header["model"], "gelu": gelu,
                     "lengths": header.get("lengths", "full"),
                     "mean_length": mean_of(steps, "mean_length", s),
                     "unpadded": header.get("unpadded", False),
                     "power": power(results / f"power_{name}.csv"),
                     "graphs": any(x.startswith("CUDA graphs: forward")
                                   for x in header.get("settings", [])),
                     "precision": header["precision"], "searched": "--algorithm-cache" in words,
                     "batch": header["global_batch_size"], "length": s,
                     "seconds": [x["seconds"] for x in steps], "peak": PEAK.get(device),
                     "flops": flops.exists() and json.loads(flops.read_text() or "{}").get(
                         "flops_per_sequence", {}).get("masked_head"),
                     "bytes": log[-1].get("measured_peak_bytes")})
        if runs[-1]["lengths"] != "full":
            runs[-1]["flops"] = Shape(header["model"], 1, s).flops(
                runs[-1]["mean_length"], mean_of(steps, "mean_square_length", s * s))
    for r in runs:
        add_rate(r)
    return sorted(runs, key=lambda r: r["time"])


def mean_of(steps, key, full):
    """A step that does not state it has no padding."""
    return round(statistics.fmean(x.get(key, full) for x in steps), 3)


def add_rate(run):
    """Sequences a second: by the median step, or by all steps where these are not equal work."""
    middle = statistics.median if run["lengths"] == "full" else statistics.fmean
    run["middle"] = middle(run["seconds"])
    run["rate"] = run["batch"] / run["middle"]


def mfu(run):
    """Of the precision's own peak; padding is no work."""
    times = TIMES.get(run["precision"])
    if not run["flops"] or not run["peak"] or not times:
        return ""
    return f"{run['rate'] * run['flops'] / run['peak'] / times / 1e12:.1%}"


def lengths(name, unpadded):
    return name if name == "full" else f"{name}, {'unpadded' if unpadded else 'padded'}"


def speed_tables(runs):
    if not runs:
        return
    last = PREDICTED["last_measured"]
    yield "## Training speed of bert_train"
    yield ""
    yield ("ms of a step: median of the second half of the steps (mean where lengths vary), and its "
           f"range; last: as measured {last['when']}, no prediction. MFU is of the precision's own "
           "peak, without padding.")
    yield ""
    yield from table(
        ["model", "precision", "batch", "s", "lengths", "gelu", "algorithms", "sequences/s", "ms",
         "last ms", "range", "n", "MFU", "peak GiB"],
        [(r["model"], r["precision"], r["batch"], r["length"],
          lengths(r["lengths"], r["unpadded"]), r["gelu"],
          "searched" if r["searched"] else "heuristic", f"{r['rate']:.1f}",
          f"{r['middle'] * 1e3:.2f}", last["ms"].get(r["name"], ""), spread(r["seconds"]),
          len(r["seconds"]), mfu(r), f"{r['bytes'] / 2**30:.1f}" if r["bytes"] else "")
         for r in runs])
    watched = [r for r in runs if r["power"]]
    if watched:
        yield "## Power in training"
        yield ""
        yield ("Samples 50 ms apart above half of the largest power: medians, and the share that "
               "the power cap held down. Energy: median power over sequences/s.")
        yield ""
        yield from table(
            ["model", "precision", "batch", "s", "W", "SM MHz", "power cap", "J a sequence", "n"],
            [(r["model"], r["precision"], r["batch"], r["length"], f"{r['power']['watts']:.0f}",
              f"{r['power']['mhz']:.0f}", f"{r['power']['capped']:.0%}",
              f"{r['power']['watts'] / r['rate']:.3f}", r["power"]["n"]) for r in watched])


def graph_table(runs):
    """Each shape with and without CUDA graphs, by what the log says that it had."""
    pairs = defaultdict(dict)
    for r in runs:
        pairs[r["model"], r["precision"], r["batch"], r["length"]][r["graphs"]] = r
    if not pairs:
        return
    yield "## CUDA graphs: a micro-step's work queued by two calls"
    yield ""
    yield ("ms of a step, update included: median of the second half of the steps, its range and "
           "n. Ratio: of the medians, above 1 where graphs are faster.")
    yield ""
    yield from table(
        ["model", "precision", "batch", "s", "ms call by call", "range", "n", "ms by graphs",
         "range", "n", "ratio"],
        [(*shape, *(x for way in (False, True) for x in (
            (f"{both[way]['middle'] * 1e3:.2f}", spread(both[way]["seconds"]),
             len(both[way]["seconds"])) if way in both else ("", "", ""))),
          f"{both[False]['middle'] / both[True]['middle']:.2f}" if len(both) == 2 else "")
         for shape, both in sorted(pairs.items())])


def kernels(path):
    """Microseconds of every call of one step by kernel, and whether it is a whole step: what lies
    between two updates of the weights."""
    with path.open(errors="replace", newline="") as file:
        rows = [r for r in csv.DictReader(x for x in file if x.startswith('"'))
                if r.get("Metric Name") == "gpu__time_duration.sum"]
    updates = [i for i, r in enumerate(rows) if "adamw_kernel" in r["Kernel Name"]]
    whole = len(updates) > 1
    if whole:
        rows = rows[updates[0]:updates[1]]
    per_us = {"ns": 1e-3, "us": 1, "ms": 1e3, "nsecond": 1e-3, "usecond": 1, "msecond": 1e3}
    calls = defaultdict(list)
    for r in rows:
        name = re.sub(r"<unnamed>::|\(anonymous namespace\)::", "", r["Kernel Name"])
        calls[re.split("[<(]", name)[0].split(":")[-1].removeprefix("void ")].append(
            float(r["Metric Value"].replace(",", "")) * per_us[r["Metric Unit"]])
    return calls, whole


def kernel_table(results):
    path = results / "kernels.csv"
    calls, whole = kernels(path) if path.exists() else ({}, False)
    if not calls:
        return
    total = sum(map(sum, calls.values()))
    try:
        step, missing = kernels_of_step(Shape(*PROFILED)), ""
    except CannotPredict as error:
        step, missing = {}, f" There is no prediction: {error}."
    rows = []
    for name, us in calls.items():
        kernel = step.get(name)
        predicted = kernel.us / kernel.calls if kernel else None
        gap = sum(us) - len(us) * predicted if kernel else None
        rows.append((gap is None, -(gap or 0), -sum(us), (
            name, len(us), f"{sum(us) / len(us):.1f}", f"{sum(us) / total:.1%}",
            f"{predicted:.1f}" if kernel else "", f"{gap / 1e3:.2f}" if kernel else "")))
    rows.sort()
    model, sequences, length = PROFILED
    yield f"## Time of each kernel, one step of {model}, bf16, {sequences} x {length}"
    yield ""
    yield (f"{total / 1e3:.2f} ms in {sum(map(len, calls.values()))} launches"
           f"{'' if whole else ', **which are not one whole step**'}. Predicted: mean of all calls "
           f"by bytes and instructions ({PREDICTED['device']}; tests/gpu/predict_step.py); the "
           f"largest gap comes first, then kernels without a prediction.{missing}")
    yield ""
    yield from table(["kernel", "calls", "us a call", "share", "predicted us", "gap ms"],
                     [r[-1] for r in rows])


# The mean length shows that the sequences are the same.
shape_of_pytorch = operator.itemgetter("model", "batch", "sequence_length", "gelu", "lengths",
                                       "mean_length")


def fastest(runs):
    """Sequences a second of ours by precision and shape, algorithms searched, with or without
    CUDA graphs and cuDNN's attention; where lengths vary, without padding."""
    rates = defaultdict(float)
    for r in runs:
        if r["searched"] and (r["lengths"] != "full") == r["unpadded"]:
            key = (r["precision"], r["model"], r["batch"], r["length"], r["gelu"], r["lengths"],
                   r["mean_length"])
            rates[key] = max(rates[key], r["rate"])
    return rates


def with_rates(pytorch):
    for p in pytorch:
        add_rate(p)
    return pytorch


def goal_table(runs, pytorch):
    """What the goals of docs/performance.md came to, and the stage that measures each."""
    ours = fastest(runs)
    large = "bert-large"

    def own_mfu(batch, length):
        found = [r for r in runs if (r["model"], r["precision"], r["batch"], r["length"],
                                     r["lengths"]) == (large, "bf16", batch, length, "full") and
                 r["searched"] and mfu(r)]
        best = max(found, key=operator.itemgetter("rate"), default=None)
        return best and best["rate"] * best["flops"] / best["peak"] / 1e12

    def times(precision, batch, length=128, lengths="full", **wanted):
        """Ours to the fastest of PyTorch's bf16 runs that have what is wanted."""
        wanted.update(model=large, precision="bf16", batch=batch, sequence_length=length,
                      gelu="erf", lengths=lengths)
        theirs = max((p for p in pytorch if wanted.items() <= p.items()),
                     key=operator.itemgetter("rate"), default=None)
        own = theirs and ours.get((precision, *shape_of_pytorch(theirs)))
        return own and own / theirs["rate"]

    small = [x for x in (times("bf16", batch, variant="eager") for batch in (1, 4, 8, 16)) if x]
    goals = [
        ("MFU, 256 x 128, bf16", 0.57, own_mfu(256, 128), "speed"),
        ("MFU, 64 x 512, bf16", 0.48, own_mfu(64, 512), "speed"),
        ("fp8 to the fastest PyTorch in bf16, 256 x 128", 1.3, times("fp8", 256), "compile"),
        ("bf16 to Hugging Face as shipped, 256 x 128", 1.4,
         times("bf16", 256, variant="huggingface"), "pytorch"),
        ("bf16 to torch.compile max-autotune, 256 x 128", 1.0,
         times("bf16", 256, variant="compile", mode="max-autotune"), "compile"),
        ("bf16 to PyTorch eager, the least of micro-batches of 1, 4, 8 and 16 x 128", 1.5,
         min(small, default=None), "graphs and pytorch"),
        ("bf16 without padding to padded PyTorch, 64 sequences of Wikipedia's lengths up to 512",
         1.8, times("bf16", 64, 512, "wikipedia", variant="eager"), "speed and pytorch")]
    if not any(value for _, _, value, _ in goals):
        return
    yield "## Goals, bert-large"
    yield ""
    yield ("Sequences a second of bert_train, algorithms searched, the fastest of its cases, in "
           "proportion to PyTorch's in the same call.")
    yield ""
    yield from table(["goal", "at least", "measured", "reached", "stage"],
                     [(text, f"{least:.2f}", f"{value:.3f}" if value else "not in this call",
                       verdict(value >= least) if value else "", stage)
                      for text, least, value, stage in goals])


def pytorch_tables(runs, pytorch):
    """PyTorch's runs with the ratio of ours of the same precision and of fp8, each by the
    sequences a second; padded ones against ours without padding."""
    if not pytorch:
        return
    shape_of = shape_of_pytorch
    ours = fastest(runs)

    def ratio(precision, p):
        own = ours.get((precision, *shape_of(p)))
        return f"{own / p['rate']:.2f}" if own else ""

    best = {}
    for p in pytorch:
        if p["precision"] == "bf16":
            best[shape_of(p)] = max(p, best.get(shape_of(p), p), key=operator.itemgetter("rate"))
    yield "## PyTorch on the same device and day"
    yield ""
    yield ("ms of a step: median (mean where lengths vary) and range. Ratios: sequences/s of "
           "bert_train, algorithms searched, to these, in the same precision and in fp8. PyTorch "
           "computes on the padding of the same sequences, bert_train does not (`--unpadded`).")
    yield ""
    yield from table(
        ["variant", "mode", "model", "precision", "batch", "s", "lengths", "sequences/s", "ms",
         "range", "n", "peak GiB", "s until ready", "ratio", "ratio of fp8"],
        [(p["variant"], p["mode"] or "", p["model"], p["precision"], p["batch"],
          p["sequence_length"], lengths(p["lengths"], False), f"{p['rate']:.1f}",
          f"{p['middle'] * 1e3:.2f}", spread(p["seconds"]), len(p["seconds"]),
          f"{p['peak_bytes'] / 2**30:.1f}", f"{p['ready_s']:.0f}", ratio(p["precision"], p),
          ratio("fp8", p)) for p in pytorch])
    for p in best.values():
        times = [f"{precision} is {ratio(precision, p)} times as fast"
                 for precision in ("bf16", "fp8") if ratio(precision, p)]
        yield (f"- {p['model']}, {p['batch']} x {p['sequence_length']}, "
               f"{lengths(p['lengths'], False)}: the fastest PyTorch in bf16 is "
               f"{p['variant']}{' ' + p['mode'] if p['mode'] else ''}, {p['middle'] * 1e3:.2f} ms"
               f"{'; bert_train in ' if times else ''}{', in '.join(times)}.")
    yield ""


def gradient_table(gradients):
    if not gradients:
        return
    yield "## Gradients against PyTorch float64 on the same device"
    yield ""
    rows = []
    for g in gradients:
        peer = g.get("pytorch_precision", g["precision"])
        rows.append((
            g["backend"], g["model"], g["precision"], g["sequence_length"],
            " ".join(g["options"] + (["tanh"] if g["gelu"] == "tanh" else []) +
                     ([g["lengths"]] if g["lengths"] != "full" else [])),
            f"{g['worst']:.2e}",
            f"{g['pytorch_worst']:.2e}" + ("" if peer == g["precision"] else f" ({peer})"),
            f"{g['pytorch_pure_worst']:.2e}" if g["pytorch_pure_worst"] else "",
            f"{g['bound']:.2g}", f"{g['loss_error']:.1e}", verdict(g["good"])))
    yield from table(["backend", "model", "precision", "s", "options", "worst tensor",
                      "PyTorch's worst: autocast", "16-bit model", "bound", "loss", "within"], rows)


def main():
    status, results = Path(sys.argv[1]), Path(sys.argv[2])
    out = ["# GPU run", ""]
    out += table(["stage", "outcome", "s", "last line"],
                 [(x["stage"], x["outcome"], x["seconds"], x["last_line"][:120])
                  for x in lines(status)])
    facts = lines(results / "facts.log")
    if facts:
        known = facts[-1]
        device = known.get("device", {})
        out += [f"Device: {device.get('name', 'none')}; torch {known.get('torch')}, "
                f"CUDA {known.get('cuda')}, cuDNN {known.get('cudnn')}, NCCL {known.get('nccl')}, "
                f"transformers {known.get('transformers')}.", ""]
    runs, graphs = speed(results), speed(results, "graphs")
    # What the scripts of the stages print is distinguished by what each has alone.
    printed = [x for path in sorted(results.glob("*.log")) for x in lines(path)]
    pytorch = with_rates([x for x in printed if "variant" in x])
    out += goal_table(runs + graphs, pytorch)
    out += speed_tables(runs)
    out += graph_table(graphs)
    out += kernel_table(results)
    out += pytorch_tables(runs + graphs, pytorch)
    out += gradient_table([x for x in printed if "pytorch_worst" in x])
    equal = [x for x in printed if "same_bits" in x]
    if equal:
        out += ["## Two runs that must end alike", ""]
        out += table(["a", "b", "both", "bound", "worst", "bits", "within"],
                     [(e["a"] or "run 1", e["b"] or "run 2", e["common"],
                       "bits" if e["bound"] == 0 else f"{e['bound']:.0e}", f"{e['worst']:.2e}",
                       "equal" if e["same_bits"] else "differ", verdict(e["good"]))
                      for e in equal])
    for name, title in (("bench", "Kernels and products alone, by cuda_bench"),
                        ("sweep", "bert_train, by bertbench sweep")):
        text = results / f"{name}.txt"
        if text.exists():
            out += [f"## {title}", "", "```", text.read_text().rstrip(), "```", ""]
    print("\n".join(out))


if __name__ == "__main__":
    main()
