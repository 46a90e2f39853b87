"""A tiny BERT with Lightning's Trainer as it comes: its own progress bar."""
import os

import lightning
import torch
import tiny_bert
from update_clock import UpdateClock


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.bert = tiny_bert.model()

    def training_step(self, batch):
        loss = self.bert(**batch).loss
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-4)


class Watch(lightning.Callback):
    def __init__(self, a):
        self.a = a
        self.clock = None

    def on_train_start(self, trainer, pl_module):
        self.clock = UpdateClock(self.a.output, self.a.batch * trainer.world_size, trainer.global_rank)
        self.clock.start()

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self.clock.update_ended()


def main():
    a = tiny_bert.options()
    lightning.seed_everything(1)
    processes = int(os.environ.get("WORLD_SIZE", "1"))
    trainer = lightning.Trainer(
        accelerator="cpu", devices=processes, strategy="ddp" if processes > 1 else "auto",
        max_epochs=1, logger=False, enable_checkpointing=False, callbacks=[Watch(a)])
    trainer.fit(Module(), tiny_bert.batches(a, processes))


if __name__ == "__main__":
    main()
