"""A node of the churn test: four fake GPUs, a kernel log and an agent, and all that can befall
them."""
import datetime
import json
import os
import subprocess
import time
from pathlib import Path

from harness import alive

BUILD = Path(os.environ.get("KEIKO_BUILD_DIR", "build/release")).resolve()
MACHINE = Path(__file__).resolve().parent.parent / "fake_nvml/machines/a100x4_pcie.json"
GPUS = 4
DEVICE_GROUPS = Path("/sys/fs/cgroup/devices")
# What a reload of the service manager leaves: everybody's nodes, and no GPU.
RELOADED = ("c *:* m", "c 1:3 rwm", "c 1:5 rwm", "c 1:7 rwm", "c 1:9 rwm", "c 5:0 rwm")


class Node:
    """REQUIRES: `pool` is a Parts whose server runs."""

    def __init__(self, pool, name, digit):
        self.pool, self.name = pool, name
        self.file, self.log = Path(pool.folder, name + ".json"), Path(pool.folder, name + ".kmsg")
        self.resets = Path(pool.folder, name + ".resets")
        self.lines, self.last_event = 0, 0
        base = json.loads(MACHINE.read_text())
        for gpu in base["gpus"]:
            gpu["uuid"] = gpu["uuid"].replace("GPU-a1", f"GPU-{digit}1")
        self.uuids = [gpu["uuid"] for gpu in base["gpus"]]
        self.addresses = [gpu["pci"] for gpu in base["gpus"]]
        self.machine = base
        self.holders = {}  # {index: the orphan that holds its memory}
        for gpu in base["gpus"]:
            gpu.update(lost=False, processes=[], throttle=1, ecc=dict(base["defaults"]["ecc"]))
        self.log.touch()
        self.program = Path(pool.folder, name + "-reset")
        self.program.write_text(f"#!/bin/sh\necho $(date +%s.%N) $KEIKO_DEVICE_UUID "
                                f">> {self.resets}\n")
        self.program.chmod(0o755)
        self.show()

    def gpu(self, index):
        return self.machine["gpus"][index]

    def show(self):
        """What the fake library shows changes, whole or not at all."""
        half = self.file.with_suffix(".half")
        half.write_text(json.dumps(self.machine))
        half.rename(self.file)

    def join(self, ready=True):
        checks = Path(self.pool.folder, "checks.d")
        checks.mkdir(exist_ok=True)
        self.agent = self.pool.join(
            self.name, "nvml", ready=ready,
            options=["--kernel-log", self.log, "--checks-dir", checks, "--retest-after", "2s",
                     "--reset-program", self.program, "--cpu-milli", 8000],
            environment={"LD_LIBRARY_PATH": str(BUILD / "fake_nvml"),
                         "KEIKO_FAKE_NVML": str(self.file)})

    # What befalls it

    def xid(self, index, number, told_by_library=True):
        """The driver tells of a fault, in the kernel's log and as a rule by its library too.
        RETURNS: when."""
        self.lines += 1
        now_us = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        address = self.addresses[index].rpartition(".")[0]
        with self.log.open("a") as log:
            log.write(f"3,{self.lines},{now_us},-;NVRM: Xid (PCI:{address}): {number}, "
                      f"pid='<unknown>', name=<unknown>, churn\n")
        told = time.time()
        if told_by_library:
            self.last_event += 1
            self.machine["events"] = self.machine["events"][-20:] + [
                {"id": self.last_event, "uuid": self.uuids[index], "xid": number}]
            self.show()
        return told

    def memory_error(self, index):
        for name in ("uncorrected_volatile", "uncorrected_aggregate"):
            self.gpu(index)["ecc"][name] += 1
        self.show()

    def heat(self, index, hot):
        hardware_thermal = 0x40
        self.gpu(index)["throttle"] = hardware_thermal if hot else 1
        self.show()

    def vanish(self, index, lost):
        self.gpu(index)["lost"] = lost
        self.show()

    def orphan(self, index):
        """A process that nobody owns holds the GPU's memory."""
        if index in self.holders:
            return
        holder = subprocess.Popen(["sleep", "600"], cwd="/", start_new_session=True)
        self.holders[index] = holder
        self.gpu(index)["processes"] = [
            {"pid": holder.pid, "memory_mib": 30000, "kind": "compute"}]
        self.show()

    def end_orphan(self, index):
        holder = self.holders.pop(index, None)
        if holder is None:
            return
        holder.kill()
        holder.wait()
        self.gpu(index)["processes"] = []
        self.show()

    def heal(self):
        """Whatever was done to the machine is undone; what follows is the pool's matter."""
        for index in range(GPUS):
            self.end_orphan(index)
            self.gpu(index).update(lost=False, throttle=1)
        self.show()

    # What is known of it

    def ill(self):
        """RETURNS: what its health says of it, by kind and name."""
        return self.pool.node(self.name).get("health", [])

    def cured_times(self, uuid):
        """RETURNS: when the GPU was reset, and when it passed a re-test."""
        rows = self.resets.read_text().splitlines() if self.resets.exists() else []
        times = [float(row.split()[0]) for row in rows if row.endswith(" " + uuid)]
        for line in self.agent.text().splitlines():
            if " checked kind=retest " in line and uuid in line and "passed=yes" in line:
                at = datetime.datetime.fromisoformat(line.split()[0].rstrip("Z"))
                times.append(at.replace(tzinfo=datetime.timezone.utc).timestamp())
        return times


class Rules:
    """Device rules of one worker's group, which somebody else rewrites."""

    def __init__(self, pid):
        self.pid, self.group, self.before = pid, None, None
        try:
            lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
        except OSError:
            return
        for line in lines:
            _, controllers, path = line.split(":", 2)
            if controllers == "devices" and "/keiko/" in path:
                self.group = DEVICE_GROUPS / path.lstrip("/")
        self.before = self.read()

    @staticmethod
    def why_not():
        """RETURNS: why rules cannot be rewritten on this machine, or None."""
        if not DEVICE_GROUPS.is_dir():
            return "no devices controller of cgroup version 1 is mounted"
        if not os.access(DEVICE_GROUPS / "devices.deny", os.W_OK):
            return "only root may rewrite device rules"
        return None

    def read(self):
        try:
            return sorted((self.group / "devices.list").read_text().splitlines())
        except (OSError, TypeError):
            return None

    def rewrite(self):
        """RETURNS: whether there was something to rewrite."""
        if not self.before or self.before == ["a *:* rwm"]:
            return False
        try:
            (self.group / "devices.deny").write_text("a")
            for rule in RELOADED:
                (self.group / "devices.allow").write_text(rule)
        except OSError:
            return False  # the worker has ended
        return self.read() not in (None, self.before)

    def are_back(self):
        """RETURNS: whether they are as they were, or nobody is there for whom they would matter."""
        return not alive(self.pid) or self.read() in (None, self.before)
