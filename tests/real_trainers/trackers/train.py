"""Trains a softmax regression with a sleep a step and gives the same numbers to the console, to JSON
lines and to the trackers: train.py FOLDER. Needs numpy, tensorboardX, wandb, mlflow, trackio.

The folder then holds console.log, sample.log (JSON lines), timings.jsonl (the loop's own clock),
tensorboard/, wandb/, mlflow.db and trackio/. Step 30 takes 0.2 s more, as a checkpoint does."""

import datetime
import json
import os
import pathlib
import sys
import time

STEPS, EVERY, BATCH = 60, 5, 32

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True)
os.environ["WANDB_MODE"] = "offline"
os.environ["WANDB_DIR"] = str(folder)
os.environ["TRACKIO_DIR"] = str(folder / "trackio")
os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"

import mlflow  # noqa: E402
import numpy as np  # noqa: E402
import tensorboardX  # noqa: E402
import trackio  # noqa: E402
import wandb  # noqa: E402

config = {"per_device_train_batch_size": BATCH, "gradient_accumulation_steps": 1,
          "world_size": 1, "seq_length": 64, "max_steps": STEPS}
board = tensorboardX.SummaryWriter(str(folder / "tensorboard"))
run = wandb.init(project="samples", config=config, settings=wandb.Settings(
    console="wrap", x_disable_meta=True, x_disable_stats=True, x_disable_machine_info=True,
    host="host", program="train.py"))
mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
mlflow.start_run()
mlflow.log_params(config)
trackio.init(project="samples", config=config, auto_log_gpu=False, embed=False)
console = open(folder / "console.log", "w", buffering=1)
lines = open(folder / "sample.log", "w", buffering=1)
timings = open(folder / "timings.jsonl", "w")

rng = np.random.default_rng(7)
data, classes = rng.normal(size=(4096, 64)), rng.integers(0, 8, 4096)
weights = np.zeros((64, 8))
began = before = logged = time.perf_counter()
for step in range(1, STEPS + 1):
    rows = rng.integers(0, 4096, BATCH)
    logits = data[rows] @ weights
    chance = np.exp(logits - logits.max(1, keepdims=True))
    chance /= chance.sum(1, keepdims=True)
    loss = float(-np.log(chance[np.arange(BATCH), classes[rows]]).mean())
    chance[np.arange(BATCH), classes[rows]] -= 1
    weights -= 0.1 * data[rows].T @ chance / BATCH
    time.sleep(0.02 + 0.01 * rng.random() + (0.2 if step == 30 else 0))
    ended = time.perf_counter()
    print(json.dumps({"step": step, "seconds": ended - before, "sequences": BATCH,
                      "end": ended - began}), file=timings)
    before = ended
    if step % EVERY == 0:
        rate, logged = EVERY / (ended - logged), ended
        now = datetime.datetime.now(datetime.timezone.utc)
        for out in (console, sys.stdout):
            print(f"{now:%Y-%m-%d %H:%M:%S},{now.microsecond // 1000:03} __main__    : INFO     "
                  f"Train step {step} -- Loss: {loss:.3f}, MLM: {loss:.3f} -- It/s: {rate:.2f}",
                  file=out)
        print(json.dumps({"step": step, "epoch": 0, "timestamp": now.isoformat(timespec="milliseconds"),
                          "loss": loss, "lr": 0.1, "samples_per_second": rate * BATCH}), file=lines)
        board.add_scalar("train/loss", loss, step)
        board.add_scalar("train/steps_per_second", rate, step)
        values = {"train/loss": loss, "train/steps_per_second": rate}
        wandb.log(values, step=step)
        trackio.log(values, step=step)
        mlflow.log_metrics(values, step=step)
board.close()
wandb.finish()
trackio.finish()
mlflow.end_run()
