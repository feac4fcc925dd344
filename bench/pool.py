#!/usr/bin/env python3
"""What a pool of one node costs a job: submit to the program's first instruction, and `true` jobs
from submit to end per second, with durable SQLite, real processes and the HTTP API.

bench/pool.sh runs it. The floor beside each figure is the same program started by this process
alone, without a pool, in the same run.
"""
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

KEIKO = os.environ.get("KEIKO_BIN_DIR", "build/release/bin") + "/keiko"
CLOCK = ["/usr/bin/date", "+%s%N"]


class Api:
    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def ask(self, method, path, body=None):
        self.connection.request(method, path, body=json.dumps(body) if body else None,
                                headers={"Content-Type": "application/json"} if body else {})
        answer = self.connection.getresponse()
        text = answer.read().decode()
        if answer.status >= 300:
            raise SystemExit(f"pool: {method} {path}: {answer.status} {text}")
        return text

    def submit(self, command):
        spec = {"command": command, "cpu_milli": 10}
        return json.loads(self.ask("POST", "/v1/jobs", {"spec": spec}))["job"]

    def job(self, name):
        return json.loads(self.ask("GET", f"/v1/jobs/{name}"))

    def wait(self, name):
        while self.job(name)["status"] not in ("COMPLETED", "FAILED"):
            time.sleep(0.002)


def spread(values):
    values = sorted(values)
    return statistics.median(values), values[int(len(values) * 0.99)]


def first_instruction(api, runs, folder):
    took = []
    for run in range(runs):
        path = f"{folder}/clock.{run}"
        start = time.time_ns()
        name = api.submit(["/bin/sh", "-c", f"exec {' '.join(CLOCK)} >{path}"])
        api.wait(name)
        with open(path) as file:
            took.append((int(file.read()) - start) / 1e6)
    return spread(took)


def bare_first_instruction(runs):
    took = []
    for _ in range(runs):
        start = time.time_ns()
        said = subprocess.run(["/bin/sh", "-c", f"exec {' '.join(CLOCK)}"], capture_output=True)
        took.append((int(said.stdout) - start) / 1e6)
    return spread(took)


def true_jobs(api, count):
    start = time.monotonic()
    names = [api.submit(["/bin/true"]) for _ in range(count)]
    submitted = time.monotonic() - start
    for name in names[::-1]:
        api.wait(name)
    return count / (time.monotonic() - start), count / submitted


def bare_true(count):
    start = time.monotonic()
    for _ in range(count):
        subprocess.run(["/bin/true"])
    return count / (time.monotonic() - start)


def main():
    runs = int(os.environ.get("RUNS", "60"))
    count = int(os.environ.get("JOBS", "500"))
    with tempfile.TemporaryDirectory(prefix="keiko-bench-") as folder:
        state = f"{folder}/state"
        pool = subprocess.Popen([KEIKO, "up", "--state", state, "--nodes", "1", "--grpc-port", "0",
                                 "--http-port", "0"], stdout=subprocess.DEVNULL)
        try:
            measure(state, folder, runs, count)
        finally:
            pool.terminate()
            pool.wait(60)


def wait_ready(state):
    for _ in range(600):
        try:
            with open(f"{state}/up.json") as file:
                if json.load(file).get("ready"):
                    break
        except (OSError, ValueError):
            pass
        time.sleep(0.05)
    else:
        raise SystemExit("pool: keiko up did not come up")
    with open(f"{state}/server.json") as file:
        return int(json.load(file)["http"].rsplit(":", 1)[1])


def measure(state, folder, runs, count):
    api = Api(wait_ready(state))
    first_instruction(api, 5, folder)  # pages and caches
    print(f"load when it began: {os.getloadavg()[0]:.1f}")
    middle, high = first_instruction(api, runs, folder)
    floor, floor_high = bare_first_instruction(runs)
    print(f"submit to first instruction: p50 {middle:.1f} ms, p99 {high:.1f} ms "
          f"(bare spawn {floor:.1f} / {floor_high:.1f} ms)")
    rate, submits = true_jobs(api, count)
    print(f"true jobs, submit to end: {rate:.0f}/s of {count} (submits alone {submits:.0f}/s, "
          f"bare spawn and wait {bare_true(count):.0f}/s)")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
