"""The pool that a scenario file asks for, as processes that can each be killed and cut off.

One `keiko server`, one `keiko agent` a machine, started by hand instead of by `keiko up` so that
nobody starts again what a scenario has killed. Agents and clients reach the server through a Link:
it can be cut, and it leads to the server of the day, which takes a new port at each start.
"""
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path

from harness import KEIKO, PATIENCE, Pool, processes_of, wait_until


class Link:
    """A TCP proxy on loopback. While it is cut nothing passes and nothing is refused: connections
    stay open and say nothing, new ones are let in and say nothing, as on a network that is gone.
    What was on its way is delivered, late, when it is whole again."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.target = None
        self.closed = False
        self.whole = threading.Event()
        self.whole.set()
        self.sockets = set()
        threading.Thread(target=self.accept, daemon=True).start()

    def cut(self):
        self.whole.clear()

    def mend(self):
        self.whole.set()

    def close(self):
        self.closed = True
        self.mend()
        for one in [self.listener, *list(self.sockets)]:
            self.hang_up(one)

    def accept(self):
        while not self.closed:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.join, args=(near,), daemon=True).start()

    def join(self, near):
        self.sockets.add(near)
        self.whole.wait()
        try:
            far = socket.create_connection(("127.0.0.1", self.target), timeout=5)
            far.settimeout(None)
        except (OSError, TypeError):  # there is no server now
            return self.hang_up(near)
        self.sockets.add(far)
        threading.Thread(target=self.pump, args=(near, far), daemon=True).start()
        self.pump(far, near)

    def pump(self, source, sink):
        try:
            while data := source.recv(65536):
                self.whole.wait()
                sink.sendall(data)
        except OSError:
            pass
        self.whole.wait()
        self.hang_up(source)
        self.hang_up(sink)

    def hang_up(self, one):
        self.sockets.discard(one)
        try:
            one.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        one.close()


class ScenarioPool(Pool):
    """`machines`: as `keiko sim scenario --json` gives them."""

    def __init__(self, machines):
        super().__init__(nodes=len(machines))
        self.machines = {machine["name"]: machine for machine in machines}
        self.front = Link()
        self.links = {name: Link() for name in self.machines}
        self.environment["KEIKO_SERVER"] = self.front.address
        self.server, self.agents, self.follower = None, {}, None
        self.events_path = os.path.join(self.folder, "events.json")

    def start(self):
        self.start_server()
        for name in self.machines:  # one after the other, so that ids follow names
            self.start_agent(name)
            wait_until(lambda n=name: self.has_joined(n), 20, f"{name} is READY")
        with open(self.events_path, "w") as out:
            self.follower = self.spawn("follower", ["events", "-f", "-o", "json"], out)
        wait_until(self.events, 20, "the events are followed")
        return self

    def spawn(self, log, words, out=None, **variables):
        """RETURNS: the process of `keiko WORDS`; what it says goes to LOG.log."""
        with open(os.path.join(self.folder, log + ".log"), "a") as said:
            return subprocess.Popen([KEIKO, *words], env=dict(self.environment, **variables),
                                    stdout=out or said, stderr=said, stdin=subprocess.DEVNULL,
                                    cwd=self.folder, start_new_session=True)

    # ---- processes, and what befalls them ----

    def start_server(self):
        log = Path(self.folder, "server.log")
        before = log.stat().st_size if log.exists() else 0
        self.server = self.spawn("server", ["server", "--state", self.state, "--grpc-port", "0",
                                            "--http-port", "0"])
        pattern = re.compile(r"gRPC on [^ ]*:(\d+), HTTP on [^ ]*:(\d+)")
        found = wait_until(lambda: pattern.search(log.read_text()[before:]), 20, "a server")
        self.http = int(found.group(2))
        for link in [self.front, *self.links.values()]:
            link.target = int(found.group(1))

    def crash_server(self):
        for link in [self.front, *self.links.values()]:
            link.target = None
        self.kill_now(self.server.pid)
        self.server.wait()

    def start_agent(self, name):
        machine, state = self.machines[name], os.path.join(self.folder, name)
        os.makedirs(state, exist_ok=True)
        words = ["agent", "--join", self.links[name].address, "--name", name, "--state", state,
                 "--address", "127.0.0.1", "--devices", str(machine["devices"]),
                 "--device-memory", "%dB" % machine.get("device_memory_bytes", 1 << 30),
                 "--memory", "%dB" % machine["memory_bytes"],
                 "--cpu-milli", str(machine["cpu_milli"])]
        self.agents[name] = self.spawn(name, words, KEIKO_STOP_WORKERS="1",
                                       KEIKO_SCENARIO_MACHINE=state + "/")

    def has_joined(self, name):
        if self.agents[name].poll() is not None:
            raise AssertionError(f"the agent of {name} ended:\n{self.tails()}")
        return self.node(name).get("status") == "READY"

    def crash_agent(self, name):
        self.kill_now(self.agents[name].pid)
        self.agents[name].wait()

    def crash_machine(self, name):
        """The agent first, so that it tells nobody; then its shims and their workers."""
        self.crash_agent(name)
        while rest := processes_of(os.path.join(self.folder, name) + "/"):
            for pid in rest:
                self.kill_now(pid)

    def kill_now(self, pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    # ---- what a client sees ----

    def get(self, path):
        """RETURNS: the answer of the server's HTTP door; {} while it is away."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.http}{path}", timeout=5) as answer:
                return json.load(answer)
        except (urllib.error.URLError, OSError, ValueError):
            return {}

    def job(self, job):
        return self.get(f"/v1/jobs/{job}")

    def node(self, name):
        nodes = self.get("/v1/nodes").get("nodes", [])
        return next((node for node in nodes if node["name"] == name), {})

    def events(self):
        """RETURNS: all events that were followed so far, oldest first."""
        lines = Path(self.events_path).read_text(errors="replace").split("\n")[:-1]
        return [json.loads(line) for line in lines]

    # ---- the end ----

    def show_logs(self):
        print(self.tails(25), file=sys.stderr)

    def tails(self, lines=12):
        texts = []
        for path in sorted(Path(self.folder).glob("*.log")):
            tail = path.read_text(errors="replace").splitlines()[-lines:]
            texts += [f"--- {path.name}", *tail]
        return "\n".join(texts)

    def stop(self):
        """Agents first: they take their workers along."""
        for link in self.links.values():
            link.mend()
        for process in [*self.agents.values(), self.follower, self.server]:
            if process is None or process.poll() is not None:
                continue
            process.terminate()
            try:
                process.wait(10 * PATIENCE)
            except subprocess.TimeoutExpired:
                self.kill_now(process.pid)
                process.wait()

    def close(self, check=True):
        try:
            super().close(check)
        finally:
            for link in [self.front, *self.links.values()]:
                link.close()
