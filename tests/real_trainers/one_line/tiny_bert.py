"""What the trainers of this folder that train on PyTorch share: their options, a tiny BERT and random words."""
import argparse
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))

import torch
import transformers

VOCABULARY = 2000


def options(*more):
    """--batch is of one process and one step; `more` are further options that are required."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--length", type=int, required=True, help="words of a sequence")
    parser.add_argument("--output", required=True, help="folder of the clock")
    for name in more:
        parser.add_argument(name, required=True)
    return parser.parse_args()


def model():
    return transformers.BertForMaskedLM(transformers.BertConfig(
        vocab_size=VOCABULARY, hidden_size=128, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=512))


class RandomWords(torch.utils.data.Dataset):
    """Sequences in which every eighth word has a label."""

    def __init__(self, sequences, length):
        self.sequences, self.length = sequences, length

    def __len__(self):
        return self.sequences

    def __getitem__(self, index):
        words = torch.randint(5, VOCABULARY, (self.length,))
        labels = torch.full_like(words, -100)
        labels[::8] = words[::8]
        return {"input_ids": words, "labels": labels}


def batches(a, processes):
    """Of one process: a.steps batches, when `processes` share the data."""
    return torch.utils.data.DataLoader(
        RandomWords(a.batch * a.steps * processes, a.length), batch_size=a.batch)
