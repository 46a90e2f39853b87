#!/usr/bin/env python3
"""A trainer that bertbench knows nothing of: a logistic regression in plain Python, a step at a
time, a line for each. Of several processes the first one prints, as trainers do.
docs/own_trainer.md measures it, and its commands are a test."""

import argparse
import json
import math
import os
import random
import sys
import time

options = argparse.ArgumentParser()
options.add_argument("--batch", type=int, default=4)
options.add_argument("--steps", type=int, default=60)
options.add_argument("--lr", type=float, default=0.1)
options.add_argument("--settings", help="JSON that takes the place of the options")
options.add_argument("--fail-at", type=int, default=0, help="raise an error at this step")
options.add_argument("--exit-at", type=int, default=0, help="exit with status 3 at this step")
args = options.parse_args()
if args.settings:
    with open(args.settings) as source:
        vars(args).update(json.load(source))

# torchrun's variables, which bertbench sets under local, ssh and slurm; Open MPI's under mpi.
rank = int(os.environ.get("RANK", os.environ.get("OMPI_COMM_WORLD_RANK", 0)))
draw = random.Random(1)
weights = [0.0] * 16
for step in range(1, args.steps + 1):
    begin = time.perf_counter()
    loss = 0.0
    for _ in range(args.batch):
        features = [draw.gauss(0, 1) for _ in weights]
        label = 1.0 if sum(features) > 0 else 0.0
        guess = 1 / (1 + math.exp(-sum(w * x for w, x in zip(weights, features))))
        loss -= math.log(max(1e-9, guess if label else 1 - guess)) / args.batch
        weights = [w + args.lr * (label - guess) * x for w, x in zip(weights, features)]
    time.sleep(0.002 * args.batch)  # the rest of a model
    if args.fail_at == step:
        raise ValueError("no such token")
    if args.exit_at == step:
        sys.exit(3)
    if rank == 0:
        print(f"step {step} loss {loss:.4f}  {time.perf_counter() - begin:.4f} s/step", flush=True)
