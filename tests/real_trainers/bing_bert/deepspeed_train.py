"""BERT pre-training under DeepSpeed, on the CPU, with random token numbers as data.

It takes the options of bing_bert's script of this name that the launch template passes, and prints as
that one does: a tqdm bar on every rank, a progress line of rank 0 every --print_steps updates, and
what DeepSpeed itself prints every `steps_per_print`. Batch sizes stand in the DeepSpeed JSON only;
--cf names the JSON of the model, whose "bert_model_config" goes to transformers' BertConfig.
"""
import argparse
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))

import deepspeed
import torch
import transformers
from deepspeed.accelerator import get_accelerator
from pretraining_batch import random_batch
from tqdm import tqdm
from update_clock import UpdateClock


def options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config-file", "--cf", required=True)
    parser.add_argument("--output_dir", required=True)
    parser.add_argument("--job_name")
    parser.add_argument("--max_seq_length", type=int, default=128)
    parser.add_argument("--max_predictions_per_seq", "--max_pred", type=int, default=20)
    parser.add_argument("--max_steps", type=int, default=sys.maxsize)
    parser.add_argument("--print_steps", type=int, default=100)
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--local_rank", type=int, default=-1)
    deepspeed.add_config_arguments(parser)
    return parser.parse_args()


def main():
    a = options()
    with open(a.config_file, encoding="utf-8") as text:
        config = json.load(text)
    print("Running Config File: ", a.job_name)
    print("Args =", a)
    deepspeed.init_distributed()
    # DeepSpeed takes fp16 for CPUs with an instruction set for it only; torch computes it on all.
    get_accelerator().is_fp16_supported = lambda: True
    torch.manual_seed(a.seed)
    model = transformers.BertForPreTraining(transformers.BertConfig(**config["bert_model_config"]))
    engine, _, _, _ = deepspeed.initialize(args=a, model=model, model_parameters=model.parameters())
    rank, workers = torch.distributed.get_rank(), torch.distributed.get_world_size()
    torch.manual_seed(a.seed + rank)
    micro_batch = engine.train_micro_batch_size_per_gpu()
    accumulate = engine.gradient_accumulation_steps()
    clock = UpdateClock(a.output_dir, micro_batch * accumulate * workers, rank)

    begin, step, samples = time.time(), 0, 0
    clock.start()
    engine.train()
    for _ in tqdm(range(512 * accumulate), smoothing=1):
        loss = engine(**random_batch(model.config, micro_batch, a)).loss
        engine.backward(loss)
        if engine.is_gradient_accumulation_boundary():
            step += 1
            samples += micro_batch * accumulate * workers
            if rank == 0 and step % a.print_steps == 0:
                print(f"bing_bert_progress: step={step}, loss={loss.item()}, "
                      f"lr={engine.get_lr()[0]}, sample_count={samples}")
            engine.step()
            clock.update_ended()
            if step >= a.max_steps:
                print(f"Warning: Early epoch termination due to max steps limit, epoch step ={step}, "
                      f"global step = {step}, epoch = 1")
                break
        else:
            engine.step()
    print(f"Elapsed time: {time.time() - begin} seconds")


if __name__ == "__main__":
    main()
