"""The Nth call of a function of the C library fails, for every N up to the last call; and the
harness is killed before every such call. Each followed by the same command without fault."""
import errno

from fault_run import Sweep, config

# Which error each call meets, one after the other.
CALLS = [
    ("write", ["ENOSPC", "EIO"]), ("fsync", ["EIO", "ENOSPC"]), ("fdatasync", ["EIO"]),
    ("openat", ["EMFILE", "EACCES"]), ("renameat", ["EIO"]), ("mkdirat", ["ENOSPC"]),
    ("fork", ["EAGAIN"]), ("pipe2", ["EMFILE"]), ("read", ["EIO", "EINTR"]),
    ("exec_status", ["EIO"]), ("pread", ["EIO"]), ("poll", ["EINTR"]),
]
KILLED_AT = ["write", "fsync", "fdatasync", "openat", "renameat", "mkdirat", "fork"]


def one(tools, call, nth, number):
    """The sweep of the Nth failing call, or None when there is no Nth call any more."""
    sweep = Sweep(tools, config(retries=1))
    fired = sweep.work / "fired"
    status = sweep.go({"LD_PRELOAD": str(tools.shim), "BB_FAULT_CALL": call,
                       "BB_FAULT_NTH": str(nth), "BB_FAULT_ERRNO": str(number),
                       "BB_FAULT_FIRED": str(fired)})
    if not fired.exists():
        sweep.close()
        return None
    what = f"{call} {nth} failing with {errno.errorcode.get(number, 'SIGKILL')}"
    if number == 0:
        if status != -9:
            sweep.problems.append(f"{what}: status {status}")
    elif status is None or status < 0 or status > 5:
        sweep.problems.append(f"{what}: the harness ended with {status}")
    elif status != 0 and "bertbench: " not in sweep.errors() and "failed" not in sweep.errors():
        sweep.problems.append(f"{what}: status {status} without a word")
    sweep.status = status
    sweep.check_left()
    sweep.resume(2)
    sweep.problems = [f"{what}: {p}" for p in sweep.problems]
    return sweep


def numbers(quick):
    """All up to 100 and every seventh after that (a start and two trials reach some hundreds), or
    with --quick ever sparser ones."""
    nth = 1
    while nth < 5000:
        yield nth
        if quick:
            nth += max(1, nth // 2 + nth % 3)
        else:
            nth += 1 if nth < 100 else 7


def row(tools, call, number, quick):
    sweeps, unharmed = [], 0
    for nth in numbers(quick):
        sweep = one(tools, call, nth, number)
        if sweep is None:
            break
        unharmed += sweep.status == 0
        sweep.close()
        sweeps.append(sweep)
    return sweeps, unharmed


def run(tools, choice):
    quick = choice.quick
    for call, errors in CALLS:
        for name in errors[:1] if quick else errors:
            fault = f"{call} fails: {name}, call 1, 2, 3 ..."
            if not choice.wants(fault):
                continue
            sweeps, unharmed = row(tools, call, getattr(errno, name), quick)
            yield (fault, sweeps, len(sweeps),
                   f"{len(sweeps) - unharmed} ended with a named error, {unharmed} went on")
    for call in KILLED_AT[:2] if quick else KILLED_AT:
        fault = f"harness killed at each {call}"
        if choice.wants(fault):
            sweeps, _ = row(tools, call, 0, quick)
            yield fault, sweeps, len(sweeps), "killed; resume runs the rest"
