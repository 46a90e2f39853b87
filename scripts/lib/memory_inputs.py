"""The inputs of scripts/memory_table: generated, never stored whole."""
import dataclasses
import itertools
import os
import subprocess
import typing
import zlib

MB = 1_000_000
BLOCK = 1 << 18


@dataclasses.dataclass
class Case:
    name: str
    blocks: typing.Callable = None        # yields bytes, for kinds "pipe" and "follow"
    prepare: typing.Callable = None       # writes files into a folder, returns their size
    command: tuple = ("extract", "-", "--json")
    kind: str = "pipe"
    statuses: tuple = (0,)


def repeat(text, size):
    """`text` again and again, `size` bytes."""
    block = text * max(1, BLOCK // len(text))
    for _ in range(max(1, size // len(block))):
        yield block


def joined(lines):
    """Lines in blocks."""
    for group in iter(lambda it=iter(lines): list(itertools.islice(it, 2000)), []):
        yield "".join(group).encode()


def one_line(size):
    yield from repeat(b"the quick brown fox, loss of words, 12345 it/s, ", size)


def anchors_only(size):
    yield from repeat(b"'loss': SamplesPerSec= DLLL { it/s] throughput= :::MLLOG { ", size)


def step_lines(count):
    """Megatron's lines: step, time, loss, batch."""
    yield b"using world size: 8, data-parallel-size: 8, tensor-model-parallel size: 1\n"
    yield from joined(
        f" iteration {n:8d}/{count:8d} | consumed samples: {n * 64:12d} | elapsed time per "
        f"iteration (ms): {100 + n % 7}.5 | global batch size:    64 | lm loss: 1.0E+01 | number of "
        f"skipped iterations:   0 |\n" for n in range(1, count + 1))


def dll_lines(count):
    yield from joined(
        f'DLLL {{"timestamp": "{1587451057 + n * 0.1:.6f}", "elapsedtime": "{n * 0.1:.6f}", "type": '
        f'"LOG", "step": [0, {n}], "data": {{"average_loss": 3.62, "learning_rate": 1e-05}}}}\n'
        for n in range(1, count + 1))


def redraws(count):
    """One bar that never ends its line."""
    yield from joined(
        f"\rIteration:  50%|#####     | {n}/{count * 2} [{n // 600:02d}:{n // 10 % 60:02d}<10:00, "
        f"10.00it/s]" for n in range(count))


def bars(count):
    """A bar of another name on each line."""
    yield from joined(f"Shard {n}:  50%|#####     | {n % 90}/100 [00:0{n % 10}<00:10, 10.00it/s]\r"
                      for n in range(count))


def many_runs(count):
    """Runs of two steps: the counter goes back each time."""
    pair = "".join(f"[2023-04-18 01:46:59,171] [INFO] [timer.py:199:stop] epoch=0/micro_step={n}/"
                   f"global_step={n}, RunningAvgSamplesPerSec=17{n}.4, CurrSamplesPerSec=171.9, "
                   f"MemAllocated=3.96GB, MaxMemAllocated=22.95GB\n" for n in (10, 20))
    return repeat(pair.encode(), len(pair) * count)


def mlperf_runs(count):
    yield from joined(
        f':::MLLOG {{"namespace": "", "time_ms": {1696542606723 + n}, "event_type": "INTERVAL", '
        f'"key": "{key}", "value": {n}, "metadata": {{"file": "r{n}.py", "status": "success"}}}}\n'
        for n in range(count) for key in ("run_start", "run_stop"))


def tqdm_runs(count):
    return repeat(b"Iteration:  20%|##        | 2/10 [00:02<00:08, 1.00it/s]\n"
                  b"Iteration:  10%|#         | 1/10 [00:01<00:09, 1.00it/s]\n", count * 58)


def ranks(count):
    """A label of its own on each line, as of ever more ranks, launches and hosts."""
    yield from joined(
        f"[1,{n}]<stdout>:Step:{n} Average Loss = 9.0 Step Loss = 9.0 LR 0.1\n"
        f"host{n}: [rank{n}]: {{'loss': 9.0, 'learning_rate': 0.1, 'epoch': 0.{n}}}\n"
        for n in range(count))


def facts(count):
    """Another statement of each fact on each line."""
    yield from joined(
        f"+ python run.py --train_batch_size={n} --gradient_accumulation_steps={n % 97 + 1} "
        f"--max_seq_length={n} --nproc_per_node={n % 511 + 1} NCCL_IB_HCA=mlx{n} "
        f"torch {n}.{n % 10}.0 libcudart.so.{n}\n" for n in range(1, count + 1))


def failures(count):
    yield from joined(
        f"Traceback (most recent call last):\n  File \"a{n}.py\", line {n}, in f{n}\n"
        f"RuntimeError: CUDA out of memory {n}. Tried to allocate {n} GiB\n"
        f"[{n}] NCCL error in: net_{n}.cc:{n}, Saving checkpoint {n}\n" for n in range(count))


def evaluations(count):
    yield from joined(f"***** Running Evaluation {n} *****\nSaving model checkpoint to out/{n}\n"
                      f"{{'eval_loss': 1.{n}, 'epoch': {n}}}\n" for n in range(count))


def compact_state(size):
    """trainer_state.json on one line."""
    yield b'{"best_metric": null, "global_step": 40, "log_history": ['
    n = 0
    while size > 0:
        block = "".join(f'{{"epoch": 0.5, "loss": 9.62, "step": {n + i}}}, '
                        for i in range(4000)).encode()
        n += 4000
        size -= len(block)
        yield block
    yield b'{"step": 1}]}'


def nested_json(size):
    yield b'DLLL {"timestamp": "1", "step": '
    yield from repeat(b"[", size)
    yield b"\n"
    yield b':::MLLOG {"key": "global_batch_size", "value": '
    yield from repeat(b'{"a":', size)
    yield b"\n"


def huge_numbers(size):
    for front in (b"'loss': ", b'DLLL {"timestamp": "', b"global_step/sec: ", b"time="):
        yield front
        yield from repeat(b"1234567890", size // 4)
        yield b"\n"


def deflated(blocks, size):
    """One gzip member over and over: a bomb of `size` bytes that is quick to make."""
    body = b"".join(blocks)
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    member = packer.compress(body) + packer.flush()
    return member * max(1, size // len(body))


def gzip_bomb(text, size):
    def prepare(folder):
        with open(os.path.join(folder, "bomb.log.gz"), "wb") as out:
            out.write(deflated(repeat(text, 8 * MB), size))
        return size
    return prepare


def zstd_bomb(text, size, *options):
    """By the command-line tool, as nothing in Python's library writes it."""
    def prepare(folder):
        with open(os.path.join(folder, "bomb.log.zst"), "wb") as out:
            tool = subprocess.Popen(["zstd", "-q", "-c", *options], stdin=subprocess.PIPE,
                                    stdout=out)
            for block in repeat(text, size):
                tool.stdin.write(block)
            tool.stdin.close()
            if tool.wait() != 0:
                raise OSError("zstd failed")
        return size
    return prepare


def result_file(kind, size):
    """Our own result files, as an enemy writes them."""
    def prepare(folder):
        path = os.path.join(folder, "result.json")
        with open(path, "wb") as out:
            out.write(b'{"schema": "bertbench.result/1", "name": ')
            text = {"nested": b"[", "number": b"9", "string": b"a"}[kind]
            if kind == "string":
                out.write(b'"')
            for block in repeat(text, size):
                out.write(block)
        return os.path.getsize(path)
    return prepare


def one_file(count):
    def prepare(folder):
        path = os.path.join(folder, "run.log")
        with open(path, "wb") as out:
            out.writelines(step_lines(count))
        return os.path.getsize(path)
    return prepare


def large_files(count, records):
    """Logs of which each fills a reader; one on disk, the others are links to it."""
    def prepare(folder):
        size = one_file(records)(folder)
        for n in range(1, count):
            os.link(os.path.join(folder, "run.log"), os.path.join(folder, f"run{n}.log"))
        return count * size
    return prepare


def files(count, text):
    def prepare(folder):
        for n in range(count):
            sub = os.path.join(folder, f"{n // 1000}")
            path = os.path.join(sub, f"{n}.log")
            if n % 1000 == 0:
                os.mkdir(sub)
                first = path
                with open(first, "wb") as out:
                    out.write(text)
            else:
                os.link(first, path)  # a log's name and result are what may take memory
        return count * len(text)
    return prepare


def cases(quick):
    def big(full, small):
        return small if quick else full

    def piped(name, blocks, *more, statuses=(0,)):
        return Case(name, blocks=blocks, command=("extract", "-", "--json", *more),
                    statuses=statuses)

    gigabyte = big(2000 * MB, 120 * MB)
    records = big(10_000_000, 200_000)
    million = big(1_000_000, 100_000)
    nothing = (0, 5)  # no record in it
    log = b"".join(itertools.islice(step_lines(30), 3))
    yield piped("one line of words", lambda: one_line(gigabyte), statuses=nothing)
    yield piped("one line of anchors", lambda: anchors_only(gigabyte // 4), statuses=nothing)
    yield piped("NUL bytes", lambda: repeat(b"\0", gigabyte), statuses=nothing)
    yield piped("\\r only", lambda: repeat(b"\r", gigabyte), statuses=nothing)
    yield piped("empty lines", lambda: repeat(b"\n", gigabyte), statuses=nothing)
    yield piped("escape sequences on one line", lambda: repeat(b"\x1b[A\x1b[31m", gigabyte // 4),
                statuses=nothing)
    yield piped("records, Megatron", lambda: step_lines(records))
    yield piped("records, fixed window of all", lambda: step_lines(records), "--window",
                f"0:{records}")
    yield piped("records, DLLogger JSON", lambda: dll_lines(records))
    yield piped("redraws of one bar, no line break", lambda: redraws(records))
    yield piped("bars of different names", lambda: bars(million), statuses=nothing)
    yield piped("runs in one file, DeepSpeed", lambda: many_runs(million))
    yield piped("runs in one file, tqdm", lambda: tqdm_runs(million), statuses=nothing)
    yield piped("runs in one file, MLPerf", lambda: mlperf_runs(million), statuses=nothing)
    yield piped("ranks and hosts", lambda: ranks(million), statuses=nothing)
    yield piped("facts", lambda: facts(million), statuses=nothing)
    yield piped("failures", lambda: failures(million), statuses=nothing)
    yield piped("evaluations and checkpoints", lambda: evaluations(million), statuses=nothing)
    yield piped("trainer_state.json on one line", lambda: compact_state(big(1000, 40) * MB))
    yield piped("JSON nested without end", lambda: nested_json(big(500, 80) * MB),
                statuses=nothing)
    yield piped("numbers without end", lambda: huge_numbers(big(1000, 80) * MB), statuses=nothing)
    for name, text, statuses in (("zeros", b"\0", nothing), ("one line", b"loss it/s ", nothing),
                                 ("log lines", log, (0,))):
        size = big(4000, 100) * MB
        extract = {"command": ("extract", "{folder}", "--json"), "kind": "files",
                   "statuses": statuses}
        yield Case(f"gzip bomb of {name}", prepare=gzip_bomb(text, size), **extract)
        yield Case(f"zstd bomb of {name}", prepare=zstd_bomb(text, size), **extract)
    # The largest window that is taken, and one that would need 128 MiB by itself: that is refused.
    yield Case("zstd bomb, window of 8 MiB", prepare=zstd_bomb(log, big(4000, 100) * MB, "--long=23"),
               command=("extract", "{folder}", "--json"), kind="files")
    yield Case("zstd bomb, window of 128 MiB", prepare=zstd_bomb(log, big(4000, 100) * MB,
                                                                "--long=27"),
               command=("extract", "{folder}", "--json"), kind="files", statuses=(5,))
    yield Case("plain file, 8 threads", prepare=one_file(records), kind="files",
               command=("extract", "{folder}", "--json", "--threads", "8"))
    yield Case("large files, 8 threads", prepare=large_files(big(32, 6), 200_000), kind="files",
               command=("extract", "{folder}", "--json", "--threads", "8"))
    yield Case("files, totals only", prepare=files(big(100_000, 12_000), log), kind="files",
               command=("extract", "{folder}", "--summary"))
    yield Case("files", prepare=files(big(100_000, 12_000), log), kind="files",
               command=("extract", "{folder}", "--json"))
    yield Case("followed log of records", blocks=lambda: step_lines(records // 2), kind="follow",
               command=("extract", "--follow"), statuses=(130,))
    yield Case("followed log of one line", blocks=lambda: one_line(gigabyte // 4), kind="follow",
               command=("extract", "--follow"), statuses=(130,))
    for kind in ("nested", "number", "string"):
        yield Case(f"result file, {kind} without end",
                   prepare=result_file(kind, 8 * MB), kind="files",
                   command=("report", "{folder}/result.json", "--to", "json"), statuses=(2, 5))
