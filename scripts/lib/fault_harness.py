"""Faults around the harness: files changed under it, full and read-only disks, clocks, limits."""
import os
import pathlib
import re
import signal
import subprocess

from fault_run import Sweep, config, read_journal, wait_for

def expect(sweep, text, pattern, what):
    if not re.search(pattern, text or ""):
        sweep.problems.append(f"{what} is '{(text or '')[-400:]}', not {pattern}")
    return " ".join((text or "").split())


def notices(sweep, trial=1):
    for key, one in sweep.trials():
        if one["trial"] == trial:
            return "; ".join(n["text"] for n in one.get("notices", []))
    return ""


def message(sweep):
    """The first error or notice that the harness printed."""
    lines = [l for l in sweep.errors().splitlines() if l.startswith(("error", "note", "warning"))]
    return lines[0] if lines else sweep.errors()[-300:]


def in_trial(tools, act):
    """Starts a sweep, calls act(sweep, log of trial 1) while that trial waits, waits."""
    sweep = Sweep(tools, config())
    sweep.hold_trials()
    harness = sweep.start()
    sweep.pid = harness.pid
    log = wait_for(lambda: (found := sweep.first_log()) and found.stat().st_size > 500 and found)
    if not log:
        sweep.problems.append("the trial never wrote to its log")
    else:
        act(sweep, log)
    sweep.let_go()
    sweep.status = harness.wait(120)
    sweep.check_left()
    return sweep


def log_deleted(tools):
    sweep = in_trial(tools, lambda s, log: log.unlink())
    said = expect(sweep, notices(sweep), "removed or replaced", "notice")
    sweep.resume(2)
    return sweep, sweep.outcome_of("") + "; " + said


def log_replaced(tools):
    def act(_, log):
        other = log.with_name("other")
        other.write_text("not a log\n")
        os.replace(other, log)
    sweep = in_trial(tools, act)
    said = expect(sweep, notices(sweep), "removed or replaced", "notice")
    sweep.resume(2)
    return sweep, sweep.outcome_of("") + "; " + said


def log_renamed(tools):
    sweep = in_trial(tools, lambda s, log: log.rename(log.with_name("log.txt.1")))
    said = expect(sweep, notices(sweep), "removed or replaced", "notice")
    sweep.resume(2)
    return sweep, sweep.outcome_of("") + "; " + said


def log_cut(tools):
    def act(_, log):
        # The harness writes down when the log grew between two looks, and begins anew when it was cut:
        # by that it is known to have read some of it, and to have found the cut.
        came = log.with_name("log.txt.arrivals.csv")

        def has_looked():
            with open(log, "ab") as more:
                more.write(b"\n")
            return came.exists() and came.stat().st_size
        size = wait_for(has_looked)
        os.truncate(log, 0)
        wait_for(lambda: came.stat().st_size < size)
    sweep = in_trial(tools, act)
    first = expect(sweep, sweep.outcome_of("") + "; " + notices(sweep), "was cut", "notice")
    sweep.resume(2)
    return sweep, first


def finished_log_unreadable(tools):
    """The log of a finished trial is there and cannot be read (EIO): resume must not replace it."""
    sweep = Sweep(tools, config())
    sweep.go()
    # Opens of logs are counted until none is left: those of /proc are as many as processes run.
    said = ""
    for nth in range(1, 100):
        fired = sweep.work / "fired"
        fired.unlink(missing_ok=True)
        # What was measured of a log that is as it was is recalled: only a log of another time is
        # read again.
        for log in sweep.run.glob("*/trial_*/log.txt"):
            os.utime(log)
        sweep.note_finished()
        status = sweep.go({"LD_PRELOAD": str(tools.shim), "BB_FAULT_CALL": "openat",
                           "BB_FAULT_NTH": str(nth), "BB_FAULT_ERRNO": "5",
                           "BB_FAULT_PATH": "log.txt", "BB_FAULT_FIRED": str(fired)})
        if status not in (0, 1, 2, 5):
            sweep.problems.append(f"resume with open {nth} failing ended with {status}")
        # A machine that is shared is known by the log's name as well.
        if re.search("log.txt.*(Input/output|cannot)", message(sweep)):
            said = message(sweep)
        sweep.check_kept()
        if not fired.exists():
            break
    expect(sweep, said, "log.txt.*(Input/output|cannot)", "error")
    sweep.resume(2)
    return sweep, said


def journal_deleted(tools):
    sweep = in_trial(tools, lambda s, log: (s.run / "journal.jsonl").unlink())
    said = expect(sweep, sweep.errors(), "journal.jsonl: was removed.*written again", "notice")
    sweep.resume(2)
    return sweep, message(sweep) if not said else "completed; journal written again, said so"


def journal_cut(tools):
    sweep = in_trial(tools, lambda s, log: os.truncate(s.run / "journal.jsonl", 40))
    expect(sweep, sweep.errors(), "journal.jsonl: was cut.*written again", "notice")
    sweep.resume(2)
    return sweep, "completed; journal written again, said so"


def journal_torn(tools):
    """Every cut of the last record: a crash of the machine in the middle of a write."""
    sweep = Sweep(tools, config())
    sweep.go()
    path = sweep.run / "journal.jsonl"
    whole = path.read_bytes()
    last = whole.rstrip(b"\n").rfind(b"\n") + 1
    tries = 0
    for cut in range(last + 1, len(whole), max(1, (len(whole) - last) // 6)):
        path.write_bytes(whole[:cut])
        sweep.resume(2)
        expect(sweep, sweep.errors(), "the last record was torn", "notice")
        tries += 1
    sweep.tries = tries
    return sweep, "completed; the torn record is dropped and named"


def journal_gone_at_resume(tools):
    sweep = Sweep(tools, config())
    sweep.go()
    sweep.note_finished()
    path = sweep.run / "journal.jsonl"
    aside = path.with_name("aside")
    path.rename(aside)
    status = sweep.go()
    said = expect(sweep, message(sweep), "journal.jsonl: is missing or empty", "error")
    if status != 2:
        sweep.problems.append(f"status {status} instead of 2")
    sweep.check_kept()
    aside.rename(path)
    sweep.resume(2)
    return sweep, said


def two_harnesses(tools):
    def act(sweep, _):
        second = subprocess.run(sweep.command(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                text=True)
        sweep.second = second.stderr
        if second.returncode != 2:
            sweep.problems.append(f"the second harness ended with {second.returncode}")
    sweep = in_trial(tools, act)
    said = expect(sweep, sweep.second, rf"another bertbench \(pid {sweep.pid}\)", "error")
    sweep.resume(2)
    return sweep, said


def stopped_by(number):
    def run(tools):
        sweep = Sweep(tools, config())
        sweep.hold_trials(grid=True)
        harness = sweep.start()
        wait_for(sweep.finished)
        harness.send_signal(number)
        status = harness.wait(60)
        if status != 130:
            sweep.problems.append(f"status {status} instead of 130")
        sweep.check_left()
        sweep.let_go()
        sweep.resume(4)
        return sweep, "interrupted, status 130; resume runs the rest"
    return run


def on_mount(tools, size, act):
    """A small tmpfs as run folder. None where mounting is forbidden."""
    sweep = Sweep(tools, config())
    sweep.run.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(sweep.run)],
                           stderr=subprocess.PIPE)
    if mount.returncode != 0:
        sweep.close()
        return None
    try:
        return sweep, act(sweep)
    finally:
        subprocess.run(["umount", "-l", str(sweep.run)], check=False)


def disk_full_before(tools):
    def act(sweep):
        status = sweep.go()
        said = expect(sweep, message(sweep),
                      re.escape(str(sweep.run)) + ".*No space left on device; free space", "error")
        if status != 2 or any(r["event"] == "started" for r in read_journal(sweep.run)):
            sweep.problems.append(f"a trial was started on a full disk (status {status})")
        subprocess.run(["mount", "-o", "remount,size=8m", str(sweep.run)], check=True)
        sweep.resume(2)
        return said
    return on_mount(tools, "64k", act)


def disk_full_in_trial(tools):
    def act(sweep):
        sweep.hold_trials(grid=True)
        harness = sweep.start()
        wait_for(sweep.run.joinpath("journal.jsonl").exists)
        filler = sweep.run / "filler"
        with open(filler, "wb", buffering=0) as file:
            wait_for(sweep.finished)
            sweep.note_finished()
            try:
                while file.write(bytes(4096)):
                    pass
            except OSError:
                pass
        sweep.let_go()
        status = harness.wait(60)
        said = expect(sweep, sweep.errors(), "No space left on device", "error")
        if status == 0:
            sweep.problems.append("status 0 on a full disk")
        sweep.check_left()
        filler.unlink()
        sweep.resume(4)
        return said[-150:] if "error" not in said else said[said.find("error"):][:150]
    return on_mount(tools, "4m", act)


def read_only(tools):
    def act(sweep):
        sweep.go()
        sweep.note_finished()
        subprocess.run(["mount", "-o", "remount,ro", str(sweep.run)], check=True)
        status = sweep.go()
        said = expect(sweep, message(sweep), "Read-only file system; name a folder", "error")
        if status == 0:
            sweep.problems.append("status 0 on a read-only folder")
        sweep.check_kept()
        subprocess.run(["mount", "-o", "remount,rw", str(sweep.run)], check=True)
        sweep.resume(2)
        return said
    return on_mount(tools, "8m", act)


def clock(offset):
    """The wall clock steps while a trial runs; monotonic clocks stay, as they do in the kernel."""
    def run(tools):
        library = next(iter(sorted(pathlib.Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))),
                       None)
        if library is None:
            return None
        sweep = Sweep(tools, config(stall_timeout_s=20, timeout_s=60))
        sweep.hold_trials()
        now = sweep.work / "clock"
        now.write_text("+0\n")
        harness = sweep.start({"LD_PRELOAD": str(library), "FAKETIME_TIMESTAMP_FILE": str(now),
                               "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1",
                               "DONT_FAKE_MONOTONIC": "1"})
        wait_for(lambda: any(r["event"] == "launched" for r in read_journal(sweep.run)))
        now.write_text(offset + "\n")
        sweep.let_go()
        status = harness.wait(120)
        if status != 0:
            sweep.problems.append(f"status {status}: {sweep.errors()[-300:]}")
        times = [r["time"] for r in read_journal(sweep.run)]
        if max(times)[:13] == min(times)[:13]:
            sweep.problems.append("the clock did not step: " + " ".join(times))
        for record in read_journal(sweep.run):
            if record["event"] == "finished" and not 0 < record["seconds"] < 60:
                sweep.problems.append(f"a trial took {record['seconds']} s")
        sweep.resume(2)
        return sweep, sweep.outcome_of("")
    return run


def few_descriptors(tools):
    sweep = Sweep(tools, config())
    status = sweep.go(prefix=["prlimit", "--nofile=32", "--"])
    if status != 0:
        sweep.problems.append(f"status {status}: {sweep.errors()[-300:]}")
    sweep.resume(2)
    return sweep, sweep.outcome_of("")


def bare_environment(tools):
    """No HOME, no PATH, stdin closed, stdout and stderr broken pipes."""
    sweep = Sweep(tools, config())
    ends = os.pipe()
    os.close(ends[0])
    status = sweep.go(prefix=["env", "-i"], stdout=ends[1], stderr=ends[1],
                      preexec_fn=lambda: os.close(0))
    os.close(ends[1])
    if status not in (0, 1, 2, 5):
        sweep.problems.append(f"status {status}")
    sweep.resume(2)
    return sweep, sweep.outcome_of("")


CASES = [
    ("log deleted in a trial", log_deleted), ("log replaced in a trial", log_replaced),
    ("log renamed in a trial", log_renamed), ("log cut in a trial", log_cut),
    ("finished log cannot be read (each open, EIO)", finished_log_unreadable),
    ("journal deleted in a trial", journal_deleted), ("journal cut in a trial", journal_cut),
    ("journal's last record torn", journal_torn),
    ("journal missing at resume", journal_gone_at_resume),
    ("two harnesses on one folder", two_harnesses),
    ("harness SIGINT", stopped_by(signal.SIGINT)), ("harness SIGTERM", stopped_by(signal.SIGTERM)),
    ("harness SIGHUP", stopped_by(signal.SIGHUP)),
    ("disk full before the first trial", disk_full_before),
    ("disk full in a trial", disk_full_in_trial), ("run folder becomes read-only", read_only),
    ("clock steps by -1 h in a trial", clock("-3600")),
    ("clock steps by +1 h in a trial", clock("+3600")),
    ("clock steps to 1970 in a trial", clock("@1970-01-02 00:00:00")),
    ("32 descriptors (ulimit -n)", few_descriptors),
    ("no environment, stdin closed, stdout broken", bare_environment),
]
NOT_QUICK = {"finished log cannot be read (each open, EIO)", "log renamed in a trial",
             "clock steps by +1 h in a trial", "harness SIGHUP"}


def run(tools, choice):
    for fault, case in CASES:
        if (choice.quick and fault in NOT_QUICK) or not choice.wants(fault):
            continue
        done = case(tools)
        if done is None:
            yield fault, [], 0, "skipped: " + ("libfaketime is not installed" if "clock" in fault
                                               else "mounting is forbidden here")
            continue
        sweep, outcome = done
        yield fault, [sweep], getattr(sweep, "tries", 1), outcome
