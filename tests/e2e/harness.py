"""What the end-to-end tests share: a pool of their own on this machine, and the command line.

A test gets a Pool with its own state directory and ports, talks to it through the binaries in
KEIKO_BIN_DIR as a user would, and at the end nothing may be left: no process that
belongs to the pool, and no folder.
"""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("KEIKO_BIN_DIR") or ROOT / "build/release/bin").resolve()
KEIKO = str(BIN / "keiko")
TRAIN = str(BIN / "keiko-train")
PYTHON = "/usr/bin/python3"
MARKER = "KEIKO_E2E_POOL"
# How many times longer than usual a thing may take here; the sanitizer presets raise it.
PATIENCE = float(os.environ.get("KEIKO_PATIENCE") or 2)
# "address" or "thread" under the sanitizer presets.
SANITIZER = os.environ.get("KEIKO_SANITIZER", "")


def skip_script(reason):
    """Ends this test program as skipped; ctest shows the reason."""
    print(f"SKIPPED: {reason}", flush=True)
    sys.exit(77)


def need(path, remedy):
    if not os.path.exists(path):
        skip_script(f"{path} is not there; {remedy}")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(condition, seconds=20, what="condition"):
    """Polls until `condition()` gives something true and returns it. The patience is for machines
    that are busy with other things; it costs nothing where they are not."""
    seconds *= PATIENCE
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {seconds} s")
        time.sleep(0.02)


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def processes_of(folder):
    """RETURNS: {pid: command line} of living processes that belong to the pool in `folder`: they
    name it in their environment, or they work in it."""
    wanted, found = folder.encode(), {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            with open(f"/proc/{entry}/environ", "rb") as file:
                ours = wanted in file.read()
            ours = ours or os.readlink(f"/proc/{entry}/cwd").startswith(folder)
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                command = file.read().replace(b"\0", b" ").decode(errors="replace").strip()
        except OSError:
            continue
        if ours and alive(int(entry)):
            found[int(entry)] = command
    return found


class Pool:
    """`keiko up` with a state directory of its own."""

    def __init__(self, nodes=1, devices=2, options=()):
        self.folder = tempfile.mkdtemp(prefix="keiko-e2e-")
        self.state = os.path.join(self.folder, "state")
        self.nodes, self.devices, self.options = nodes, devices, list(options)
        self.grpc, self.http = free_port(), free_port()
        self.environment = dict(os.environ, KEIKO_STATE=self.state, NO_COLOR="1",
                                **{MARKER: self.folder})
        self.environment.pop("KEIKO_SERVER", None)
        self.reports = os.path.join(self.folder, "sanitizer")
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS"):
            self.environment[name] = f"{os.environ.get(name, '')}:log_path={self.reports}"
        self.supervisor = None
        self.log = os.path.join(self.folder, "up.out")

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            self.close(check=False)
            raise

    def __exit__(self, kind, value, trace):
        if kind is not None:
            self.show_logs()
        self.close(check=kind is None)

    def start(self):
        command = [KEIKO, "up", "--state", self.state, "--nodes", str(self.nodes),
                   "--devices-per-node", str(self.devices), "--grpc-port", str(self.grpc),
                   "--http-port", str(self.http), *self.options]
        with open(self.log, "a") as log:
            self.supervisor = subprocess.Popen(command, env=self.environment, stdout=log,
                                               stderr=log, stdin=subprocess.DEVNULL,
                                               start_new_session=True)
        wait_until(self.is_ready, 30, "keiko up is ready")
        return self

    def is_ready(self):
        if self.supervisor.poll() is not None:
            raise AssertionError(f"keiko up ended with {self.supervisor.returncode}:\n"
                                 + Path(self.log).read_text())
        record = self.record()
        return (record.get("ready") and self.pids().get("supervisor") == self.supervisor.pid
                and record)

    def record(self):
        try:
            return json.loads(Path(self.state, "up.json").read_text())
        except (OSError, ValueError):
            return {}

    def pids(self):
        """RETURNS: {"supervisor": pid, "server": pid, "node1": pid, ...}."""
        return {row["name"]: row["pid"] for row in self.record().get("processes", [])}

    def kill(self, name):
        """SIGKILL to one process of the pool; waits until it is gone. RETURNS: its pid."""
        pid = self.pids()[name]
        os.kill(pid, signal.SIGKILL)
        if name == "supervisor":
            self.supervisor.wait()
        wait_until(lambda: not alive(pid), 5, f"{name} is dead")
        return pid

    def run(self, *words, timeout=50, **more):
        """RETURNS: the finished `keiko WORDS`, with text in stdout and stderr."""
        return subprocess.run([KEIKO, *map(str, words)], env=self.environment, text=True,
                              capture_output=True, timeout=timeout * PATIENCE,
                              stdin=subprocess.DEVNULL, cwd=self.folder, **more)

    def open(self, *words):
        return subprocess.Popen([KEIKO, *map(str, words)], env=self.environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                stdin=subprocess.DEVNULL, cwd=self.folder)

    def submit(self, *words):
        """RETURNS: the id ("j3") of `keiko submit WORDS`."""
        done = self.run("submit", *words)
        found = re.search(r"\bj\d+\b", done.stdout)
        assert done.returncode == 0 and found, f"submit: {done.stdout}{done.stderr}"
        return found.group()

    def job(self, job):
        """RETURNS: the job as `keiko job ID -o json` tells it; {} while the server is away."""
        done = self.run("job", job, "-o", "json")
        if done.returncode != 0:
            return {}
        value = json.loads(done.stdout)
        return value[0] if isinstance(value, list) else value

    def wait_job(self, job, statuses=("COMPLETED", "FAILED", "CANCELLED"), seconds=60):
        def reached():
            told = self.job(job)
            return told if told.get("status") in statuses else None
        return wait_until(reached, seconds, f"{job} is {' or '.join(statuses)}")

    def show_logs(self):
        for path in [Path(self.log), *sorted(Path(self.state, "logs").glob("*.log"))]:
            if path.exists():
                tail = path.read_text(errors="replace").splitlines()[-25:]
                print(f"--- {path.name}\n" + "\n".join(tail), file=sys.stderr)

    def sanitizer_reports(self):
        """RETURNS: what a sanitizer found in any process of the pool. Nobody else would see it:
        a daemon that it ends is started again."""
        return "\n".join(path.read_text(errors="replace")
                         for path in sorted(Path(self.folder).glob("sanitizer.*")))

    def stop(self):
        if self.supervisor is not None and self.supervisor.poll() is None:
            self.supervisor.terminate()
            try:
                self.supervisor.wait(30 * PATIENCE)
            except subprocess.TimeoutExpired:
                pass

    def close(self, check=True):
        self.stop()
        left = {}
        if check:
            deadline = time.monotonic() + 5 * PATIENCE
            while (left := processes_of(self.folder)) and time.monotonic() < deadline:
                time.sleep(0.05)
        for _ in range(50):  # whatever it is, it must not outlive the test
            rest = processes_of(self.folder)
            if not rest:
                break
            for pid in rest:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.02)
        if left:
            self.show_logs()
        found = self.sanitizer_reports()
        shutil.rmtree(self.folder, ignore_errors=True)
        assert not left, f"left behind: {left}"
        assert not found, f"a sanitizer found:\n{found}"


class PoolTest(unittest.TestCase):
    """One pool for all tests of a class."""
    nodes, devices, options = 1, 2, ()

    @classmethod
    def setUpClass(cls):
        need(KEIKO, "build it with ./dev build, or set KEIKO_BIN_DIR")
        cls.pool = Pool(cls.nodes, cls.devices, cls.options).__enter__()
        cls.broken = False

    @classmethod
    def tearDownClass(cls):
        if cls.broken:
            cls.pool.show_logs()
        cls.pool.close(check=not cls.broken)

    def run(self, result=None):
        before = len(result.failures) + len(result.errors) if result is not None else 0
        outcome = super().run(result)
        if result is not None and len(result.failures) + len(result.errors) > before:
            type(self).broken = True
        return outcome

    def file(self, name, text):
        path = os.path.join(self.pool.folder, name)
        Path(path).write_text(text)
        return path
