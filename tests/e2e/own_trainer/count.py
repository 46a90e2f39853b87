#!/usr/bin/env python3
"""A trainer that prints how many steps it has done and neither times nor rates. When each step ended
it writes into a file of its own, by the monotonic clock: what a harness says of it is compared with
that (tests/e2e/arrival_test.py)."""

import argparse
import time

options = argparse.ArgumentParser()
options.add_argument("--clock", required=True, help="file for the time at which each step ended, a line each")
options.add_argument("--steps", type=int, default=200)
options.add_argument("--seconds", type=float, default=0.02, help="of a step")
options.add_argument("--keep-back", action="store_true", help="leave the output to Python's buffer")
options.add_argument("--pad", type=int, default=0, help="characters more on each line")
options.add_argument("--state", type=float, default=0, help="print this time of a step, true or not")
args = options.parse_args()

clock = open(args.clock, "w", encoding="utf-8", buffering=1)
for step in range(1, args.steps + 1):
    time.sleep(args.seconds)
    clock.write(f"{time.monotonic():.6f}\n")
    line = f"step {step}" + (f" loss 1.5 {args.state:.4f} s/step" if args.state else "")
    print(line + " " + "." * args.pad if args.pad else line, flush=not args.keep_back)
