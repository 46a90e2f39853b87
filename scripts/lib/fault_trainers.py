"""Faults of the trainer: what it does wrong, and the outcome that must be named."""
import re

from fault_run import Sweep, config

# (fault, FAKE modes tried, further settings, outcome of the trial as a pattern)
LATER_STALL = {"stall_timeout_s": 3}  # more than a busy machine takes to start the good cell
CASES = [
    ("trainer hangs", ["hang"], LATER_STALL, r"^stalled: no output for 3 s \(line \d+\)"),
    ("trainer ignores SIGTERM", ["ignore_term"], LATER_STALL, r"^stalled: .*\(line \d+\)"),
    ("trainer stops itself (SIGSTOP)", ["stopped"], LATER_STALL, r"^stalled: .*\(line \d+\)"),
    ("trainer closes its output, lives on", ["close_stdout"], LATER_STALL, r"^stalled: .*\(line"),
    ("trainer exceeds the time limit", ["ok"], {"timeout_s": 0.5, "env": {"FAKE_DELAY_MS": "100"}},
     r"^timeout: ran longer than 0.5 s"),
    ("trainer forks a child of its own session", ["leave_child"], {}, r"^completed"),
    ("trainer double-forks a daemon, no environment", ["daemon"], {}, r"^completed"),
    ("trainer's grandchild holds the log open", ["hold_log"], {}, r"^completed"),
    ("trainer floods its log with 4 GB (sparse)", ["flood_sparse"], {"log_limit_bytes": 1 << 28},
     r"^error: its log grew beyond the 268435456 bytes"),
    ("trainer floods its log for real", ["flood"], {"log_limit_bytes": 1 << 26},
     r"^error: its log grew beyond the 67108864 bytes"),
    ("trainer prints no newline at all", ["never_newline"], {}, r"^no_data"),
    ("trainer breaks off in mid-line", ["cut_line"], {}, r"^error: exit status 1"),
    ("trainer exits 0 without data", ["silent@0"], {}, r"^no_data"),
    ("trainer exits 0 in the middle", ["exit:0"], {}, r"^truncated.*\(line \d+\)"),
    ("trainer exits 1, 3, 126, 127, 255", [f"exit:{n}" for n in (1, 3, 126, 127, 255)], {},
     r"^error: exit status \d+ \(line \d+\)"),
    ("trainer exits 130, 137, 143", [f"exit:{n}" for n in (130, 137, 143)], {},
     r"^killed: exit status \d+ \(line \d+\)"),
    ("trainer dies by a fault's signal", [f"signal:{n}" for n in (3 + 1, 5, 6, 7, 8, 11, 13, 31)],
     {}, r"^error: signal \d+ \(SIG\w+\) \(line \d+\)"),
    ("trainer is killed (HUP INT QUIT KILL TERM)", [f"signal:{n}" for n in (1, 2, 3, 9, 15)], {},
     r"^killed: signal \d+ \(SIG\w+\) \(line \d+\)"),
    ("trainer runs out of memory", ["oom_text", "oom_exit"], {}, r"^out_of_memory.*\(line \d+\)"),
    ("loss becomes NaN", ["nan"], {}, r"^nan.*\(line \d+\)"),
    ("one rank of two dies", ["exit:3"], {"grid": {"topology": ["1n2g"]}, "env": {"FAKE_RANK": "1"}},
     r"^error: exit status 3"),
    ("requeued job: two runs in one log", ["requeue"], {}, r"^completed"),
]
QUICK = {"trainer ignores SIGTERM", "trainer hangs", "trainer double-forks a daemon, no environment",
         "trainer's grandchild holds the log open", "trainer floods its log with 4 GB (sparse)",
         "trainer exits 0 without data", "trainer dies by a fault's signal",
         "requeued job: two runs in one log"}
# Repeatable by nature: the same command ends the same way, so resume does not try again.
FINAL = ("oom_", "nan")


def one(tools, mode, settings, pattern):
    """A good cell next to one that misbehaves once; then the same command again, which heals it."""
    base = config(**settings)
    at = "5"
    if mode.endswith("@0"):
        mode, at = mode[:-2], "0"
    base["grid"]["env.CELL"] = ["good", "bad"]
    sweep = Sweep(tools, base)
    base["grid"]["env.FAKE"] = ["ok", mode]
    base["zip"] = [["env.CELL", "env.FAKE"]]
    base["env"] = {"FAKE_AT": at, "FAKE_ONCE": str(sweep.work / "once"), **base["env"]}
    slow = "timeout_s" in settings
    if slow:  # every trial of the cell is slow, in the first start only
        base["grid"]["env.FAKE_DELAY_MS"] = ["0", base["env"].pop("FAKE_DELAY_MS")]
        base["zip"] = [["env.CELL", "env.FAKE", "env.FAKE_DELAY_MS"]]
        base["env"].pop("FAKE_ONCE")
    base["trials"] = 1
    sweep.write_config(base)
    limit = sweep.go()
    outcome = sweep.outcome_of("CELL=bad")
    if not re.search(pattern, outcome):
        sweep.problems.append(f"outcome of {mode} is '{outcome}', not {pattern} "
                              f"(harness: {limit}; {sweep.errors()[-300:]})")
    good = sweep.outcome_of("CELL=good")
    if not good.startswith("completed"):
        sweep.problems.append(f"the good cell next to it: '{good}'")
    sweep.check_left()
    if slow:
        sweep.write_config({**base, "timeout_s": 120})
    if mode.startswith(FINAL):
        sweep.resume(2, measured=1, status=1)
    else:
        sweep.resume(2)
    return sweep, outcome


def run(tools, choice):
    """One row a fault: (fault, sweeps, outcome)."""
    for fault, modes, settings, pattern in CASES:
        if (choice.quick and fault not in QUICK) or not choice.wants(fault):
            continue
        sweeps, outcome = [], ""
        for mode in modes[:2] if choice.quick else modes:
            sweep, outcome = one(tools, mode, settings, pattern)
            sweeps.append(sweep)
        yield fault, sweeps, len(sweeps), outcome
