#!/usr/bin/env python3
"""Writes tqdm_golden.txt: what the real tqdm prints for scripted times. Needs tqdm from PyPI.

    python3 make_tqdm_golden.py > tqdm_golden.txt

Lines: "# comment"; "B <total>" begins a bar; "T <seconds> <text>" one loop iteration's end at that
time and what was written then (the first T is the construction, the last the closing too);
"M <n> <total> <elapsed> <rate or -> <text>" a call of format_meter. \\r and \\n are escaped.
"""
import io
import sys

import tqdm as package
import tqdm.std as std


class Clock:
    now = 0.0


std.time = lambda: Clock.now
std.tqdm.monitor_interval = 0


def escape(text):
    return text.replace("\r", "\\r").replace("\n", "\\n")


def bar(total, seconds):
    """seconds(i) = duration of iteration i."""
    print(f"B {total}")
    out = io.StringIO()
    Clock.now = 1000.25

    def emit():
        print(f"T {Clock.now!r} {escape(out.getvalue())}")
        out.seek(0)
        out.truncate()

    loop = iter(std.tqdm(range(total), desc="Iteration", file=out, ascii=False))
    next(loop)
    emit()
    for i in range(total):
        Clock.now += seconds(i)
        try:
            next(loop)
        except StopIteration:
            pass
        emit()


def lcg(seed):
    state = seed
    while True:
        state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        yield (state >> 33) / (1 << 31)


def main():
    print(f"# tqdm {package.__version__}")
    bar(60, lambda i: 0.03125)
    bar(40, lambda i: 0.314)
    bar(12, lambda i: 2.7)
    bar(5, lambda i: 1500.5)
    random = lcg(7)
    bar(150, lambda i: 0.002 + 0.08 * next(random))
    random = lcg(11)
    bar(60, lambda i: 13.0 if i % 20 == 19 else 0.2 * next(random))
    bar(3, lambda i: 0.0)
    for n in range(0, 82):
        print(f"M {n} 81 12.5 - {std.tqdm.format_meter(n, 81, 12.5, prefix='Iteration')}")
    for n, total, elapsed, rate in [(3655, 11057, 1157.9, 3.18), (1, 2, 0.0, None),
                                    (0, 7, 3.3, None), (19, 1147, 3.6, 5.55),
                                    (4, 4, 872.0, 1 / 219.68), (5, 10, 86399.9, 0.999),
                                    (5, 10, 1.0, 1.0), (7, 9, 36000.0, 1234.5)]:
        text = std.tqdm.format_meter(n, total, elapsed, prefix="Iteration", rate=rate)
        print(f"M {n} {total} {elapsed!r} {'-' if rate is None else repr(rate)} {text}")


if __name__ == "__main__":
    sys.exit(main())
