"""Inputs of the oracle, by one counter-based formula that tests/workloads/oracle/oracle.h repeats in C++.

uniform(n) = splitmix64(n) / 2^64 in [-1, 1): weights need not be stored, only gradients.
"""

import numpy as np


def splitmix64(counter):
    """Steele et al. 2014, "Fast splittable pseudorandom number generators", figure 18."""
    with np.errstate(over="ignore"):
        z = (np.asarray(counter, dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def uniform(stream, first, count):
    """`count` doubles in [-1, 1) at counters stream * 2^40 + first ...; exact multiples of 2^-23."""
    counter = np.arange(count, dtype=np.uint64) + np.uint64((stream << 40) + first)
    return (splitmix64(counter) >> np.uint64(40)).astype(np.float64) / 2.0**23 - 1.0


def integers(stream, first, count, low, high):
    counter = np.arange(count, dtype=np.uint64) + np.uint64((stream << 40) + first)
    return (low + splitmix64(counter) % np.uint64(high - low)).astype(np.int64)


WEIGHTS, PROJECTION, GRADIENTS, TOKENS = range(4)
CASE = 1 << 30  # distance between the counters of projections, and of updates


def weight(name, offset, size):
    """Values are exact in fp32, so fp32 and fp64 start from the same weights."""
    u = uniform(WEIGHTS, offset, size)
    if is_norm(name) and name.endswith("weight"):
        w = 1.0 + u / 4
    else:
        w = u / 8
    return w.astype(np.float32).astype(np.float64)


def is_norm(name):
    return "LayerNorm" in name or ".ln_" in name


def gpt2_layout(c):
    """As layout(), of GPT2LMHeadModel; matrices are [outputs, inputs]."""
    h, wide = c["hidden"], c["intermediate"]
    out = [("transformer.wte.weight", (c["vocabulary"], h)),
           ("transformer.wpe.weight", (c["positions"], h))]

    def add(prefix, weight):
        out.extend([(prefix + ".weight", weight), (prefix + ".bias", weight[:1])])

    add("transformer.h.0.ln_1", (h,))
    for i in range(c["layers"]):
        p = f"transformer.h.{i}."
        add(p + "attn.c_attn", (3 * h, h))
        add(p + "attn.c_proj", (h, h))
        add(p + "ln_2", (h,))
        add(p + "mlp.c_fc", (wide, h))
        add(p + "mlp.c_proj", (h, wide))
        last = i + 1 == c["layers"]
        add("transformer.ln_f" if last else f"transformer.h.{i + 1}.ln_1", (h,))
    return out


def layout(c):
    """(name, shape) in the order of workloads/bert/model/parameters.h."""
    if c.get("family") == "gpt2":
        return gpt2_layout(c)
    h, wide = c["hidden"], c["intermediate"]
    out = [
        ("bert.embeddings.word_embeddings.weight", (c["vocabulary"], h)),
        ("bert.embeddings.position_embeddings.weight", (c["positions"], h)),
        ("bert.embeddings.token_type_embeddings.weight", (2, h)),
        ("bert.embeddings.LayerNorm.weight", (h,)),
        ("bert.embeddings.LayerNorm.bias", (h,)),
    ]
    for i in range(c["layers"]):
        p = f"bert.encoder.layer.{i}."
        for kind, shape in (("weight", (h, h)), ("bias", (h,))):
            for part in ("query", "key", "value"):
                out.append((f"{p}attention.self.{part}.{kind}", shape))
        for part, shape in (
            ("attention.output.dense.weight", (h, h)),
            ("attention.output.dense.bias", (h,)),
            ("attention.output.LayerNorm.weight", (h,)),
            ("attention.output.LayerNorm.bias", (h,)),
            ("intermediate.dense.weight", (wide, h)),
            ("intermediate.dense.bias", (wide,)),
            ("output.dense.weight", (h, wide)),
            ("output.dense.bias", (h,)),
            ("output.LayerNorm.weight", (h,)),
            ("output.LayerNorm.bias", (h,)),
        ):
            out.append((p + part, shape))
    out += [
        ("bert.pooler.dense.weight", (h, h)),
        ("bert.pooler.dense.bias", (h,)),
        ("cls.predictions.transform.dense.weight", (h, h)),
        ("cls.predictions.transform.dense.bias", (h,)),
        ("cls.predictions.transform.LayerNorm.weight", (h,)),
        ("cls.predictions.transform.LayerNorm.bias", (h,)),
        ("cls.seq_relationship.weight", (2, h)),
        ("cls.seq_relationship.bias", (2,)),
        ("cls.predictions.bias", (c["vocabulary"],)),
    ]
    return out


def projection(index, offset, size):
    """Signs; the difference of two gradients has the same expected square along each."""
    return np.where(uniform(PROJECTION, index * CASE + offset, size) < 0, -1.0, 1.0)


def next_word_batch(c):
    """Tokens and what follows each, one text a sequence."""
    b, s = c["sequences"], c["length"]
    text = integers(TOKENS, 0, b * (s + 1), 0, c["vocabulary"]).reshape(b, s + 1)
    return text[:, :-1], text[:, 1:]


def batch(c):
    """Tokens 1.. inside each length, 0 as padding; m masked positions per sequence."""
    b, s, m = c["sequences"], c["length"], c["masked"]
    tokens = integers(TOKENS, 0, b * s, 1, c["vocabulary"]).reshape(b, s)
    segments = np.zeros((b, s), dtype=np.int64)
    lengths = np.array([s - 3 * (i % 3) for i in range(b)], dtype=np.int64)
    masked = np.zeros((b, m), dtype=np.int64)
    labels = integers(TOKENS, 1 << 20, b * m, 1, c["vocabulary"]).reshape(b, m)
    for i in range(b):
        tokens[i, lengths[i]:] = 0
        segments[i, lengths[i] // 2:] = 1
        masked[i] = i * s + 1 + np.arange(m) * ((lengths[i] - 1) // m)
    next_sentence = np.arange(b) % 2
    return tokens, segments, lengths, masked, labels, next_sentence
