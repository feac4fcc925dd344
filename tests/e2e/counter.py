"""A program with a checkpoint of its own, for tests: counts to TOTAL, adds up what it counts.

usage: counter.py FOLDER TOTAL        until FOLDER/finish exists, if TOTAL is 0

FOLDER/count holds "next sum" and is replaced whole. Each step is also noted in FOLDER/steps with
O_APPEND, and FOLDER/alive is locked while it runs: a second copy that runs at the same time finds
the lock taken and notes that in FOLDER/duplicates.
"""
import fcntl
import os
import sys
import time


def main():
    folder, total = sys.argv[1], int(sys.argv[2])
    lock = open(os.path.join(folder, "alive"), "a")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        with open(os.path.join(folder, "duplicates"), "a") as file:
            file.write(f"attempt {os.environ.get('KEIKO_ATTEMPT')}\n")
        return 9
    state = os.path.join(folder, "count")
    at, added = 0, 0
    if os.path.exists(state):
        with open(state) as file:
            at, added = map(int, file.read().split())
    finish = os.path.join(folder, "finish")
    while at < total or (total == 0 and not os.path.exists(finish)):
        at, added = at + 1, added + at + 1
        with open(state + ".new", "w") as file:
            file.write(f"{at} {added}")
            file.flush()
            os.fsync(file.fileno())
        os.replace(state + ".new", state)
        with open(os.path.join(folder, "steps"), "a") as file:
            file.write(f"{os.getpid()} {at}\n")
        time.sleep(0.02)
    print("sum", added, "of", at, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
