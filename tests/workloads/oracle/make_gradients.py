"""Writes tests/data/oracle/gradients_*.bin: gradients of transformers.BertForPreTraining in
PyTorch float64, dropout 0, GELU in its erf form, eager attention.

    python make_gradients.py OUT_DIR        needs numpy, torch, transformers

File: text lines up to "data", then little-endian float64 of every "tensor" line in order.
"tensor NAME full N" brings all N elements. "tensor NAME projected N" brings the norm and N - 1
inner products with the sign vectors of formula.projection, which keeps the deep case small.
"""

import sys

import formula
import numpy as np
import torch
import transformers

PROJECTIONS = 16
CASES = {
    "gradients_2x32": dict(layers=2, hidden=32, heads=4, intermediate=128, vocabulary=96,
                           positions=32, sequences=4, length=16, masked=3),
    "gradients_24x64": dict(layers=24, hidden=64, heads=4, intermediate=256, vocabulary=96,
                            positions=32, sequences=3, length=20, masked=3),
}


def set_weights(model, c, oriented=lambda name, values: values):
    """Gives each parameter its formula's weights; all parameters by name."""
    parameters = dict(model.named_parameters())
    wanted = formula.layout(c)
    assert set(parameters) == {name for name, _ in wanted}, \
        set(parameters) ^ {name for name, _ in wanted}
    offset = 0
    with torch.no_grad():
        for name, shape in wanted:
            values = torch.from_numpy(formula.weight(name, offset, int(np.prod(shape))))
            values = oriented(name, values.reshape(shape))
            assert parameters[name].shape == values.shape, name
            parameters[name].copy_(values)
            offset += values.numel()
    return parameters


def put_tensors(lines, prefix, values, c, is_whole):
    """Adds the "tensor" line of each parameter to `lines`; the numbers of all of them."""
    offset, data = 0, []
    for name, _ in formula.layout(c):
        v = values[name]
        if is_whole(name):
            lines.append(f"tensor {prefix}{name} full {v.size}")
            data.append(v)
        else:
            lines.append(f"tensor {prefix}{name} projected {PROJECTIONS + 1}")
            inner = [v @ formula.projection(k, offset, v.size) for k in range(PROJECTIONS)]
            data.append(np.array([np.linalg.norm(v), *inner], dtype="<f8"))
        offset += v.size
    return data


def save(path, lines, data):
    with open(path, "wb") as out:
        out.write(("\n".join(lines) + "\ndata\n").encode())
        out.write(np.concatenate(data).astype("<f8").tobytes())


def model_of(c):
    config = transformers.BertConfig(
        vocab_size=c["vocabulary"], hidden_size=c["hidden"], num_hidden_layers=c["layers"],
        num_attention_heads=c["heads"], intermediate_size=c["intermediate"], hidden_act="gelu",
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
        max_position_embeddings=c["positions"], type_vocab_size=2, layer_norm_eps=1e-12,
        pad_token_id=0, attn_implementation="eager")
    model = transformers.BertForPreTraining(config).double().train()
    parameters = set_weights(model, c)
    decoder = model.cls.predictions.decoder
    assert decoder.weight is parameters["bert.embeddings.word_embeddings.weight"]
    assert decoder.bias.data_ptr() == parameters["cls.predictions.bias"].data_ptr()
    return model, parameters


def losses_and_gradients(c):
    model, parameters = model_of(c)
    tokens, segments, lengths, masked, labels, next_sentence = formula.batch(c)
    b, s = tokens.shape
    wanted = np.full(b * s, -100, dtype=np.int64)
    wanted[masked.ravel()] = labels.ravel()
    out = model(
        input_ids=torch.from_numpy(tokens), token_type_ids=torch.from_numpy(segments),
        attention_mask=torch.from_numpy((np.arange(s) < lengths[:, None]).astype(np.int64)))
    cross_entropy = torch.nn.functional.cross_entropy
    mlm = cross_entropy(out.prediction_logits.reshape(b * s, -1), torch.from_numpy(wanted))
    nsp = cross_entropy(out.seq_relationship_logits, torch.from_numpy(next_sentence))
    whole = model(
        input_ids=torch.from_numpy(tokens), token_type_ids=torch.from_numpy(segments),
        attention_mask=torch.from_numpy((np.arange(s) < lengths[:, None]).astype(np.int64)),
        labels=torch.from_numpy(wanted).reshape(b, s),
        next_sentence_label=torch.from_numpy(next_sentence)).loss
    assert abs((mlm + nsp - whole).item()) < 1e-12, "not the loss that transformers computes"
    whole.backward()
    gradients = {n: p.grad.numpy().astype("<f8").ravel() for n, p in parameters.items()}
    return mlm.item(), nsp.item(), gradients


def is_full(name, c):
    if c["layers"] <= 4:
        return True
    return ".layer." not in name or any(f".layer.{i}." in name for i in (0, c["layers"] - 1))


def write(path, c):
    mlm, nsp, gradients = losses_and_gradients(c)
    lines = ["bertbench-oracle 1",
             f"made-by torch-{torch.__version__} transformers-{transformers.__version__}"]
    for key in ("layers", "hidden", "heads", "intermediate", "vocabulary", "positions",
                "sequences", "length", "masked"):
        lines.append(f"{key} {c[key]}")
    arrays = formula.batch(c)
    for key, values in zip(("tokens", "segments", "lengths", "positions-masked", "labels",
                            "next-sentence"), arrays):
        lines.append(f"{key} {' '.join(str(v) for v in values.ravel())}")
    lines.append(f"loss {mlm!r} {nsp!r}")
    data = put_tensors(lines, "", gradients, c, lambda name: is_full(name, c))
    save(path, lines, data)


if __name__ == "__main__":
    for case, shape in CASES.items():
        write(f"{sys.argv[1]}/{case}.bin", shape)
