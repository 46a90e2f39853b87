#!/usr/bin/env python3
"""Training steps of BERT and GPT-2 in PyTorch, for the table next to bert_train's.

    pytorch_speed.py --variant eager|compile|huggingface --model bert-large --precision bf16
                     --batch 64 --sequence-length 128 [--steps 30] [--compile-mode MODE]

The work of one step is bert_train's: synthetic tokens, forward, backward, gradient norm clipped
at 1, AdamW on fp32 masters (autocast for half precisions), dropout 0.1.
  eager        logits at masked positions only, SDPA attention, fused AdamW
  compile      the same under torch.compile, max-autotune unless --compile-mode names another
  huggingface  transformers' BertForPreTraining as shipped: logits at all positions
With --lengths the batches of a BERT are bert_train's own of as many steps, padded, under an
attention mask: bert_dump_batch, in the folder --bin, makes them.
GPT-2 predicts at all positions in each: huggingface is GPT2LMHeadModel with its own loss.
One JSON object with the seconds of every measured step; exit status 2: cannot be run. On a GPU the
steps lie between events that are read after the last one: the host runs ahead, as in training.
"""

import argparse
import json
import subprocess
import sys
import time

SHAPES = {"bert-tiny": (2, 128), "bert-base": (12, 768), "bert-large": (24, 1024),
          "gpt2-tiny": (2, 128), "gpt2": (12, 768)}


def vocabulary(a):
    return 50257 if a.model.startswith("gpt2") else 30522


def build_gpt2(a, torch):
    import transformers
    layers, hidden = SHAPES[a.model]
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=vocabulary(a), n_embd=hidden, n_layer=layers, n_head=hidden // 64,
        activation_function="gelu_pytorch_tanh", attn_implementation="sdpa")).to(a.device).train()

    def loss_of(batch):
        if a.variant == "huggingface":
            return model(input_ids=batch["tokens"], labels=batch["tokens"]).loss
        logits = model(input_ids=batch["tokens"]).logits
        return torch.nn.functional.cross_entropy(logits.float().reshape(-1, logits.shape[-1]),
                                                 batch["tokens"].roll(-1, 1).reshape(-1))
    return model, loss_of


def build_bert(a, torch, masked):
    import transformers
    layers, hidden = SHAPES[a.model]
    config = transformers.BertConfig(
        vocab_size=vocabulary(a), hidden_size=hidden, num_hidden_layers=layers,
        num_attention_heads=hidden // 64, intermediate_size=4 * hidden,
        hidden_act="gelu" if a.gelu == "erf" else "gelu_pytorch_tanh",
        attn_implementation="sdpa")
    model = transformers.BertForPreTraining(config).to(a.device).train()
    if a.variant == "huggingface":
        def loss_of(batch):
            labels = torch.full_like(batch["tokens"], -100)
            labels.view(-1)[batch["masked"]] = batch["labels"]
            return model(input_ids=batch["tokens"], token_type_ids=batch["segments"],
                         attention_mask=batch["mask"], labels=labels,
                         next_sentence_label=batch["next"]).loss
    else:
        cross_entropy = torch.nn.functional.cross_entropy

        def loss_of(batch):
            out = model.bert(input_ids=batch["tokens"], token_type_ids=batch["segments"],
                             attention_mask=batch["mask"])
            rows = out.last_hidden_state.reshape(-1, hidden)[batch["masked"]]
            return (cross_entropy(model.cls.predictions(rows).float(), batch["labels"]) +
                    cross_entropy(model.cls.seq_relationship(out.pooler_output).float(),
                                  batch["next"]))
    return model, loss_of


def build(a, torch, masked):
    gpt2 = a.model.startswith("gpt2")
    model, loss_of = build_gpt2(a, torch) if gpt2 else build_bert(a, torch, masked)
    if a.variant == "compile":
        loss_of = torch.compile(loss_of, mode=a.compile_mode)
    return model, loss_of


def random_batch(a, torch, masked):
    b, s = a.batch, a.sequence_length
    rows = torch.arange(b, device=a.device)[:, None] * s
    return {
        "mask": None,
        "tokens": torch.randint(1000, vocabulary(a), (b, s), device=a.device),
        "segments": torch.zeros(b, s, dtype=torch.long, device=a.device),
        "masked": (rows + torch.arange(1, masked + 1, device=a.device)).reshape(-1),
        "labels": torch.randint(1000, vocabulary(a), (b * masked,), device=a.device),
        "next": torch.randint(0, 2, (b,), device=a.device)}


def own_batches(a, torch):
    """The first ones that bert_train reads, each with the lengths of its sequences."""
    b, s = a.batch, a.sequence_length
    words = [f"{a.bin}/bert_dump_batch", a.model, s, b, 1, a.lengths, a.warmup + a.steps]
    made = subprocess.run([str(w) for w in words], check=True, stdout=subprocess.PIPE, text=True)
    batches = []
    for line in made.stdout.splitlines():
        read = json.loads(line)

        def of(key, *shape):
            return torch.tensor(read[key], device=a.device).reshape(*shape)

        batches.append({
            "mask": (torch.arange(s, device=a.device) < of("lengths", b, 1)).long(),
            "tokens": of("tokens", b, s), "segments": of("segments", b, s),
            "masked": of("masked", -1), "labels": of("labels", -1),
            "next": of("next_sentence", b), "mean_length": sum(read["lengths"]) / b})
    return batches


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--variant", required=True, choices=["eager", "compile", "huggingface"])
    p.add_argument("--model", required=True, choices=sorted(SHAPES))
    p.add_argument("--precision", required=True, choices=["fp32", "tf32", "bf16", "fp16"])
    p.add_argument("--batch", type=int, required=True)
    p.add_argument("--sequence-length", type=int, required=True)
    p.add_argument("--steps", type=int, default=30)
    p.add_argument("--warmup", type=int, default=10)
    p.add_argument("--compile-mode", default="max-autotune")
    p.add_argument("--gelu", choices=["erf", "tanh"], default="erf", help="of the BERTs")
    p.add_argument("--lengths", default="full", help="of a BERT's sequences, as bert_train's")
    p.add_argument("--bin", help="folder with bert_dump_batch, for lengths that vary")
    p.add_argument("--device", default="cuda")
    a = p.parse_args()
    try:
        import torch
        import transformers
    except ImportError as error:
        print(f"pytorch_speed.py: {error}", file=sys.stderr)
        return 2
    gpu = a.device == "cuda"
    if gpu and not torch.cuda.is_available():
        print("pytorch_speed.py: PyTorch sees no GPU", file=sys.stderr)
        return 2
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = a.precision == "tf32"
    begin = time.monotonic()
    masked = -(-20 * a.sequence_length // 128)
    model, loss_of = build(a, torch, masked)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01, fused=gpu)
    half = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(a.precision)
    scaler = torch.amp.GradScaler(a.device, enabled=a.precision == "fp16")
    if a.lengths == "full":
        batches = [random_batch(a, torch, masked)] * (a.warmup + a.steps)
    else:
        batches = own_batches(a, torch)
    lengths = [x.pop("mean_length", a.sequence_length) for x in batches][a.warmup:]
    warmup, measured = batches[:a.warmup], batches[a.warmup:]

    def step(batch):
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(a.device, dtype=half, enabled=half is not None):
            loss = loss_of(batch)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        return loss

    for batch in warmup:
        loss = step(batch)
    if gpu:
        torch.cuda.synchronize()
    ready = time.monotonic() - begin
    if gpu:
        events = [torch.cuda.Event(enable_timing=True) for _ in range(a.steps + 1)]
        events[0].record()
        for batch, event in zip(measured, events[1:]):
            loss = step(batch)
            event.record()
        torch.cuda.synchronize()
        seconds = [x.elapsed_time(y) / 1e3 for x, y in zip(events, events[1:])]
    else:
        seconds = []
        for batch in measured:
            start = time.perf_counter()
            loss = step(batch)
            seconds.append(time.perf_counter() - start)
    print(json.dumps({
        "variant": a.variant, "mode": a.compile_mode if a.variant == "compile" else None,
        "lengths": a.lengths, "mean_length": round(sum(lengths) / len(lengths), 3),
        "gelu": a.gelu, "model": a.model, "precision": a.precision, "batch": a.batch,
        "sequence_length": a.sequence_length, "torch": torch.__version__,
        "transformers": transformers.__version__,
        "ready_s": ready, "loss": loss.item(), "seconds": seconds,
        "peak_bytes": torch.cuda.max_memory_allocated() if gpu else 0}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
