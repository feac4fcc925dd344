#!/usr/bin/env python3
"""What the way through the server costs a command in a worker: throughput of `keiko exec ID -- cat`
beside `cat | cat`, the time a single byte takes there and back, and what comes through a forwarded
port and out by `keiko cp`. Prints "attach NAME VALUE"."""
import os
import re
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/e2e"))
from harness import KEIKO, Pool, wait_until  # noqa: E402

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


SOURCE = f"""
import socket, sys, threading
ear = socket.create_server(("127.0.0.1", 0))
print("port", ear.getsockname()[1], flush=True)
while True:
    peer = ear.accept()[0]
    block = b"x" * (1 << 20)
    for _ in range({SIZE} >> 20):
        peer.sendall(block)
    peer.close()
"""


def drained(port):
    """RETURNS: MB/s of what one connection to the port gives, to its end."""
    start, count = time.monotonic(), 0
    with socket.create_connection(("127.0.0.1", port)) as peer:
        while piece := peer.recv(1 << 20):
            count += len(piece)
    assert count == SIZE >> 20 << 20
    return count / 1e6 / (time.monotonic() - start)


def forwards(pool):
    job = pool.submit("--", "/usr/bin/python3", "-c", SOURCE)
    told = wait_until(lambda: re.search(r"port (\d+)", pool.run("logs", job).stdout), 20, "port")
    port = int(told.group(1))
    client = subprocess.Popen([KEIKO, "port-forward", job, f"0:{port}"], text=True,
                              env=pool.environment, stdout=subprocess.PIPE)
    local = int(re.match(r"127\.0\.0\.1:(\d+)", client.stdout.readline()).group(1))
    for run in (1, 2):
        print(f"attach run={run} forward_MB/s {drained(local):.0f} direct {drained(port):.0f}")
    client.terminate()
    client.wait()
    folder = Path(pool.folder)
    (folder / "big").write_bytes(os.urandom(SIZE))
    for run in (1, 2):
        start = time.monotonic()
        assert pool.run("cp", f"{job}:{folder}/big", str(folder / "copy")).returncode == 0
        print(f"attach run={run} cp_MB/s {SIZE / 1e6 / (time.monotonic() - start):.0f}")
    pool.run("cancel", job)
    pool.wait_job(job)


def main():
    with Pool() as pool:
        forwards(pool)
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
