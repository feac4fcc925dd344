"""What a worker of the churn test runs: it holds its GPUs and its rank so that a second holder
would be seen, says when it began, and ends as it was told.

usage: churn_program.py FOLDER SECONDS EXIT_CODE

FOLDER/locks has a file for each GPU and each rank; FOLDER/begun a line of JSON for each start;
FOLDER/twice a line for whatever was held already. A gang waits until all its ranks have begun.
"""
import fcntl
import json
import os
import sys
import time
from pathlib import Path

GANG_SECONDS = 60  # beyond a slow machine's worst, below the patience of the test
HELD_TWICE, ALONE = 99, 98


def began():
    """RETURNS: when this process was started, by the wall clock; Python came later."""
    with open("/proc/self/stat") as file:
        ticks = int(file.read().rpartition(")")[2].split()[19])
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    return time.time() - age


def note(path, line):
    """One write, so that lines of several workers stay whole."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.write(file, line.encode() + b"\n")
    os.close(file)


def hold(folder, name):
    lock = os.open(folder / "locks" / name, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # held until this process ends
    except OSError:
        note(folder / "twice", f"{name} by {os.environ['KEIKO_JOB_ID']}, pid {os.getpid()}")
        sys.exit(HELD_TWICE)


def wait_for_gang(folder, name, world):
    """Comes back once `world` ranks of this attempt have said that they are there."""
    here = folder / "gangs" / name
    here.mkdir(parents=True, exist_ok=True)
    (here / os.environ["KEIKO_RANK"]).touch()
    end = time.monotonic() + GANG_SECONDS
    while len(list(here.iterdir())) < world:
        if time.monotonic() > end:
            sys.exit(ALONE)
        time.sleep(0.02)


def main():
    folder, seconds, code = Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    job, rank = os.environ["KEIKO_JOB_ID"], os.environ["KEIKO_RANK"]
    gpus = [uuid for uuid in os.environ["CUDA_VISIBLE_DEVICES"].split(",") if uuid]
    note(folder / "begun", json.dumps({
        "at": began(), "job": job, "rank": int(rank), "attempt": int(os.environ["KEIKO_ATTEMPT"]),
        "node": os.environ["KEIKO_NODE"], "gpus": gpus, "pid": os.getpid()}))
    for uuid in gpus:
        hold(folder, uuid)
    hold(folder, f"{job}.{rank}")
    world = int(os.environ["WORLD_SIZE"])
    if world > 1:
        wait_for_gang(folder, f"{job}.{os.environ['KEIKO_ATTEMPT']}", world)
    time.sleep(seconds)
    sys.exit(code)


main()
