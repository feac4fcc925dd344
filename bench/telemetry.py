#!/usr/bin/env python3
"""CPU and memory that telemetry costs an agent: two agents with the 8 GPUs of the fake management
library, one after the other, equal but for --sample-every. The difference is telemetry: sampling of
GPUs, machine, network and workers, the past in its rings, and a scrape every 5 s.

The library answers from memory, so a real driver's own time comes on top. bench/telemetry.sh runs
it.
"""
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

KEIKO = os.environ.get("KEIKO_BIN_DIR", "build/release/bin") + "/keiko"
BUILD = Path(os.environ.get("KEIKO_BUILD_DIR", "build/release")).resolve()
MACHINE = Path("tests/fake_nvml/machines/h100x8_nvswitch.json").resolve()
SECONDS = int(os.environ.get("SECONDS_EACH", "30"))
TICK = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid):
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(words[11]) + int(words[12])) / TICK


def resident_kb(pid):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise SystemExit("telemetry: the agent is gone")


def await_file(path, process):
    for _ in range(1000):
        if path.exists():
            return path.read_text().strip()
        if process.poll() is not None:
            break
        time.sleep(0.02)
    raise SystemExit(f"telemetry: {path} did not come")


def scrape(address):
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=20) as answer:
        return answer.read()


def measure(folder, server, every):
    """RETURNS: CPU as a share of a core, RSS in KiB at the end, bytes of a page."""
    state = Path(folder, f"agent-{every}")
    machine = Path(folder, "machine.json")
    machine.write_text(json.dumps({"base": str(MACHINE), "edits": []}))
    environment = dict(os.environ, KEIKO_FAKE_NVML=str(machine))
    shown = [] if every == "0" else ["--metrics-port", "0"]
    agent = subprocess.Popen(
        [KEIKO, "agent", "--join", server, "--name", f"a{every}", "--state", str(state),
         "--address", "127.0.0.1", "--devices", "nvml", "--nvml-library",
         str(BUILD / "fake_nvml/libnvidia-ml.so.1"), "--kernel-log", "none",
         "--sample-every", every, *shown],
        env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        address = await_file(state / "metrics", agent) if shown else None
        time.sleep(3)
        began, cpu = time.monotonic(), cpu_seconds(agent.pid)
        page = 0
        while time.monotonic() - began < SECONDS:
            time.sleep(5)
            page = len(scrape(address)) if address else 0
        share = (cpu_seconds(agent.pid) - cpu) / (time.monotonic() - began)
        return share, resident_kb(agent.pid), page
    finally:
        agent.terminate()
        agent.wait(30)


def main():
    with tempfile.TemporaryDirectory(prefix="keiko-bench-") as folder:
        state = Path(folder, "server")
        server = subprocess.Popen([KEIKO, "server", "--state", str(state), "--grpc-port", "0",
                                   "--http-port", "0"], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        try:
            address = json.loads(await_file(state / "server.json", server))["grpc"]
            without = measure(folder, address, "0")
            measured = measure(folder, address, "1s")
        finally:
            server.terminate()
            server.wait(30)
    print(f"{'agent with 8 GPUs':<28}{'CPU of a core':>14}{'RSS':>12}")
    print(f"{'without telemetry':<28}{without[0]:>13.2%} {without[1] / 1024:>7.1f} MiB")
    print(f"{'sampling every second':<28}{measured[0]:>13.2%} {measured[1] / 1024:>7.1f} MiB")
    print(f"{'telemetry':<28}{measured[0] - without[0]:>13.2%} "
          f"{(measured[1] - without[1]) / 1024:>7.1f} MiB   (bars: 1 %, 30 MB)")
    print(f"a page of /metrics: {measured[2] / 1024:.0f} KiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
