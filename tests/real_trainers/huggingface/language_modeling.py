"""Masked or causal language modeling with transformers' Trainer: what run_mlm.py and run_clm.py share.

Model configuration, tokenizer and text are made on the spot, so nothing is downloaded. The options
are those of transformers' scripts of these names that the launch templates pass, among them all of
TrainingArguments; the model's name gives its size (--model_name_or_path bert-tiny).
"""
import dataclasses
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))

import tokenizers
import torch
import transformers
from update_clock import UpdateClock

WORDS = 1500
SIZES = {"tiny": (2, 128), "mini": (4, 256)}  # layers, hidden size


@dataclasses.dataclass
class Options:
    """Options of the scripts that are not TrainingArguments'."""
    model_name_or_path: str = "bert-tiny"
    dataset_name: str | None = None
    dataset_config_name: str | None = None
    train_file: str | None = None
    max_seq_length: int | None = None
    block_size: int | None = None
    mlm_probability: float = 0.15


def make_text(seed):
    """Sentences of made-up words, the frequent ones often."""
    draw = random.Random(seed)
    syllables = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
    words = ["".join(draw.choices(syllables, k=draw.randint(1, 4))) for _ in range(WORDS)]
    weights = [1 / (i + 1) for i in range(WORDS)]
    return [" ".join(draw.choices(words, weights, k=draw.randint(6, 30))) + "." for _ in range(2000)]


def make_tokenizer(lines):
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trained = tokenizers.BertWordPieceTokenizer()
    trained.train_from_iterator(lines, vocab_size=2000, special_tokens=special, show_progress=False)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=trained._tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]",
        sep_token="[SEP]", mask_token="[MASK]")


class Blocks(torch.utils.data.Dataset):
    """The text cut into blocks of equal length."""

    def __init__(self, tokenizer, lines, length):
        numbers = [n for ids in tokenizer(lines)["input_ids"] for n in ids]
        self.blocks = [numbers[i:i + length] for i in range(0, len(numbers) - length + 1, length)]

    def __len__(self):
        return len(self.blocks)

    def __getitem__(self, index):
        return {"input_ids": self.blocks[index]}


class Watch(transformers.TrainerCallback):
    def __init__(self, clock):
        self.clock = clock

    def on_train_begin(self, args, state, control, **_):
        self.clock.start()

    def on_step_end(self, args, state, control, **_):
        self.clock.update_ended()


def make_model(masked, name, tokenizer, length):
    layers, hidden = SIZES[name.rsplit("-", 1)[-1]]
    if masked:
        return transformers.BertForMaskedLM(transformers.BertConfig(
            vocab_size=len(tokenizer), hidden_size=hidden, num_hidden_layers=layers,
            num_attention_heads=hidden // 64, intermediate_size=4 * hidden,
            max_position_embeddings=max(512, length)))
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=len(tokenizer), n_embd=hidden, n_layer=layers, n_head=hidden // 64,
        n_positions=max(512, length), bos_token_id=None, eos_token_id=None))


def train(masked):
    parser = transformers.HfArgumentParser((Options, transformers.TrainingArguments))
    options, args = parser.parse_args_into_dataclasses()
    transformers.set_seed(args.seed)
    length = (options.max_seq_length if masked else options.block_size) or 128
    lines = make_text(args.seed)
    tokenizer = make_tokenizer(lines)
    model = make_model(masked, options.model_name_or_path, tokenizer, length)
    clock = UpdateClock(args.output_dir, rank=args.process_index, sequences=(
        args.per_device_train_batch_size * args.gradient_accumulation_steps * args.world_size))
    trainer = transformers.Trainer(
        model=model, args=args, train_dataset=Blocks(tokenizer, lines, length),
        data_collator=transformers.DataCollatorForLanguageModeling(
            tokenizer, mlm=masked, mlm_probability=options.mlm_probability if masked else None),
        callbacks=[Watch(clock)])
    result = trainer.train()
    trainer.log_metrics("train", result.metrics)
    trainer.save_metrics("train", result.metrics)
