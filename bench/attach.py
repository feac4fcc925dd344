#!/usr/bin/env python3
"""What the way through the server costs a command in a worker: throughput of `keiko exec ID -- cat`
beside `cat | cat`, and the time a single byte takes there and back. Prints "attach NAME VALUE"."""
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/e2e"))
from harness import KEIKO, Pool  # noqa: E402

SIZE = 200_000_000
ROUNDS = 1000


def throughput(command, environment):
    """RETURNS: MB/s of SIZE bytes through the command's standard streams, its start included."""
    block = os.urandom(1 << 20)
    start = time.monotonic()
    process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)

    def feed():
        for _ in range(SIZE // len(block)):
            process.stdin.write(block)
        process.stdin.close()

    feeder = threading.Thread(target=feed)
    feeder.start()
    count = 0
    while piece := process.stdout.read1(1 << 20):
        count += len(piece)
    feeder.join()
    assert process.wait() == 0 and count == SIZE // len(block) * len(block)
    return count / 1e6 / (time.monotonic() - start)


def echoes(command, environment):
    """RETURNS: sorted milliseconds of single bytes there and back, after the first."""
    process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, bufsize=0)
    times = []
    for _ in range(ROUNDS + 1):
        start = time.monotonic()
        process.stdin.write(b"x")
        assert process.stdout.read(1) == b"x"
        times.append((time.monotonic() - start) * 1e3)
    process.stdin.close()
    assert process.wait() == 0
    return sorted(times[1:])


def main():
    with Pool() as pool:
        job = pool.submit("--", "sleep", "1000")
        pool.wait_job(job, ("RUNNING",))
        execute = [KEIKO, "exec", job, "--", "cat"]
        for run in (1, 2):
            for name, command in (("exec", execute), ("pipe", ["sh", "-c", "cat | cat"])):
                rate = throughput(command, pool.environment)
                print(f"attach run={run} {name}_MB/s {rate:.0f}", flush=True)
                times = echoes(command, pool.environment)
                print(f"attach run={run} {name}_echo_ms p50={times[ROUNDS // 2]:.3f} "
                      f"p99={times[ROUNDS * 99 // 100]:.3f}", flush=True)
        pool.run("cancel", job)
        pool.wait_job(job)


if __name__ == "__main__":
    main()
