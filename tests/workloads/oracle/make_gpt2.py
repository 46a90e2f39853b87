"""Writes tests/data/oracle/gpt2_*.bin from transformers.GPT2LMHeadModel in PyTorch float64, dropout
0, eager attention: logits, loss, gradients, and where torch.optim.AdamW gets in some steps.

    python make_gpt2.py OUT_DIR        needs numpy, torch, transformers

File: as make_gradients.py writes it, and "logits" (log softmax at the last position of sequence 0),
"step-losses" and, for the weights after the steps, tensors "after:NAME".
"""

import sys

import formula
import torch
import transformers
from make_gradients import put_tensors, save, set_weights

CASES = {
    "gpt2_2x32": dict(family="gpt2", layers=2, hidden=32, heads=4, intermediate=128, vocabulary=97,
                      positions=32, sequences=4, length=16),
    "gpt2_12x64": dict(family="gpt2", layers=12, hidden=64, heads=4, intermediate=256,
                       vocabulary=97, positions=200, sequences=2, length=150),
}
STEPS = 5
RATE, DECAY, BETAS, EPSILON = 1e-3, 0.1, (0.9, 0.95), 1e-8


def model_of(c):
    config = transformers.GPT2Config(
        vocab_size=c["vocabulary"], n_embd=c["hidden"], n_layer=c["layers"], n_head=c["heads"],
        n_inner=c["intermediate"], n_positions=c["positions"], activation_function="gelu_new",
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, layer_norm_epsilon=1e-5,
        bos_token_id=0, eos_token_id=0, attn_implementation="eager")
    model = transformers.GPT2LMHeadModel(config).double().train()
    parameters = set_weights(model, c, flipped)
    assert model.lm_head.weight is parameters["transformer.wte.weight"]
    return model, parameters


def flipped(name, matrix):
    """Between [outputs, inputs] and Conv1D's [inputs, outputs]."""
    return matrix.T if ".h." in name and matrix.ndim == 2 else matrix


def flat(name, tensor):
    return flipped(name, tensor.detach()).contiguous().numpy().astype("<f8").ravel()


def loss_of(model, tokens, labels):
    logits = model(input_ids=torch.from_numpy(tokens.copy())).logits
    loss = torch.nn.functional.cross_entropy(
        logits.reshape(-1, logits.shape[-1]), torch.from_numpy(labels.copy()).reshape(-1))
    return logits, loss


def check_against_own_loss(model, tokens, labels):
    """transformers shifts labels itself: of s tokens it predicts the last s - 1. In float32, too."""
    out = model(input_ids=torch.from_numpy(tokens.copy()),
                labels=torch.from_numpy(tokens.copy())).loss
    ours = torch.nn.functional.cross_entropy(
        loss_of(model, tokens, labels)[0][:, :-1].reshape(-1, model.config.vocab_size),
        torch.from_numpy(labels[:, :-1].copy()).reshape(-1))
    assert abs((out - ours).item()) < 1e-5, "not the loss that transformers computes"


def train(model, parameters, tokens, labels):
    groups = [dict(params=[p for p in parameters.values() if (p.ndim >= 2) == matrix],
                   weight_decay=DECAY if matrix else 0.0) for matrix in (True, False)]
    optimizer = torch.optim.AdamW(groups, lr=RATE, betas=BETAS, eps=EPSILON)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(model, tokens, labels)[1]
        loss.backward()
        losses.append(loss.item())
        optimizer.step()
    return losses


def write(path, c):
    model, parameters = model_of(c)
    tokens, labels = formula.next_word_batch(c)
    check_against_own_loss(model, tokens, labels)
    logits, loss = loss_of(model, tokens, labels)
    loss.backward()
    gradients = {n: flat(n, p.grad) for n, p in parameters.items()}
    last = torch.log_softmax(logits[0, -1], -1).detach().numpy()
    losses = train(model, parameters, tokens, labels)
    after = {n: flat(n, p) for n, p in parameters.items()}

    lines = ["bertbench-oracle 1",
             f"made-by torch-{torch.__version__} transformers-{transformers.__version__}"]
    lines += [f"{key} {value}" for key, value in c.items()]
    lines += [f"{key} {' '.join(str(v) for v in values.ravel())}"
              for key, values in (("tokens", tokens), ("labels", labels))]
    lines += [f"loss {loss.item()!r}", "step-losses " + " ".join(repr(v) for v in losses),
              f"adamw {RATE} {DECAY} {BETAS[0]} {BETAS[1]} {EPSILON}",
              "logits " + " ".join(repr(float(v)) for v in last)]
    data = put_tensors(lines, "", gradients, c, lambda name: c["layers"] <= 4)
    data += put_tensors(lines, "after:", after, c, lambda name: False)
    save(path, lines, data)


if __name__ == "__main__":
    for case, shape in CASES.items():
        write(f"{sys.argv[1]}/{case}.bin", shape)
