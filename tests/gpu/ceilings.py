#!/usr/bin/env python3
"""What the device can do through PyTorch: copy GB/s and matrix products in TFLOP/s.

    ceilings.py [--device cuda] [--seconds 1]      one JSON object; exit status 2: cannot measure

Median of repeated calls, random data (zeros draw less power and run faster). Copy counts bytes
read and written.
"""

import argparse
import json
import statistics
import sys
import time


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--device", default="cuda")
    p.add_argument("--seconds", type=float, default=1, help="a measurement")
    a = p.parse_args()
    try:
        import torch
    except ImportError as error:
        print(f"ceilings.py: {error}", file=sys.stderr)
        return 2
    gpu = a.device == "cuda"
    if gpu and not torch.cuda.is_available():
        print("ceilings.py: PyTorch sees no GPU", file=sys.stderr)
        return 2

    def seconds_of(work):
        for _ in range(2):
            work()
        times, end = [], time.monotonic() + a.seconds
        while time.monotonic() < end or len(times) < 3:
            if gpu:
                start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                start.record()
                work()
                stop.record()
                stop.synchronize()
                times.append(start.elapsed_time(stop) / 1e3)
            else:
                begin = time.perf_counter()
                work()
                times.append(time.perf_counter() - begin)
        return statistics.median(times), len(times)

    result = {"device": torch.cuda.get_device_name() if gpu else "cpu", "torch": torch.__version__}
    elements = (1 << 30) if gpu else (1 << 24)
    x = torch.randn(elements, device=a.device)
    y = torch.empty_like(x)
    t, n = seconds_of(lambda: y.copy_(x))
    result["copy"] = {"bytes": 4 * elements, "GBps": 8 * elements / t / 1e9, "n": n}
    del x, y
    size = 8192 if gpu else 512
    result["matmul"] = []
    for name, dtype, tf32 in (("fp32", torch.float32, False), ("tf32", torch.float32, True),
                              ("bf16", torch.bfloat16, False), ("fp16", torch.float16, False)):
        if not gpu and name != "fp32":
            continue
        torch.backends.cuda.matmul.allow_tf32 = tf32
        # The square one, and the FFN of bert-large at 32,768 tokens.
        for m, k, o in ((size, size, size), (4 * size, size // 8, size // 2)):
            left = torch.randn(m, k, device=a.device, dtype=dtype)
            right = torch.randn(k, o, device=a.device, dtype=dtype)
            t, n = seconds_of(lambda: left @ right)
            result["matmul"].append({"precision": name, "shape": [m, k, o],
                                     "TFLOPs": 2 * m * k * o / t / 1e12, "n": n})
    print(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
