"""What a job of a scenario file runs as a real process: src/sim/program.h in real time.

usage: scenario_program.py FOLDER PROGRAM     PROGRAM: the object "program" of `sim scenario --json`

It speaks the worker's socket (hello, progress, checkpoint), goes on from KEIKO_RESUME_FROM, and
ends with its exit code. FOLDER/<job>.<rank> is locked while it runs: a second copy at the same time
finds the lock taken, notes that in FOLDER/duplicates and ends.
"""
import fcntl
import json
import os
import signal
import socket
import sys
import time



def began():
    """RETURNS: when this process was started, on the monotonic clock; Python came later."""
    with open("/proc/self/stat") as file:
        ticks = int(file.read().rpartition(")")[2].split()[19])
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    return time.monotonic() - age


class Agent:
    """The worker's end of KEIKO_SOCKET. An agent that is away is dialled again and hears of the
    newest checkpoint once more."""

    def __init__(self):
        self.socket, self.checkpoint = None, None

    def say(self, **line):
        if line["type"] == "checkpoint":
            self.checkpoint = line
        try:
            if self.socket is None:
                self.dial()
            self.send(line)
        except OSError:
            self.socket = None

    def dial(self):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(os.environ["KEIKO_SOCKET"])
        self.send({"type": "hello", "protocol": 1, "pid": os.getpid()})
        if self.checkpoint:
            self.send(self.checkpoint)

    def send(self, line):
        self.socket.sendall(json.dumps(line).encode() + b"\n")


def only_copy(folder):
    name = f"{os.environ['KEIKO_JOB_ID']}.{os.environ['KEIKO_RANK']}"
    lock = open(os.path.join(folder, name), "a")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        with open(os.path.join(folder, "duplicates"), "a") as file:
            file.write(f"{name} attempt {os.environ['KEIKO_ATTEMPT']}\n")
        sys.exit(9)
    return lock


def main():
    folder, program = sys.argv[1], json.loads(sys.argv[2])
    lock = only_copy(folder)
    if program["stubborn"]:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    resumed = int(os.environ.get("KEIKO_RESUME_FROM", "ckpt-0").rpartition("-")[2])
    fails = program["fail_at_ms"] > 0 and os.environ["KEIKO_ATTEMPT"] == "1"
    until = program["fail_at_ms"] if fails else program["run_ms"]
    every = program["checkpoint_ms"] if os.environ["KEIKO_RANK"] == "0" else 0
    beats = {(at, "progress") for at in range(resumed + 1000, until, 1000)}
    beats |= {(at, "checkpoint") for at in range(resumed + every, until, every)} if every else set()
    start, agent = began(), Agent()
    agent.say(type="progress", step=resumed, total_steps=until)
    for at, what in sorted(beats | {(until, "end")}):
        time.sleep(max(0, start + (at - resumed) / 1000 - time.monotonic()))
        if what == "progress":
            agent.say(type="progress", step=at, total_steps=until)
        elif what == "checkpoint":
            agent.say(type="checkpoint", step=at, ref=f"ckpt-{at}")
    if fails:
        print("RuntimeError: planned failure", file=sys.stderr)
    lock.close()
    return 1 if fails else program["exit_code"]


if __name__ == "__main__":
    sys.exit(main())
