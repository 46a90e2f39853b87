"""BERT pre-training in plain PyTorch, on the CPU, with random token numbers as data.

It takes the options of the script of this name in NVIDIA's DeepLearningExamples of September 2019 that
the launch template passes, and prints as that one does: a tqdm bar on rank 0, and between its redraws
two lines every --log_freq updates. --train_batch_size is of one GPU and all micro-steps.
"""
import argparse
import json
import logging
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))

import torch
import transformers
from pretraining_batch import random_batch
from tqdm import tqdm
from update_clock import UpdateClock

logging.basicConfig(format="%(asctime)s - %(levelname)s - %(name)s -   %(message)s",
                    datefmt="%m/%d/%Y %H:%M:%S", level=logging.INFO)
logger = logging.getLogger(__name__)


def options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--do_train", action="store_true")
    parser.add_argument("--input_dir", required=True, help="any word: the data are random")
    parser.add_argument("--config_file", required=True)
    parser.add_argument("--bert_model")
    parser.add_argument("--output_dir", required=True)
    parser.add_argument("--train_batch_size", type=int, default=32)
    parser.add_argument("--gradient_accumulation_steps", type=int, default=1)
    parser.add_argument("--max_seq_length", type=int, default=512)
    parser.add_argument("--max_predictions_per_seq", type=int, default=20)
    parser.add_argument("--learning_rate", type=float, default=5e-5)
    parser.add_argument("--max_steps", type=int, default=1000)
    parser.add_argument("--log_freq", type=int, default=50)
    parser.add_argument("--num_steps_per_checkpoint", type=int, default=100)
    parser.add_argument("--seed", type=int, default=42)
    # torch's launcher of today spells it with a dash.
    parser.add_argument("--local_rank", "--local-rank", type=int, default=-1)
    return parser.parse_args()


def main():
    a = options()
    rank, workers = 0, 1
    if a.local_rank != -1:
        torch.distributed.init_process_group("gloo")
        rank, workers = torch.distributed.get_rank(), torch.distributed.get_world_size()
    logger.info("device %s n_gpu %d distributed training %r", "cpu", 1, a.local_rank != -1)
    torch.manual_seed(a.seed)
    with open(a.config_file, encoding="utf-8") as text:
        config = transformers.BertConfig(**json.load(text))
    model = transformers.BertForPreTraining(config)
    if workers > 1:
        model = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=a.learning_rate)
    torch.manual_seed(a.seed + rank)
    micro_batch = a.train_batch_size // a.gradient_accumulation_steps
    clock = UpdateClock(a.output_dir, a.train_batch_size * workers, rank)
    if rank == 0:
        print("SEED", a.seed)
        logger.info("***** Running training *****")
        logger.info("  Batch size = %d", micro_batch)
        print("  LR = ", a.learning_rate)
        print("Training. . .")

    begin, step, average = time.time(), 0, 0.0
    clock.start()
    for index, _ in enumerate(tqdm(range(512 * a.gradient_accumulation_steps), desc="Iteration",
                                   disable=rank != 0)):
        loss = model(**random_batch(config, micro_batch, a)).loss
        (loss / a.gradient_accumulation_steps).backward()
        average += loss.item()
        if (index + 1) % a.gradient_accumulation_steps:
            continue
        optimizer.step()
        optimizer.zero_grad()
        step += 1
        clock.update_ended()
        if step % a.log_freq == 0 and rank == 0:
            print(f"Step {step} LR {a.learning_rate}")
            print(f"Step:{step} Average Loss = "
                  f"{average / (a.log_freq * a.gradient_accumulation_steps)} "
                  f"Step Loss = {loss.item()} LR {a.learning_rate}")
            average = 0.0
        if step >= a.max_steps:
            if rank == 0:
                logger.info("Total Steps:%s Final Loss = %s", float(step), loss.item())
            break
    if rank == 0:
        print("Total time taken", time.time() - begin)


if __name__ == "__main__":
    main()
