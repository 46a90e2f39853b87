"""Faults between machines: ssh connections that break, and a Slurm that loses what it was given.
Both run here, on loopback and as an emulated cluster; where they cannot, the row says why."""
import contextlib
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import time

from fault_run import SIGKILL, Sweep, config, read_journal, state_and_parent, wait_for

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class Sshd:
    """An sshd on loopback with keys of its own."""

    def __init__(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="fault_ssh_"))
        self.missing = next((f"{p} is not installed" for p in ("ssh", "ssh-keygen")
                             if not shutil.which(p)), "")
        if not self.missing and not os.access("/usr/sbin/sshd", os.X_OK):
            self.missing = "sshd is not installed"
        self.process = None
        if self.missing:
            return
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        for key in ("host", "client"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
                            str(self.dir / key)], check=True)
        os.makedirs("/run/sshd", exist_ok=True)
        # A home without start-up files: a user's own would be run for each connection.
        (self.dir / "sshd_config").write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {self.dir}/host\n"
            f"AuthorizedKeysFile {self.dir}/client.pub\nPidFile none\nStrictModes no\nUsePAM no\n"
            f"PasswordAuthentication no\nPermitRootLogin yes\nMaxStartups 200\nSetEnv HOME={self.dir}\n"
            "KexAlgorithms ecdh-sha2-nistp256\n")
        (self.dir / "ssh_config").write_text(
            f"Port {self.port}\nIdentityFile {self.dir}/client\nIdentitiesOnly yes\n"
            "IdentityAgent none\nStrictHostKeyChecking no\nLogLevel ERROR\n"
            f"UserKnownHostsFile {self.dir}/known_hosts\n")
        self.start()

    def start(self):
        self.process = subprocess.Popen(["/usr/sbin/sshd", "-D", "-f", str(self.dir / "sshd_config"),
                                         "-E", str(self.dir / "log")])
        good = wait_for(lambda: subprocess.run(
            ["ssh", "-F", str(self.dir / "ssh_config"), "-o", "BatchMode=yes", "127.0.0.1", "true"],
            capture_output=True).returncode == 0, 20)
        if not good:
            self.missing = "sshd takes no connection here"

    def children(self, pid):
        return [int(e) for e in os.listdir("/proc") if e.isdigit()
                and (state_and_parent(e) or ("", 0))[1] == pid]

    def cut(self):
        """Ends the server's side of every connection, as a network that is gone does."""
        for monitor in self.children(self.process.pid):
            for session in self.children(monitor):
                with contextlib.suppress(OSError):  # it may end by itself meanwhile
                    if pathlib.Path(f"/proc/{session}/comm").read_text() == "sshd\n":
                        os.kill(session, SIGKILL)
            with contextlib.suppress(ProcessLookupError):  # it ends when its session does
                os.kill(monitor, SIGKILL)

    def close(self):
        if self.process:
            self.process.terminate()
            self.process.wait()
        shutil.rmtree(self.dir, ignore_errors=True)


def ssh_settings(sshd):
    return config(launcher="ssh", hosts=["127.0.0.1"], ssh={"config_file": str(sshd.dir / "ssh_config")})


def ssh_cut(tools, sshd):
    sweep = Sweep(tools, ssh_settings(sshd))
    sweep.hold_trials()
    sweep.known.add(sshd.process.pid)
    harness = sweep.start()
    wait_for(lambda: (log := sweep.first_log()) and log.stat().st_size > 500)
    sshd.cut()
    sweep.let_go()
    harness.wait(120)
    sweep.check_left(20)
    said = sweep.outcome_of("")
    if "ssh could not reach a host or lost it" not in said:
        sweep.problems.append(f"outcome '{said}'")
    sweep.resume(2)
    return sweep, said


def ssh_harness_killed(tools, sshd):
    sweep = Sweep(tools, ssh_settings(sshd))
    sweep.hold_trials(grid=True)
    sweep.known.add(sshd.process.pid)
    harness = sweep.start()
    wait_for(sweep.finished)
    wait_for(lambda: sum(r["event"] == "launched" for r in read_journal(sweep.run)) == 2)
    harness.send_signal(SIGKILL)
    harness.wait()
    sweep.check_left(20)
    sweep.let_go()
    sweep.resume(4)
    return sweep, "ranks over there end with the connection; resume runs the rest"


class Slurm:
    """An emulated cluster of two nodes, by tests/harness/slurm_cluster."""

    def __init__(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="fault_slurm_"))
        self.missing = ""
        done = self.call("start", "2", "4")
        if done.returncode != 0:
            self.missing = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else "?"
            return
        self.env = {"SLURM_CONF": str(self.dir / "slurm.conf")}

    def call(self, what, *more):
        return subprocess.run([str(ROOT / "tests/harness/slurm_cluster"), what, str(self.dir), *more],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run(self, *command):
        return subprocess.run(command, env={**os.environ, **self.env}, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True).stdout

    def jobs(self, sweep=None):
        """[id, state, nodes, reason, name] of what is in the queue and may run, of this sweep or all."""
        return [job for job in self.entries(sweep) if "held" not in job[3]]

    def entries(self, sweep=None):
        """A controller that was killed may believe again in the last job of the sweep before, whose
        harness has long ended: that one finds its script void, and is no job of this sweep."""
        found = [line.split("|") for line in
                 self.run("squeue", "-h", "-o", "%i|%T|%N|%r|%j").splitlines() if line.count("|") == 4]
        own = sweep and tuple(f"bb-{r['run']}-" for r in read_journal(sweep.run)
                              if r.get("event") == "opened")
        return [job for job in found if own is None or job[4].startswith(own)]

    def held(self, sweep):
        """Entries that a restarted controller revived of jobs that had ended: the harness made their
        scripts void, Slurm holds them and they never run."""
        return [job for job in self.entries(sweep) if "held" in job[3]]

    def close(self):
        self.call("stop")
        shutil.rmtree(self.dir, ignore_errors=True)


def slurm_sweep(tools, slurm, act, pattern, **more):
    """Starts a sweep of slow trials; act() once the first job runs; then the same command again."""
    sweep = Sweep(tools, config(launcher="slurm", env={"FAKE_DELAY_MS": "300"}, **more))
    before = set(os.listdir("/proc"))
    sweep.known |= {int(p) for p in before if p.isdigit()}
    harness = sweep.start(slurm.env)
    running = wait_for(lambda: [j for j in slurm.jobs(sweep) if j[1] == "RUNNING"], 60)
    if not running:
        sweep.problems.append("no job ever ran: " + sweep.errors()[-300:])
    else:
        time.sleep(1)
        act(sweep, harness, running[0])
    try:
        harness.wait(240)
    except subprocess.TimeoutExpired:
        harness.kill()
        harness.wait()
        sweep.problems.append("the harness did not end")
    said = sweep.outcome_of("")
    if pattern and not re.search(pattern, said + " " + sweep.errors()):
        sweep.problems.append(f"outcome '{said}', not {pattern}")
    left = [] if harness.returncode == -9 or wait_for(lambda: not slurm.jobs(sweep), 10) \
        else slurm.jobs(sweep)
    if left:
        sweep.left += len(left)
        sweep.problems.append(f"jobs left in the queue: {left}")
    sweep.note_finished()
    if sweep.go(slurm.env, limit=300) != 0:
        sweep.problems.append("resume failed: " + sweep.errors()[-500:])
    sweep.check_kept()
    sweep.check_end(2)
    left = wait_for(lambda: not slurm.jobs(sweep), 20)
    if not left:
        left = slurm.jobs(sweep)
        sweep.left += len(left)
        sweep.problems.append(f"jobs left in the queue: {left}")
    held = slurm.held(sweep)
    if held:
        sweep.left += len(held)
        sweep.problems.append(f"entries of ended jobs that stayed held in the queue: {held}")
    return sweep, said


def job_cancelled(tools, slurm):
    return slurm_sweep(tools, slurm, lambda s, h, job: slurm.run("scancel", job[0]), r"killed|error")


def node_lost(tools, slurm):
    def act(sweep, harness, job):
        slurm.call("kill-node", job[2])
        slurm.run("scontrol", "update", f"nodename={job[2]}", "state=down", "reason=test")
        time.sleep(2)
        slurm.call("start-node", job[2])
        slurm.run("scontrol", "update", f"nodename={job[2]}", "state=resume")
        # Slurm holds a job that it queues again back for two minutes. Until the node is back it still
        # owes it the end of the first run, which would be the end of a second one begun at once.
        wait_for(lambda: [j for j in slurm.jobs(sweep) if j[1] == "PENDING"], 20)
        wait_for(lambda: "idle" in slurm.run("sinfo", "-h", "-N", "-n", job[2], "-o", "%t"), 20)
        time.sleep(5)
        slurm.run("scontrol", "update", f"JobId={job[0]}", "StartTime=now")
    return slurm_sweep(tools, slurm, act, r"^completed")


def controller_killed(tools, slurm):
    def act(sweep, harness, job):
        slurm.call("kill-controller")
        time.sleep(3)
        slurm.call("start-controller")
    return slurm_sweep(tools, slurm, act, None)


def harness_away(tools, slurm):
    def act(sweep, harness, job):
        harness.send_signal(SIGKILL)
    sweep, _ = slurm_sweep(tools, slurm, act, None)
    return sweep, "the job goes on; resume takes it over"


SSH = [("ssh connection cut in a trial", ssh_cut),
       ("ssh: harness killed in a trial", ssh_harness_killed)]
SLURM = [("slurm: job cancelled from outside", job_cancelled), ("slurm: node lost", node_lost),
         ("slurm: controller killed and restarted", controller_killed),
         ("slurm: harness killed, job runs on", harness_away)]


def run(tools, choice):
    for place, cases in ((Sshd, SSH), (Slurm, SLURM)):
        cases = [c for c in cases[:1] if choice.wants(c[0])] if choice.quick else \
            [c for c in cases if choice.wants(c[0])]
        if not cases:
            continue
        there = place()
        try:
            for fault, case in cases:
                if there.missing:
                    yield fault, [], 0, "skipped: " + there.missing
                    continue
                sweep, outcome = case(tools, there)
                yield fault, [sweep], 1, outcome
        finally:
            there.close()
