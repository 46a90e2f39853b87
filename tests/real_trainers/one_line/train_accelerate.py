"""A tiny BERT with accelerate.

As transformers' *_no_trainer scripts do, it prints what will run and then a tqdm bar.
"""
import logging

import accelerate
import accelerate.logging
import torch
import tiny_bert
from tqdm import tqdm
from update_clock import UpdateClock

logger = accelerate.logging.get_logger(__name__)


def main():
    a = tiny_bert.options()
    accelerator = accelerate.Accelerator(cpu=True)
    logging.basicConfig(format="%(asctime)s - %(levelname)s - %(name)s - %(message)s",
                        datefmt="%m/%d/%Y %H:%M:%S", level=logging.INFO)
    accelerate.utils.set_seed(1)
    model = tiny_bert.model()
    model, optimizer, batches = accelerator.prepare(
        model, torch.optim.AdamW(model.parameters(), lr=1e-4),
        tiny_bert.batches(a, accelerator.num_processes))
    clock = UpdateClock(a.output, a.batch * accelerator.num_processes, accelerator.process_index)
    logger.info("***** Running training *****")
    logger.info(f"  Instantaneous batch size per device = {a.batch}")
    logger.info(f"  Total optimization steps = {a.steps}")
    clock.start()
    bar = tqdm(range(a.steps), disable=not accelerator.is_local_main_process)
    for batch in batches:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
        clock.update_ended()
        bar.update(1)
    bar.close()
    accelerator.end_training()


if __name__ == "__main__":
    main()
