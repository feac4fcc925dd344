"""From a fault's line in the kernel's log to the server's device being out of scheduling.

A pool of one node with four GPUs of the fake management library. A line of XID 95 goes into its
kernel's log at a random moment; the server is asked every 5 ms whether the GPU takes work.
"""
import json
import random
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests/e2e"))
from churn_node import GPUS, Node  # noqa: E402
from harness import wait_until  # noqa: E402
from parts import Parts  # noqa: E402

ROUNDS = 60
UNCONTAINED = 95


def is_out(pool, node, uuid):
    status, text = pool.ask(f"/v1/nodes/{node.name}")
    assert status == 200, text
    told = json.loads(text)
    told = told.get("node", told)
    return any(one.get("name") == uuid and one.get("quarantined") for one in told.get("health", []))


def measure(pool, node, index, told_by_library):
    uuid = node.uuids[index]
    begun = time.monotonic()
    node.xid(index, UNCONTAINED, told_by_library)
    while not is_out(pool, node, uuid):
        if time.monotonic() > begun + 20:
            raise AssertionError("the GPU was not taken out of scheduling within 20 s")
        time.sleep(0.005)
    took = time.monotonic() - begun
    pool.run("clear", f"{node.name}/{index}", "--reason", "bench")
    wait_until(lambda: not is_out(pool, node, uuid), 10, "it is cleared")
    time.sleep(random.uniform(0, 1))
    return took


def main():
    with Parts() as pool:
        pool.serve()
        node = Node(pool, "n1", "a")
        node.program.write_text("#!/bin/sh\nexit 1\n")  # only the bench ends what it began
        node.join()
        for name, by_library in (("line alone", False), ("line and library", True)):
            times = sorted(measure(pool, node, i % GPUS, by_library) for i in range(ROUNDS))
            print(f"{name}: of {ROUNDS} p50 {statistics.median(times) * 1000:.0f} ms, "
                  f"max {times[-1] * 1000:.0f} ms", flush=True)


main()
