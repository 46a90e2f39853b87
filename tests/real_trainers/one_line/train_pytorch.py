"""A tiny BERT in plain PyTorch under DistributedDataParallel (gloo), a line every ten steps with its rate."""
import time

import torch
import tiny_bert
from update_clock import UpdateClock

LINE_EVERY = 10


def main():
    a = tiny_bert.options()
    torch.distributed.init_process_group("gloo")
    rank, processes = torch.distributed.get_rank(), torch.distributed.get_world_size()
    torch.manual_seed(rank)
    model = torch.nn.parallel.DistributedDataParallel(tiny_bert.model())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    clock = UpdateClock(a.output, a.batch * processes, rank)
    clock.start()
    begin = time.perf_counter()
    for step, batch in enumerate(tiny_bert.batches(a, 1), 1):
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        clock.update_ended()
        if step % LINE_EVERY == 0 and rank == 0:
            now = time.perf_counter()
            print(f"step {step}/{a.steps} loss {loss.item():.4f} "
                  f"{LINE_EVERY * a.batch * processes / (now - begin):.2f} samples/s", flush=True)
            begin = now
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
