#!/usr/bin/env python3
"""Gradients and losses of bert_train next to transformers on the same device: BertForPreTraining,
or GPT2LMHeadModel for a model of that name.

The gradient is read from a checkpoint of one step with --beta1 0 (the first moment is then the
gradient itself), --learning-rate 0 and no clipping, so no special code is in the trainer. Weights
come from the same checkpoint, the batch from bert_dump_batch. The truth is PyTorch in float64.

    gradients.py --bin DIR [--backend cuda] [--precision bf16,fp8] [--model bert-tiny] ...

Metric per tensor: |g - truth| / |truth|; bounds below. Half precisions are judged by PyTorch's own
error on the same batch, in the two ways people train: autocast, which keeps the residual stream in
fp32, and a model of 16-bit weights and activations, which rounds it as bert_train does. PyTorch has
no training step of 8 bits: fp8 has a bound of its own, and the error of bf16 autocast for scale.
Each precision prints one JSON object as soon as it is done, and standard error what each part took.
Exit status: 0 within the bounds, 1 not, 2 cannot be measured.
"""

import argparse
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# Largest error of a tensor, and of the loss (relative). Half precisions are also held against
# PyTorch's own: 1.25 times its error and a bit.
BOUNDS = {"fp32": (1e-5, 1e-6), "tf32": (2e-3, 1e-3), "bf16": (3e-2, 2e-3), "fp16": (3e-2, 2e-3),
          "fp8": (0.15, 2e-3)}
DEEP = {"fp32": 1e-4, "bf16": 6e-2, "fp8": 0.35}  # of more than 4 layers, up to 24


def run(words, **more):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, **more)
    if done.returncode != 0:
        print(f"gradients.py: {words[0]} ended with {done.returncode}: {done.stderr.strip()}",
              file=sys.stderr)
        sys.exit(2)
    return done.stdout


def checkpoint_folder():
    """A folder that goes away. bert-large's checkpoint has 4 GB, which bert_train waits for until
    they are on the disk: memory is faster, where there is room."""
    memory = "/dev/shm"
    roomy = os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 8 << 30
    return tempfile.TemporaryDirectory(dir=memory if roomy else None)


def read_checkpoint(folder):
    """Weight and first moment of each parameter; the second moments, a third of the file, are left
    unread."""
    import numpy as np
    path = sorted(Path(folder).glob("step_*.ckpt"))[-1]
    with path.open("rb") as file:
        size = struct.unpack("<8xQ", file.read(16))[0]
        header = json.loads(file.read(size))
        arrays = np.fromfile(file, "<f4", header["elements"] * 2).reshape(2, -1)
    tensors = {}
    for p in header["parameters"]:
        part = slice(p["offset"], p["offset"] + p["size"])
        tensors[p["name"]] = (arrays[0][part].reshape(p["shape"]),
                              arrays[1][part].reshape(p["shape"]))
    return tensors


def bert(batch, gelu, device):
    """The model of transformers, and its loss of the batch."""
    import numpy as np
    import torch
    import transformers
    model = transformers.BertForPreTraining(transformers.BertConfig(
        vocab_size=batch["vocabulary"], hidden_size=batch["hidden"],
        num_hidden_layers=batch["layers"], num_attention_heads=batch["heads"],
        intermediate_size=batch["intermediate"], hidden_act=gelu, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0, max_position_embeddings=batch["positions"],
        type_vocab_size=2, layer_norm_eps=1e-12, pad_token_id=0, attn_implementation="eager"))

    def loss(of, b, s):
        labels = np.full(b * s, -100, dtype=np.int64)
        labels[np.array(batch["masked"])] = batch["labels"]
        mask = (torch.arange(s, device=device) < torch.tensor(batch["lengths"],
                                                              device=device)[:, None]).long()
        return model(input_ids=of("tokens"), token_type_ids=of("segments"), attention_mask=mask,
                     labels=torch.from_numpy(labels).to(device).reshape(b, s),
                     next_sentence_label=torch.tensor(batch["next_sentence"], device=device)).loss
    return model, loss


def gpt2(batch, gelu, device):
    """Likewise; transformers would shift labels itself and predict one word less."""
    import torch
    import transformers
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=batch["vocabulary"], n_embd=batch["hidden"], n_layer=batch["layers"],
        n_head=batch["heads"], n_inner=batch["intermediate"], n_positions=batch["positions"],
        activation_function=gelu, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
        layer_norm_epsilon=1e-5, bos_token_id=0, eos_token_id=0, attn_implementation="eager"))

    def loss(of, b, s):
        logits = model(input_ids=of("tokens")).logits
        logits = logits if logits.dtype == torch.float64 else logits.float()
        return torch.nn.functional.cross_entropy(logits.reshape(b * s, -1),
                                                 of("labels").reshape(-1))
    return model, loss


def as_stored(name, matrix):
    """GPT-2's Conv1D has [inputs, outputs], a checkpoint [outputs, inputs]."""
    return matrix.T if ".h." in name and matrix.ndim == 2 else matrix


def pytorch(batch, weights, a, precision, device, pure=False):
    """Losses and gradients of PyTorch at a precision; the batch's shapes as in batch.h. `pure`:
    half precisions without autocast, by 16-bit weights and activations."""
    import torch
    gelu = "gelu" if (a.gelu or batch["gelu"]) == "erf" else "gelu_pytorch_tanh"
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    # Made on the device: a CPU of 2 cores takes 14 s for the random weights of a bert-large, which
    # are overwritten right away.
    with torch.device(device):
        model, loss_of = (gpt2 if batch["next_word"] else bert)(batch, gelu, device)
    half = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision)
    model = model.double() if precision == "fp64" else model.to(half) if pure else model
    model = model.to(device).train()
    parameters = dict(model.named_parameters())
    with torch.no_grad():
        for name, weight in weights.items():
            parameters[name].copy_(as_stored(name, weight))
    scale = 1024.0 if precision == "fp16" else 1.0
    b, s = len(batch["lengths"]), len(batch["tokens"]) // len(batch["lengths"])
    with torch.autocast(device, dtype=half, enabled=half is not None and not pure):
        loss = loss_of(lambda key: torch.tensor(batch[key], device=device).reshape(b, s), b, s)
    (loss * scale).backward()
    gradients = {n: as_stored(n, parameters[n].grad.double()) / scale for n in weights}
    return loss.item(), gradients


def without_key(name, gradient):
    """A key's bias has a gradient of 0 in theory; GPT-2 keeps it between query's and value's. Of an
    array as of a tensor."""
    return gradient.reshape(3, -1)[::2] if name.endswith("attn.c_attn.bias") else gradient


def errors(gradients, truth):
    """Of each tensor, on the device that has them."""
    result = {}
    for name, wanted in truth.items():
        if name.endswith("self.key.bias"):
            continue  # zero in theory
        norm = without_key(name, wanted).norm().item()
        off = without_key(name, gradients[name].double() - wanted).norm().item()
        result[name] = off / norm if norm else 0.0
    return result


def compare(a, precision, device, known):
    """Prints one JSON object; whether the case is within its bounds. `known`: weights, loss and
    gradients in float64 of the case before, which hold for all precisions of the same weights."""
    import torch
    seconds, begin = {}, time.monotonic()

    def done(part):
        nonlocal begin
        seconds[part] = round(time.monotonic() - begin, 2)
        begin = time.monotonic()
        print(f"gradients.py: {a.model}, {precision}: {part} took {seconds[part]:.1f} s",
              file=sys.stderr, flush=True)

    shape = [a.model, a.sequence_length, a.sequences]
    batch = json.loads(run([f"{a.bin}/bert_dump_batch", *shape, 1, a.lengths]))
    words = ["--model", a.model, "--backend", a.backend, "--precision", precision, "--gelu",
             a.gelu or batch["gelu"], "--micro-batch-size", a.sequences,
             "--sequence-length", a.sequence_length, "--steps", 1, "--dropout", 0, "--beta1", 0,
             "--learning-rate", 0, "--gradient-clipping", 0]
    words += (["--lengths", a.lengths] if a.lengths != "full" else []) + a.more
    if precision == "fp16":
        words += ["--loss-scale", 1024]
    with checkpoint_folder() as folder:
        log = run([f"{a.bin}/bert_train", *words, "--checkpoint", folder])
        done("bert_train")
        tensors = read_checkpoint(folder)
    weights = {n: torch.from_numpy(w).to(device) for n, (w, _) in tensors.items()}
    gradients = {n: torch.from_numpy(g).to(device) for n, (_, g) in tensors.items()}
    done("checkpoint")
    step = next(json.loads(x) for x in log.splitlines() if '"type":"step"' in x)
    if not known or not all(torch.equal(known[0][n], w) for n, w in weights.items()):
        known[:] = [weights, *pytorch(batch, weights, a, "fp64", device)]
    _, loss, truth = known
    own = errors(gradients, truth)
    done("float64")
    peer = "bf16" if precision == "fp8" else precision
    theirs_loss, theirs = pytorch(batch, weights, a, peer, device)
    theirs = errors(theirs, truth)
    bound, loss_bound = BOUNDS[precision]
    if batch["layers"] > 4:
        bound = DEEP.get(precision, bound)
    half = precision in ("bf16", "fp16")
    pure = (errors(pytorch(batch, weights, a, precision, device, pure=True)[1], truth)
            if half else {})
    done("pytorch")
    over = {n: e for n, e in own.items()
            if e > bound or (half and e > 1.25 * max(theirs[n], pure[n]) + 1e-3)}
    loss_error = abs(step["loss"] - loss) / abs(loss)
    worst = max(own, key=own.get)
    good = not over and loss_error <= loss_bound
    print(json.dumps({
        "model": a.model, "precision": precision, "backend": a.backend,
        "gelu": a.gelu or batch["gelu"],
        "sequence_length": a.sequence_length, "sequences": a.sequences, "lengths": a.lengths,
        "options": a.more, "good": good, "loss_error": loss_error,
        "pytorch_precision": peer, "pytorch_loss_error": abs(theirs_loss - loss) / abs(loss),
        "worst": own[worst], "worst_tensor": worst, "pytorch_worst": max(theirs.values()),
        "pytorch_pure_worst": max(pure.values(), default=None), "bound": bound,
        "loss_bound": loss_bound, "seconds": seconds,
        "over": dict(sorted(over.items(), key=lambda x: -x[1])[:5])}), flush=True)
    return good


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--bin", required=True, help="folder with bert_train and bert_dump_batch")
    p.add_argument("--backend", default="cuda")
    p.add_argument("--precision", default="fp32", help="one or more: fp32,tf32,bf16,fp16,fp8")
    p.add_argument("--model", default="bert-tiny")
    p.add_argument("--gelu", choices=["erf", "tanh"], help="[the model's own]")
    p.add_argument("--sequence-length", type=int, default=128)
    p.add_argument("--sequences", type=int, default=4)
    p.add_argument("--lengths", default="full", help="as bert_train's")
    p.add_argument("--device", help="of PyTorch [cuda for --backend cuda, else cpu]")
    p.add_argument("--more", nargs=argparse.REMAINDER, default=[], help="options of bert_train")
    a = p.parse_args()
    try:
        import torch
        import transformers  # noqa: F401
    except ImportError as error:
        print(f"gradients.py: {error}", file=sys.stderr)
        return 2
    device = a.device or ("cuda" if a.backend == "cuda" else "cpu")
    if device == "cuda" and not torch.cuda.is_available():
        print("gradients.py: PyTorch sees no GPU", file=sys.stderr)
        return 2
    unknown = [x for x in a.precision.split(",") if x not in BOUNDS]
    if unknown:
        p.error(f"--precision: {', '.join(unknown)}; there are: {', '.join(sorted(BOUNDS))}")
    # Ended by `timeout`, it still takes the checkpoint out of memory.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    known = []
    good = [compare(a, precision, device, known) for precision in a.precision.split(",")]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
