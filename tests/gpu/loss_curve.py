#!/usr/bin/env python3
"""The loss over a training of bert_train next to transformers' BertForPreTraining: equal weights at
the start, equal batches of a text, no dropout, AdamW, gradients clipped at 1.

    loss_curve.py --bin DIR --data TEXT [--backend cpu] [--steps 500] ...

Four curves: bert_train in bf16, PyTorch in bf16 (autocast), the same with the sequences of each
batch in reverse order, which changes nothing but how sums are rounded, and PyTorch in fp32.
Judged are means of 25 steps: bert_train's may be apart from PyTorch's by twice what PyTorch's own
three are apart from each other, as a root of the mean square over all means.
Prints one JSON object. Exit status: 0 within that, 1 not, 2 cannot be measured.
"""

import argparse
import json
import sys
from pathlib import Path

from gradients import bert, checkpoint_folder, read_checkpoint, run

MEAN_OF = 25  # steps


def common(a):
    return ["--model", a.model, "--backend", a.backend, "--micro-batch-size", a.sequences,
            "--sequence-length", a.sequence_length, "--dropout", 0, "--data", a.data]


def weights_at_start(a):
    with checkpoint_folder() as folder:
        run([f"{a.bin}/bert_train", *common(a), "--steps", 1, "--learning-rate", 0,
             "--checkpoint", folder])
        return {name: weight.copy() for name, (weight, _) in read_checkpoint(folder).items()}


def own_losses(a):
    log = run([f"{a.bin}/bert_train", *common(a), "--precision", "bf16", "--steps", a.steps,
               "--learning-rate", a.learning_rate, "--decay-power", 0])
    steps = [json.loads(line) for line in log.splitlines() if '"type":"step"' in line]
    return [step["loss"] for step in steps]


def reversed_sequences(batch):
    """The same batch with its sequences in reverse order."""
    b = len(batch["lengths"])
    s = len(batch["tokens"]) // b
    out = dict(batch)
    for key in ("tokens", "segments"):
        rows = [batch[key][i * s:(i + 1) * s] for i in range(b)]
        out[key] = [x for row in reversed(rows) for x in row]
    for key in ("lengths", "next_sentence"):
        out[key] = batch[key][::-1]
    out["masked"] = [(b - 1 - place // s) * s + place % s for place in batch["masked"]]
    return out


def pytorch_losses(batches, weights, a, bf16=True, change=lambda batch: batch):
    import torch
    device = "cuda" if a.backend == "cuda" else "cpu"
    first = json.loads(batches[0])
    gelu = "gelu" if first["gelu"] == "erf" else "gelu_pytorch_tanh"
    holder = dict(first)  # bert() reads the batch that lies here
    model, loss_of = bert(holder, gelu, device)
    model.to(device).train()
    parameters = dict(model.named_parameters())
    with torch.no_grad():
        for name, weight in weights.items():
            parameters[name].copy_(torch.from_numpy(weight))
    plain = [p for n, p in parameters.items() if n.endswith("bias") or "LayerNorm" in n]
    decayed = [p for n, p in parameters.items() if not (n.endswith("bias") or "LayerNorm" in n)]
    optimizer = torch.optim.AdamW([{"params": decayed}, {"params": plain, "weight_decay": 0.0}],
                                  lr=a.learning_rate, eps=1e-6, weight_decay=0.01)
    losses = []
    for line in batches:
        holder.update(change(json.loads(line)))
        b, s = len(holder["lengths"]), len(holder["tokens"]) // len(holder["lengths"])
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.bfloat16, enabled=bf16):
            loss = loss_of(lambda key: torch.tensor(holder[key], device=device).reshape(b, s), b, s)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


def means(losses):
    return [sum(losses[i:i + MEAN_OF]) / MEAN_OF for i in range(0, len(losses), MEAN_OF)]


def apart(one, other):
    squares = [(x - y) ** 2 for x, y in zip(means(one), means(other))]
    return (sum(squares) / len(squares)) ** 0.5


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--bin", required=True, help="folder with bert_train and bert_dump_batch")
    p.add_argument("--data", required=True, help="UTF-8 text")
    p.add_argument("--backend", default="cpu")
    p.add_argument("--model", default="bert-mini")
    p.add_argument("--sequence-length", type=int, default=128)
    p.add_argument("--sequences", type=int, default=8)
    p.add_argument("--steps", type=int, default=500, help=f"a multiple of {MEAN_OF}")
    p.add_argument("--learning-rate", type=float, default=1e-4)
    a = p.parse_args()
    if a.steps < MEAN_OF or a.steps % MEAN_OF != 0:
        p.error(f"--steps: {a.steps} is no multiple of {MEAN_OF}")
    try:
        import torch  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as error:
        print(f"loss_curve.py: {error}", file=sys.stderr)
        return 2
    a.data = str(Path(a.data).resolve())
    weights = weights_at_start(a)
    batches = run([f"{a.bin}/bert_dump_batch", a.model, a.sequence_length, a.sequences, 1, "full",
                   a.steps, a.data]).splitlines()
    curves = {"bert_train": own_losses(a),
              "PyTorch": pytorch_losses(batches, weights, a),
              "PyTorch, reversed": pytorch_losses(batches, weights, a, change=reversed_sequences),
              "PyTorch fp32": pytorch_losses(batches, weights, a, bf16=False)}
    noise = max(apart(curves["PyTorch"], curves["PyTorch, reversed"]),
                apart(curves["PyTorch"], curves["PyTorch fp32"]))
    own = apart(curves["bert_train"], curves["PyTorch"])
    good = own <= 2 * noise
    print(json.dumps({"model": a.model, "precision": "bf16", "backend": a.backend,
                      "steps": a.steps, "sequences": a.sequences, "good": good, "apart": own,
                      "apart_from_fp32": apart(curves["bert_train"], curves["PyTorch fp32"]),
                      "pytorch_apart": noise,
                      "means": {name: [round(x, 4) for x in means(c)]
                                for name, c in curves.items()}}))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
