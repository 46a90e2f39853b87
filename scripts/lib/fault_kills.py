"""kill -9 of the harness at random instants, each followed by the same command."""
import random
import shutil
import subprocess
import time

from fault_run import SIGKILL, Sweep, config, wait_for


def settings(trials):
    return config(grid={"topology": ["1n1g", "1n2g"]}, trials=trials, retries=3,
                  env={"FAKE_DELAY_MS": "3", "OMP_WAIT_POLICY": "passive"})


def span_of(tools, trainer, trials):
    """Seconds within which a kill falls on the start or on one of the first trials after it."""
    probe = Sweep(tools, settings(3), trainer=trainer)
    times = []
    for _ in range(2):
        begin = time.monotonic()
        if probe.go() != 0:
            raise SystemExit("fault_table: the sweep fails without any fault:\n" + probe.errors())
        times.append(time.monotonic() - begin)
    probe.close()
    return times[1] + 4 * max(0.005, (times[0] - times[1]) / 6)


def kills(tools, trainer, wanted_kills, seed, trials=25):
    """Sweeps of 2 x trials trials, killed until `wanted_kills` kills have hit."""
    generator = random.Random(seed)
    span = span_of(tools, trainer, trials)
    sweep = Sweep(tools, settings(trials), trainer=trainer)
    done = 0
    for _ in range(20 * wanted_kills):
        if done == wanted_kills:
            break
        harness = sweep.start()
        try:
            harness.wait(generator.uniform(0, span))
            over = True
        except subprocess.TimeoutExpired:
            harness.send_signal(SIGKILL)
            harness.wait()
            over = False
            done += 1
        sweep.check_left()
        sweep.check_kept()
        sweep.note_finished()
        if over:
            # All done before the last kill: go on in a new folder, so that every kill hits.
            sweep.check_end(2 * trials)
            shutil.rmtree(sweep.run)
            sweep.kept.clear()
    sweep.resume(2 * trials)
    return sweep, done


def kill_all_of_it(tools):
    """Harness and trainer killed at one time, the trainer's loose child living on."""
    sweep = Sweep(tools, config(trials=1, env={"FAKE": "leave_child"}))
    sweep.hold_trials()
    harness = sweep.start()
    wait_for(lambda: len(sweep.strays()) >= 2)
    harness.send_signal(SIGKILL)
    harness.wait()
    sweep.let_go()
    sweep.resume(1)
    return sweep, "resume ends the child that lived on, and says so"


def run(tools, choice, count, real, seed):
    fault = f"harness killed at a random instant ({count})"
    if count and choice.wants(fault):
        sweep, done = kills(tools, tools.fake, count, seed)
        yield fault, [sweep], done, "resume runs the rest"
    fault = f"the same, with bert_train ({real})"
    if real and tools.bert_train.exists() and choice.wants(fault):
        sweep, done = kills(tools, tools.bert_train, real, seed + 1, trials=6)
        yield fault, [sweep], done, "resume runs the rest"
    fault = "harness killed, a loose grandchild lives"
    if choice.wants(fault):
        sweep, outcome = kill_all_of_it(tools)
        yield fault, [sweep], 1, outcome
