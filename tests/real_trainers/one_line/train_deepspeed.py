"""A tiny BERT under DeepSpeed, configured by its file: every ten steps a line with step and loss.

DeepSpeed 0.19 itself prints neither steps nor rates unless its logger is set to.
"""
import deepspeed
import torch
import tiny_bert
from update_clock import UpdateClock

LINE_EVERY = 10


def main():
    a = tiny_bert.options("--config")
    deepspeed.init_distributed(dist_backend="gloo")
    model = tiny_bert.model()
    engine, _, _, _ = deepspeed.initialize(model=model, model_parameters=model.parameters(),
                                           config=a.config)
    rank, processes = torch.distributed.get_rank(), torch.distributed.get_world_size()
    torch.manual_seed(rank)
    clock = UpdateClock(a.output, a.batch * processes, rank)
    clock.start()
    for step, batch in enumerate(tiny_bert.batches(a, 1), 1):
        loss = engine(**batch).loss
        engine.backward(loss)
        engine.step()
        clock.update_ended()
        if step % LINE_EVERY == 0 and rank == 0:
            print(f"step {step} loss {loss.item():.4f}", flush=True)


if __name__ == "__main__":
    main()
