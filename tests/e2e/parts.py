"""A pool whose server and agents a test starts one by one, each with a disk, a clock or a user of
its own; and a disk of a few megabytes that can be filled."""
import ctypes
import json
import os
import subprocess
import tempfile
import unittest
import urllib.error
import urllib.request
from pathlib import Path

from harness import KEIKO, Pool, wait_until


class Daemon:
    """One `keiko server` or `keiko agent` with its output in a file."""

    def __init__(self, name, words, environment, folder, **more):
        self.name, self.log = name, Path(folder, name + ".log")
        with self.log.open("a") as out:
            self.process = subprocess.Popen(list(map(str, words)), env=environment, stdout=out,
                                            stderr=out, stdin=subprocess.DEVNULL,
                                            start_new_session=True, **more)
        self.pid = self.process.pid

    def text(self):
        return self.log.read_text(errors="replace")

    def runs(self):
        return self.process.poll() is None

    def wait(self, seconds=20):
        """RETURNS: its exit status, once it has ended by itself."""
        return self.process.wait(seconds * 2)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        if self.runs():
            self.process.terminate()
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.kill()


class Parts(Pool):
    """Nothing runs until serve() and join() are called."""

    def __init__(self):
        super().__init__()
        self.server, self.agents, self.daemons = None, {}, []
        self.environment.update(KEIKO_SERVER=f"127.0.0.1:{self.grpc}", KEIKO_STOP_WORKERS="1")

    def start(self):
        return self

    def launch(self, name, words, environment=None, program=KEIKO, **more):
        """Starts `program WORDS`; `more` goes to Popen()."""
        daemon = Daemon(name, [program, *words], {**self.environment, **(environment or {})},
                        self.folder, **more)
        self.daemons.append(daemon)
        return daemon

    def serve(self, ready=True, name="server", options=(), **more):
        """Starts the server with `options` of its own; with `ready`, waits until it answers."""
        self.server = self.launch(name, ["server", "--state", self.state, "--grpc-port", self.grpc,
                                         "--http-port", self.http, *options], **more)
        if ready:
            wait_until(lambda: self.answers(self.server), 20, "the server answers")
        return self.server

    def answers(self, daemon):
        if not daemon.runs():
            raise AssertionError(f"{daemon.name} ended with {daemon.process.returncode}:\n"
                                 + daemon.text())
        return self.run("version").stdout.count("term ") == 1

    def join(self, name, devices=2, state=None, ready=True, options=(), **more):
        """Starts an agent with `options` of its own; with `ready`, waits until the server counts on
        it."""
        state = state or os.path.join(self.folder, name)
        agent = self.launch(name, ["agent", "--join", f"127.0.0.1:{self.grpc}", "--name", name,
                                   "--state", state, "--address", "127.0.0.1", "--devices",
                                   devices, *options], **more)
        self.agents[name] = agent
        if ready:
            wait_until(lambda: self.node(name).get("connected"), 20, f"{name} has joined")
        return agent

    def node(self, name):
        """RETURNS: the node as `keiko nodes -o json` tells it, {} if it is not there."""
        done = self.run("nodes", "-o", "json")
        told = json.loads(done.stdout) if done.returncode == 0 else []
        nodes = told.get("nodes", []) if isinstance(told, dict) else told
        return next((node for node in nodes if node["name"] == name), {})

    def ask(self, path, body=None):
        """RETURNS: (status, text) of the HTTP gateway's answer."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.http}{path}", data=body and json.dumps(body).encode(),
            headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read().decode()

    def stop(self):
        for agent in self.agents.values():
            agent.stop()
        for daemon in self.daemons:
            daemon.stop()

    def show_logs(self):
        for daemon in self.daemons:
            print(f"--- {daemon.name}\n" + "\n".join(daemon.text().splitlines()[-25:]), flush=True)


class PartsTest(unittest.TestCase):
    """A fresh set of parts for each test."""

    def run(self, result=None):
        before = len(result.failures) + len(result.errors) if result is not None else 0
        self.pool, self.disks = None, []
        outcome = super().run(result)
        failed = result is not None and len(result.failures) + len(result.errors) > before
        if self.pool is not None:
            self.tear_down(failed)
        return outcome

    def setUp(self):
        self.pool = Parts().__enter__()

    def tear_down(self, failed):
        if failed:
            self.pool.show_logs()
        self.pool.stop()
        for disk in self.disks:
            disk.close()
        self.pool.close(check=not failed)


def mount(path, options=""):
    """Mounts a file system in memory on `path`, or raises OSError. mount(8) would want uid 0."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"keiko", os.fsencode(path), b"tmpfs", 0, options.encode()) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(path))


def unmount(path):
    mnt_detach = 2
    ctypes.CDLL(None).umount2(os.fsencode(path), mnt_detach)


class SmallDisk:
    """A file system of `size` in memory, seen by this process and its children alone.
    REQUIRES: enter_mount_namespace() has returned None."""

    def __init__(self, path, size="3m"):
        self.path, self.filler = Path(path), Path(path, "filler")
        self.path.mkdir(parents=True)
        mount(path, f"size={size},mode=755")

    def fill(self):
        """Takes all that is left, to the last block."""
        with self.filler.open("ab", buffering=0) as file:
            for piece in (65536, 4096, 512, 1):
                try:
                    while file.write(b"\0" * piece):
                        pass
                except OSError:
                    pass

    def make_room(self):
        self.filler.unlink()

    def close(self):
        unmount(self.path)


def enter_mount_namespace(argv):
    """Runs this program again in a mount namespace of its own, as root or as a user who may have
    one; in it, returns. RETURNS: why that is not possible, or None."""
    if os.environ.get("KEIKO_E2E_MOUNTS") != str(os.getpid()):
        # The user stays who he is: what keiko keeps in /tmp has the uid in its name.
        flags = ["-m"] if os.getuid() == 0 else ["-Um", "--map-current-user", "--keep-caps"]
        probe = subprocess.run(["unshare", *flags, "true"], text=True, capture_output=True)
        if probe.returncode != 0:
            return probe.stderr.strip()
        os.environ["KEIKO_E2E_MOUNTS"] = str(os.getpid())  # exec keeps the pid
        os.execvp("unshare", ["unshare", *flags, *argv])
    with tempfile.TemporaryDirectory() as folder:
        try:
            mount(folder)
        except OSError as refused:
            return f"a disk cannot be mounted here: {refused}"
        unmount(folder)
    return None
