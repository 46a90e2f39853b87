"""Throughput, speedups and MFU of training logs, read by the program bertbench.

    import bertbench
    for cell in bertbench.read("logs/")["cells"]:
        print(cell["key"], cell["throughput"]["median"])
"""

import importlib.metadata
import json
import os
import subprocess

__all__ = ["Error", "program", "read"]


class Error(RuntimeError):
    """The program's error; `status` is its exit status (docs/contract.md)."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


def program():
    """The path of the program that was installed with this module."""
    # With `pip install --target` the record names another folder than the program lies in.
    next_to_it = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "bertbench")
    try:
        files = importlib.metadata.files("bertbench") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for path in [next_to_it, *(file.locate() for file in files if file.name == "bertbench")]:
        if os.access(path, os.X_OK):
            return os.path.realpath(path)
    raise Error(2, "the program is not where it was installed: install the wheel again")


def read(path, *options):
    """The result set (schema bertbench.result/1) as a dictionary: of a log, of a folder of logs, of a
    result file, or of the run folder of a sweep. `options` are those of `bertbench extract`, such as
    "--nodes", "2"; a result set is as it was written and takes none."""
    path = os.fspath(path)
    if _holds_results(path):
        if options:
            raise Error(2, f"{path} holds results already: options are for logs")
        return _run("report", "--to", "json", "--", path)
    return _run("extract", "--json", *map(str, options), "--", path)


def _holds_results(path):
    if os.path.isdir(path):
        return os.path.exists(os.path.join(path, "journal.jsonl"))
    try:
        with open(path, "rb") as file:
            return b'"bertbench.result/1"' in file.read(4096)
    except OSError:
        return False  # the program names what is wrong


def _run(*arguments):
    done = subprocess.run([program(), *arguments], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode != 0:
        raise Error(done.returncode, done.stderr.decode(errors="replace").strip())
    return json.loads(done.stdout)
