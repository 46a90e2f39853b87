"""A sweep under test: its folder, its commands, and what is checked after each fault."""
import ctypes
import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

SIGKILL = signal.SIGKILL


class Tools:
    """Programs of one build."""

    def __init__(self, build):
        build = pathlib.Path(build).resolve()
        self.build = build
        self.bertbench = build / "bertbench"
        self.fake = build / "tests/fake_trainer"
        self.shim = build / "tests/libfault_calls.so"
        self.bert_train = build / "bert_train"

    def missing(self):
        return [str(p) for p in (self.bertbench, self.fake, self.shim) if not p.exists()]


class Choice:
    """Which faults are wanted, and how many tries of each."""

    def __init__(self, quick, only=""):
        self.quick = quick
        self.words = [w for w in only.split(",") if w]

    def wants(self, fault):
        return not self.words or any(word in fault for word in self.words)


def become_subreaper():
    """Whatever outlives its parents comes to this process, so that nothing can hide from it."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


def config(**more):
    """Two trials of one cell of 12 steps, in some milliseconds each."""
    out = {"name": "fault", "workload": "bert_train",
           "grid": {"topology": ["1n1g"], "model": ["bert-tiny"], "micro_batch_size": [2],
                    "sequence_length": [16]},
           "trials": 2, "steps": 12, "window": "steps:4:12", "timeout_s": 120,
           "stall_timeout_s": 60, "retries": 0, "env": {}}
    for key, value in more.items():
        if key in ("grid", "env"):
            out[key] = {**out[key], **value}
        else:
            out[key] = value
    return out


def read_journal(run):
    records = []
    path = run / "journal.jsonl"
    if path.exists():
        for line in path.read_bytes().split(b"\n"):
            try:
                records.append(json.loads(line))
            except ValueError:
                pass  # torn: the harness reports it and drops it
    return records


def state_and_parent(pid):
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return fields[0], int(fields[1])


class Sweep:
    """One run folder under `work`, and the trials of it that must never be lost."""

    def __init__(self, tools, settings, work=None, trainer=None):
        self.tools = tools
        self.work = pathlib.Path(work or tempfile.mkdtemp(prefix="fault_"))
        self.own_work = work is None
        self.run = self.work / "run"
        self.settings = settings
        self.file = self.work / "sweep.json"
        self.write_config(settings)
        self.trainer = trainer or tools.fake
        self.kept = {}      # path -> hash of every file of a finished trial
        self.excused = set()  # files that the fault itself takes away
        self.lost = self.twice = self.left = 0
        self.problems = []
        self.known = set()  # children of this script that are meant to be there
        self.run_ids = set()

    def write_config(self, settings):
        self.file.write_text(json.dumps(settings))

    def hold_trials(self, grid=False):
        """Trials wait after their fifth step until let_go(), so that none is over before something has
        happened in it. With `grid` it is every second trial: a cell next to it has none that waits."""
        file = str(self.work / "go")
        self.settings = {**self.settings}
        if grid:
            self.settings["grid"] = {**self.settings["grid"], "env.FAKE_UNTIL": ["", file]}
        else:
            self.settings["env"] = {**self.settings["env"], "FAKE_UNTIL": file}
        self.write_config(self.settings)

    def let_go(self):
        (self.work / "go").touch()

    def first_log(self):
        """Of the first trial, once it is there."""
        return next(iter(sorted(self.run.glob("*/trial_1/log.txt"))), None)

    def close(self):
        if self.own_work:
            shutil.rmtree(self.work, ignore_errors=True)

    def command(self):
        return [str(self.tools.bertbench), "sweep", str(self.file), "--out", str(self.run),
                "--trainer", str(self.trainer)]

    def start(self, env=None, prefix=(), **how):
        how.setdefault("stdout", subprocess.DEVNULL)
        how.setdefault("stderr", open(self.work / "stderr.txt", "wb"))
        how.setdefault("stdin", subprocess.DEVNULL)
        process = subprocess.Popen([*prefix, *self.command()], env={**os.environ, **(env or {})},
                                   **how)
        self.known.add(process.pid)
        return process

    def go(self, env=None, prefix=(), limit=120, **how):
        """Starts the harness and waits for it; its status (negative: the signal that ended it)."""
        process = self.start(env, prefix, **how)
        try:
            return process.wait(limit)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            self.problems.append(f"the harness did not end within {limit} s")
            return None

    def errors(self):
        path = self.work / "stderr.txt"
        # A note is folded at 100 columns; its further lines are indented.
        return path.read_text(errors="replace").replace("\n  ", " ") if path.exists() else ""

    # What the journal and the result hold ----------------------------------------------------
    def finished(self, covered_only=True):
        """Folders of attempts with an end in the journal, by (cell, trial, attempt)."""
        # A key with characters that a folder must not have stands in another folder.
        logs = {(key, t["trial"], t["attempt"]): self.run / pathlib.Path(t["log"]).parent
                for key, t in self.trials() if "log" in t and "attempt" in t}
        out = {}
        for record in read_journal(self.run):
            if record.get("event") != "finished":
                continue
            if covered_only and not record.get("window_covered"):
                continue
            folder = self.run / record["cell"] / f"trial_{record['trial']}"
            if record["attempt"] > 1:
                folder = folder / f"attempt_{record['attempt']}"
            name = (record["cell"], record["trial"], record["attempt"])
            out[name] = logs.get(name, folder)
        return out

    def result(self):
        path = self.run / "results.json"
        return json.loads(path.read_text()) if path.exists() else {"cells": []}

    def trials(self):
        """(cell key, trial of the result) of every cell."""
        return [(cell["key"], t) for cell in self.result()["cells"] for t in cell["trials"]]

    def outcome_of(self, key_part):
        """Outcome of the first trial of the cell whose key holds this, as one line."""
        for key, trial in self.trials():
            if key_part in key:
                return outcome_text(trial)
        return "no trial"

    # Checks ----------------------------------------------------------------------------------
    def note_finished(self):
        """From here on, what is finished now must stay as it is."""
        for folder in self.finished().values():
            for path in sorted(folder.iterdir()):
                if path.is_file():
                    self.kept[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest()

    def check_kept(self):
        gone = 0
        for path, before in self.kept.items():
            if path in self.excused:
                continue
            try:
                now = hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()
            except OSError:
                now = None
            if now != before:
                gone += 1
                self.problems.append(f"{path} is {'gone' if now is None else 'altered'}")
        self.lost += gone
        return gone

    def strays(self):
        """Processes of the trainers that are alive: by marker, and by having come to us."""
        self.run_ids |= {r["run"] for r in read_journal(self.run) if r.get("event") == "opened"}
        marks = [b"BERTBENCH_TRIAL=" + run.encode() + b":" for run in self.run_ids]
        found = []
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            info = state_and_parent(entry)
            if not info or info[0] == "Z":
                continue
            if info[1] == os.getpid() and int(entry) not in self.known:
                found.append(int(entry))
                continue
            try:
                with open(f"/proc/{entry}/environ", "rb") as file:
                    variables = file.read().split(b"\0")
            except OSError:
                continue
            if any(v.startswith(mark) for v in variables for mark in marks):
                found.append(int(entry))
        return found

    def check_left(self, seconds=5):
        """The kernel needs a moment to end what dies with the harness."""
        end = time.monotonic() + seconds
        found = self.strays()
        while found and time.monotonic() < end:
            time.sleep(0.01)
            reap(self.known)
            found = self.strays()
        for pid in found:
            self.problems.append(f"process {pid} was left running: {command_of(pid)}")
            try:
                os.kill(pid, SIGKILL)
            except OSError:
                pass
        self.left += len(found)
        reap(self.known)
        return len(found)

    def check_end(self, wanted, measured=None):
        """`wanted` trials in the result, each once, `measured` of them (default: all) with a
        number; none with two accepted ends in the journal under one command."""
        trials = [(key, trial["trial"]) for key, trial in self.trials()]
        twice = len(trials) - len(set(trials))
        if len(set(trials)) < wanted:
            self.lost += wanted - len(set(trials))
            self.problems.append(f"{len(set(trials))} trials in the result instead of {wanted}")
        numbers = sum(1 for _, trial in self.trials() if "sequences_per_second" in trial)
        expected = wanted if measured is None else measured
        if numbers < expected:
            self.lost += expected - numbers
            self.problems.append(f"{numbers} trials have a number instead of {expected}")
        ends = list(self.finished())
        accepted = [(cell, trial) for cell, trial, _ in ends]
        twice += len(accepted) - len(set(accepted))
        if twice:
            self.problems.append(f"{twice} trials count twice")
        self.twice += twice

    def resume(self, wanted, measured=None, status=0, env=None):
        """The same command again, and every check."""
        self.note_finished()
        done = self.go(env)
        if done != status:
            self.problems.append(f"resume ended with {done}: {self.errors()[-600:]}")
        self.check_kept()
        self.check_left()
        self.check_end(wanted, measured)


def outcome_text(trial):
    outcome = trial["outcome"]
    text = outcome["status"]
    if outcome.get("detail"):
        text += ": " + outcome["detail"]
    if outcome.get("line"):
        text += f" (line {outcome['line']})"
    return text


def command_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return "?"


def reap(known):
    """Zombies that came to this process, but not its own Popen children."""
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) not in known:
            info = state_and_parent(entry)
            if info and info[0] == "Z" and info[1] == os.getpid():
                try:
                    os.waitpid(int(entry), os.WNOHANG)
                except OSError:
                    pass


def wait_for(what, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = what()
        if value:
            return value
        time.sleep(0.003)
    return None
