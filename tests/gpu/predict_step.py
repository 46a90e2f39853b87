#!/usr/bin/env python3
"""Predicts a training step of BERT on an H200 (bf16, erf GELU, dropout, AdamW) without a GPU.

    predict_step.py [--model bert-large] [--sequences 256] [--length 128] [--table FILE]

A kernel takes as long as its bytes at a rate of memory, or its instructions at a rate of issue,
whichever is longer; a product its FLOPs at a rate of its shape. The rates are frozen in
predicted.json, which names their source. Instructions are those of the table of machine code in
tests/golden (--table: another one), so the prediction changes with the code alone. Where a kernel
was measured, the figure stands next to the prediction, largest gap first.
"""

import argparse
import dataclasses
import json
import math
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/workloads/cuda"))
from machine_code import ARCHITECTURE, TABLES, kernels_of

PREDICTED = json.loads(Path(__file__).with_name("predicted.json").read_text())
FROZEN = PREDICTED["frozen"]
MODELS = ("bert-base", "bert-large")  # of 768 and 1024 columns: CODE
PROFILED = ("bert-large", 256, 128)  # what measured_kernels is of, and stage kernels of tests/gpu/run
# Cases of last_measured, and what they did about algorithms of products.
MEASURED_STEPS = {PROFILED: ("erf_128", "searched"), ("bert-large", 64, 512): ("erf_512", "searched"),
                  ("bert-large", 16, 128): ("erf_16", "not searched")}

# The variant of each kernel that a step of MODELS starts. reduce_partials_kernel has none here: its
# time is that of its launch.
CODE = {name: f"{name}<{arguments}>" for name, arguments in {
    "norm_forward_kernel": "bf16, 1, {groups}, true, true, false",  # groups of 256 columns
    "norm_backward_kernel": "bf16, 4, 1, true, {full}, false",
    "gelu_forward_kernel": "bf16",
    "column_sums_kernel": "bf16",
    "flash_forward_kernel": "bf16, true, false",
    "flash_query_kernel": "bf16, true",
    "flash_key_kernel": "bf16, true",
    "whole_head_kernel": "bf16, true",
    "cross_entropy_kernel": "bf16, false",
    "adamw_kernel": "bf16"}.items()} | {"squares_kernel": "squares_kernel"}

# Passes of the loop within the longest loop, by the kernels' source.
INNER_PASSES = {"flash_query_kernel": 2, "flash_key_kernel": 4}


class CannotPredict(Exception):
    """Says what is wrong with a file or a shape."""


@dataclasses.dataclass
class Shape:
    """A model of configs/models and its batch."""
    model: str
    sequences: int
    length: int

    def __post_init__(self):
        config = json.loads((ROOT / f"configs/models/{self.model}.json").read_text())
        self.layers, self.hidden, self.heads = (config[x] for x in ("layers", "hidden", "heads"))
        self.wide, self.vocabulary = config["intermediate"], config["vocabulary"]
        if self.length > config["max_positions"]:
            raise CannotPredict(f"{self.model} has {config['max_positions']} positions, fewer than "
                                f"{self.length} tokens; take a smaller --length")
        self.tokens = self.sequences * self.length
        self.masked_each = math.ceil(20 * self.length / 128)
        self.masked = self.sequences * self.masked_each
        self.logits = math.ceil(self.vocabulary / 8) * 8
        h, i = self.hidden, self.wide
        tables = (self.vocabulary + config["max_positions"] + config["segment_types"]) * h + 2 * h
        layer = 4 * (h * h + h) + 2 * h * i + h + i + 4 * h
        heads = 2 * (h * h + h) + 2 * h + self.vocabulary + 2 * h + 2
        self.parameters = tables + self.layers * layer + heads

    def flops(self, mean_length=None, mean_square_length=None):
        """Of a sequence, as formula masked_head of docs/numbers.md; of sequences that are not all
        full by what their steps in the log state."""
        h, s = self.hidden, mean_length or self.length
        layer = 8 * s * h * h + 4 * s * h * self.wide + 4 * (mean_square_length or s * s) * h
        word = 2 * h * h + 2 * h * self.vocabulary
        return 3 * (self.layers * layer + self.masked_each * word + 2 * h * h + 4 * h)


@dataclasses.dataclass
class Use:
    """Equal calls of a kernel: bytes that each must move, and instructions over all warps. None:
    bound by its bytes, as counts of the whole kernel say nothing of the few branches that it takes.
    `us`: of a call that is bound by neither."""
    kernel: str
    calls: int
    bytes: float
    instructions: float | None = None
    us: float | None = None

    def by_bytes(self):
        return self.bytes / FROZEN["GBps"] / 1e3

    def by_issue(self):
        if self.instructions is None:
            return None
        rate = FROZEN["issue"]["rates"].get(self.kernel, {}).get("rate", FROZEN["issue"]["other"])
        return self.instructions / (rate * FROZEN["schedulers"] * FROZEN["GHz"] * 1e3)

    def predicted(self):
        return self.us if self.us is not None else max(self.by_bytes(), self.by_issue() or 0)


def newest_table():
    def version(path):
        return [int(x) for x in path.stem.split("-")[-1].split(".")]

    newest = max(TABLES.glob(f"{ARCHITECTURE}-nvcc-*.txt"), key=version, default=None)
    if newest is None:
        raise CannotPredict(f"{TABLES}: no table for {ARCHITECTURE}; machine_code.py writes one")
    return newest


class Code:
    """The table of machine code."""

    def __init__(self, path, hidden):
        self.path = path
        self.values = {"groups": hidden // 256, "full": str(hidden == 1024).lower()}
        try:
            self.kernels = kernels_of(path.read_text())
        except (OSError, ValueError) as error:
            raise CannotPredict(f"{path}: no table of machine code: {error}") from error

    def number(self, kernel, column):
        name = CODE[kernel].format(**self.values)
        if name not in self.kernels:
            raise CannotPredict(f"{self.path}: no kernel {name}; if it has another name now, change "
                                f"CODE in {Path(__file__).name}")
        if column not in self.kernels[name]:
            raise CannotPredict(f"{self.path}: no column {column} for {name}; "
                                "BB_UPDATE_GOLDEN=1 on machine_code.py writes the table anew")
        return self.kernels[name][column]

    def executed(self, kernel, passes=1, loops=1):
        """Instructions of a warp that goes through the longest loop `passes` times, and through
        `loops` such; all that stands outside is counted once."""
        inner_passes = INNER_PASSES.get(kernel, 1)
        inner = self.number(kernel, "inner") if inner_passes > 1 else 0
        return (self.number(kernel, "instructions") + inner * (inner_passes - 1) * passes +
                self.number(kernel, "loop") * (passes - 1) * loops)


def uses_of(s, code):
    """Every kernel of a step but the smallest. Where a kernel's geometry comes from is said by its
    source: blocks, warps that share a row, rows a warp."""
    h, wide, t, m = s.hidden, s.wide, s.tokens, s.masked
    matrix = 2 * t * h  # bytes of [tokens, hidden] in 16 bits
    bits = t * h / 8  # of dropout

    def norms(kernel, rows):
        if kernel == "norm_forward_kernel":
            return rows * code.executed(kernel)
        blocks = min(640, rows)
        return 4 * blocks * code.executed(kernel, rows / blocks)

    for kernel, in_layer in (("norm_forward_kernel", 4), ("norm_backward_kernel", 4)):
        yield Use(kernel, 2 * s.layers, in_layer * matrix + bits, norms(kernel, t))
        yield Use(kernel, 1, 3 * matrix + bits, norms(kernel, t))  # of the embeddings
        yield Use(kernel, 1, 3 * 2 * m * h, norms(kernel, m))  # of the masked words
    for calls, rows, width in ((s.layers, t, wide), (1, m, h)):
        yield Use("gelu_forward_kernel", calls, 2 * 2 * rows * width,
                  2 * rows * math.ceil(width / 512) * code.executed("gelu_forward_kernel"))
        slices = min(128, math.ceil(rows / 32))
        yield Use("column_sums_kernel", calls, 3 * 2 * rows * width,
                  8 * slices * math.ceil(width / 256) *
                  code.executed("column_sums_kernel", rows / slices / 8))
    yield Use("column_sums_kernel", 2, matrix / 2)  # gradients of the segments' table
    yield Use("column_sums_kernel", 1, 2 * m * s.logits)  # that of the decoder's bias

    tiles = math.ceil(s.length / 64)
    log_sums = 4 * s.heads * t
    kept = s.sequences * s.heads * (64 * tiles) ** 2 / 8
    warps = s.sequences * s.heads * tiles * 4
    yield Use("flash_forward_kernel", s.layers, 4 * matrix + kept + log_sums,
              warps * code.executed("flash_forward_kernel", tiles))
    if 64 < s.length <= 128:
        yield Use("whole_head_kernel", s.layers, 8 * matrix + kept + log_sums,
                  s.sequences * s.heads * 8 *
                  code.executed("whole_head_kernel", math.ceil(s.length / 16), 2))
    else:
        for kernel in ("flash_query_kernel", "flash_key_kernel"):
            yield Use(kernel, s.layers, 6 * matrix + kept + 2 * log_sums,
                      warps * code.executed(kernel, tiles))

    yield Use("cross_entropy_kernel", 1, 2 * 2 * m * s.logits,
              8 * m * code.executed("cross_entropy_kernel", math.ceil(s.logits / 2048)))
    warps = 8 * s.parameters / 16384
    yield Use("squares_kernel", 1, 4 * s.parameters, warps * code.executed("squares_kernel", 8))
    yield Use("adamw_kernel", 1, 30 * s.parameters, warps * code.executed("adamw_kernel", 8))
    # After each LayerNorm's backward (whose bytes these are), GELU's and attention's, and the sums
    # of columns above.
    yield Use("reduce_partials_kernel", 4 * s.layers + 6, 4 * 3 * h * min(640, t),
              us=FROZEN["rest"]["us"]["launch of reduce_partials_kernel"])


def products_of(s):
    """(name, kind, calls, FLOPs of a call); heads: transform and decoder of masked words, pooler."""
    h, t = s.hidden, s.tokens
    heads = s.masked * (h + s.logits) + s.sequences * h
    for name, calls, size in (("query, key, value", s.layers, 3 * h * t),
                              ("attention output", s.layers, h * t),
                              ("feed-forward 1", s.layers, s.wide * t),
                              ("feed-forward 2", s.layers, s.wide * t), ("heads", 1, heads)):
        for kind in ("forward", "input gradient", "weight gradient"):
            yield name, kind, calls, 2 * h * size


def rest_of(s):
    """Microseconds of what has no row of its own."""
    us = FROZEN["rest"]["us"]
    return {"small, in layers": us["small"] * s.layers,
            "embeddings": us["embeddings"] * s.tokens * s.hidden / (32768 * 1024),
            "host": us["host"]}


@dataclasses.dataclass
class Kernel:
    """What all calls of a step take, in microseconds; in_layers: what one of most calls does."""
    calls: int = 0
    us: float = 0
    in_layers: Use | None = None


def kernels_of_step(s, table=None):
    """{kernel: Kernel}, kernels without a prediction left out."""
    code = Code(table or newest_table(), s.hidden)
    found = defaultdict(Kernel)
    for use in uses_of(s, code):
        kernel = found[use.kernel]
        kernel.calls += use.calls
        kernel.us += use.calls * use.predicted()
        kernel.in_layers = max(kernel.in_layers or use, use, key=lambda x: x.calls)
    return found


def text(number, form=".1f"):
    return "" if number is None else format(number, form)


def aligned(rows):
    """Lines of columns; the first is of words, the others of numbers."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        cells = [x.rjust(width) for x, width in zip(row[1:], widths[1:])]
        yield "  ".join([row[0].ljust(widths[0]), *cells]).rstrip()


def kernel_rows(s, kernels):
    measured = (PREDICTED["measured_kernels"]["us"]
                if (s.model, s.sequences, s.length) == PROFILED else {})
    rows = []
    for name, kernel in kernels.items():
        call = kernel.in_layers
        us = measured.get(name)
        # What was measured is a call in a layer, or the only one.
        gap = None if us is None else (us - call.predicted()) * call.calls / 1e3
        rows.append((gap is None, -(gap or 0), -kernel.us, (
            name, str(kernel.calls), text(call.bytes / 1e6, ".0f"), text(call.by_bytes()),
            text(call.by_issue()), text(call.predicted()), text(kernel.us / 1e3, ".2f"), text(us),
            text(us and us / call.predicted(), ".2f"), text(gap, ".2f"))))
    yield ("kernel", "calls", "MB", "us by bytes", "us by issue", "us", "ms a step", "measured us",
           "ratio", "gap ms")
    yield from (row[-1] for row in sorted(rows))


def report(s, table):
    kernels = kernels_of_step(s, table)
    rates = FROZEN["products"]["rates"]
    search = FROZEN["not_executed"]["search_rates"]
    rows = [("product", "calls", "GFLOP", "TFLOP/s", "us", "ms a step")]
    products = saved_by_search = 0
    for name, kind, calls, flops in products_of(s):
        rate = rates[name][kind]
        us = flops / rate / 1e6
        products += calls * us
        saved_by_search += calls * (us - flops / search.get(name, {}).get(kind, rate) / 1e6)
        rows.append((f"{name}, {kind}", str(calls), text(flops / 1e9, ".0f"), str(rate), text(us),
                     text(calls * us / 1e3, ".2f")))
    rest = rest_of(s)
    parts = {"products": products, "kernels": sum(x.us for x in kernels.values()),
             "rest": sum(rest.values())}
    us = sum(parts.values())
    rate = s.sequences / us * 1e6
    peak = PREDICTED["dense_TFLOPs"][PREDICTED["device"]]

    yield (f"{s.model}, {s.sequences} x {s.length} tokens, bf16, erf GELU, {PREDICTED['device']}: "
           f"{FROZEN['GBps']} GB/s, {FROZEN['schedulers']} schedulers at {FROZEN['GHz']} GHz")
    yield ""
    yield "A call in a layer, or the only one; ms a step: of all calls. Gap: measured less predicted."
    yield ""
    yield from aligned(list(kernel_rows(s, kernels)))
    yield ""
    yield from aligned(rows)
    yield ""
    yield from aligned([("rest", "ms a step"),
                        *((name, text(x / 1e3, ".2f")) for name, x in rest.items())])
    yield ""
    yield (f"predicted: {us / 1e3:.1f} ms a step, {rate:.0f} sequences/s, "
           f"MFU {rate * s.flops() / peak / 1e12:.1%} (" +
           ", ".join(f"{name} {x / 1e3:.1f} ms" for name, x in parts.items()) + ")")
    if (s.model, s.sequences, s.length) in MEASURED_STEPS:
        case, algorithms = MEASURED_STEPS[s.model, s.sequences, s.length]
        ms = PREDICTED["last_measured"]["ms"][case]
        yield (f"measured: {ms} ms a step, {s.sequences / ms * 1e3:.0f} sequences/s, "
               f"{ms * 1e3 / us:.2f} times the prediction ({PREDICTED['last_measured']['when']}, "
               f"algorithms {algorithms})")
    if (s.model, s.sequences, s.length) == PROFILED:
        ms = PREDICTED["measured_kernels"]["products_ms"]
        yield (f"measured, products: {ms} ms, {ms * 1e3 / products:.2f} times the prediction "
               "(one kernel at a time, algorithms searched)")
    yield ""
    yield "Apart, in no sum above:"
    # As attention's work: sequences x length x length x hidden.
    share = s.tokens * s.length * s.hidden / (256 * 128 * 128 * 1024)
    cudnn = sum(FROZEN["not_executed"]["cudnn_us"].values()) * s.layers * share
    own = sum(kernel.us for name, kernel in kernels.items() if name.startswith(("flash", "whole")))
    apart = {"cuDNN's attention": own - cudnn, "search of products' algorithms": saved_by_search}
    yield from aligned([("part", "saves ms", "then ms a step", ""),
                        *((name, text(x / 1e3, ".1f"), text((us - x) / 1e3), "not executed")
                          for name, x in apart.items())])


def count(word):
    number = int(word)
    if not 0 < number <= 1 << 20:
        raise ValueError
    return number


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", choices=MODELS, default="bert-large")
    parser.add_argument("--sequences", type=count, default=256)
    parser.add_argument("--length", type=count, default=128, help="tokens of a sequence")
    parser.add_argument("--table", type=Path, help="of machine code; default: the newest nvcc's")
    arguments = parser.parse_args()
    try:
        print("\n".join(report(Shape(arguments.model, arguments.sequences, arguments.length),
                               arguments.table)))
    except CannotPredict as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
