"""How a trainer is made to fail: the variable REAL_TRAINERS_FAULT names a fault, and the update clock calls it.

After update AFTER each process raises, leaves with status 3, kills itself, sleeps on, or asks its
library for more memory than there can be.
"""
import os
import resource
import signal
import sys
import time

AFTER = 12  # updates: the log has lines by then
PEBIBYTE = 1 << 50


def ask_for_memory():
    """Of the library that trains, so that the error and its words are that library's own."""
    if "mxnet" in sys.modules:
        # It makes no array of 2^31 elements: the address space is limited to less.
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
        for _ in range(4):
            sys.modules["mxnet"].nd.zeros((1 << 30,)).wait_to_read()
    elif "tensorflow" in sys.modules:
        sys.modules["tensorflow"].zeros([PEBIBYTE // 4])
    elif "torch" in sys.modules:
        sys.modules["torch"].empty(PEBIBYTE // 4)
    else:
        bytearray(PEBIBYTE)


def fail():
    raise ValueError("this trainer was made to raise")


FAULTS = {
    "raise": fail,
    "exit": lambda: sys.exit(3),
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "hang": lambda: time.sleep(24 * 3600),
    "memory": ask_for_memory,
}


def after_update(update):
    what = os.environ.get("REAL_TRAINERS_FAULT")
    if what and update == AFTER:
        FAULTS[what]()
