"""The independent clock of a trainer: when each of its optimizer updates ended.

It writes one JSON line an update, and one numbered 0 when training begins:
    {"update": 1, "end": 1234.567891, "sequences": 16}
`end` is in seconds of a monotonic clock, `sequences` are those of the whole job. Only rank 0 writes.
What a log reader makes of the trainer's log is judged against these lines.
"""
import json
import os
import time

import fault

NAME = "clock.jsonl"  # in the folder that the trainer is given for its output


class UpdateClock:
    def __init__(self, folder, sequences, rank=0):
        self.sequences = sequences
        self.update = 0
        self.out = None
        if rank == 0:
            os.makedirs(folder, exist_ok=True)
            # An attempt that is repeated begins anew.
            self.out = open(os.path.join(folder, NAME), "w", encoding="utf-8")

    def start(self):
        """Training begins: the first update is measured from here."""
        self._write(0)

    def update_ended(self):
        self.update += 1
        self._write(self.sequences)
        fault.after_update(self.update)

    def _write(self, sequences):
        now = time.monotonic()
        if self.out:
            print(json.dumps({"update": self.update, "end": round(now, 6), "sequences": sequences}),
                  file=self.out, flush=True)
