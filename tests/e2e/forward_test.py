"""Ports of a running worker on this machine, through the server: what a browser or a notebook does
works as beside the program, and one connection that fails or stands still harms no other."""
import concurrent.futures
import hashlib
import os
import queue
import re
import signal
import socket
import subprocess
import threading
import time
import unittest
import urllib.request
from pathlib import Path

from harness import KEIKO, PATIENCE, PYTHON, need, wait_until
from parts import PartsTest

SIZE = 5_000_000

# An HTTP server, a port that answers with the digest of all it got once its input has ended, one
# that never reads, and one that cuts its connections off.
PROGRAM = f'''
import hashlib, os, socket, struct, sys, threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
def listen(name, serve):
    ear = socket.create_server(("127.0.0.1", 0), backlog=64)
    def accept():
        while True:
            threading.Thread(target=serve, args=(ear.accept()[0],), daemon=True).start()
    threading.Thread(target=accept, daemon=True).start()
    return ear.getsockname()[1]
def digest(peer):
    whole = hashlib.sha256()
    while piece := peer.recv(65536):
        whole.update(piece)
    peer.sendall(whole.hexdigest().encode())
    peer.close()
def cut(peer):
    peer.recv(1)
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    peer.close()
kept = []
folder = sys.argv[1]
http = ThreadingHTTPServer(("127.0.0.1", 0), type("Quiet", (SimpleHTTPRequestHandler,), {{
    "__init__": lambda self, *a: SimpleHTTPRequestHandler.__init__(self, *a, directory=folder),
    "log_message": lambda *a: None, "protocol_version": "HTTP/1.1"}}))
ports = [http.server_port, listen("digest", digest), listen("deaf", kept.append),
         listen("cut", cut)]
free = socket.create_server(("127.0.0.1", 0))
ports.append(free.getsockname()[1])
free.close()
open(folder + "/ports.new", "w").write(" ".join(map(str, ports)))
os.rename(folder + "/ports.new", folder + "/ports")
http.serve_forever()
'''


class ForwardTest(PartsTest):
    def setUp(self):
        super().setUp()
        self.pool.serve()
        self.pool.join("n1")
        self.clients = []
        self.addCleanup(self.end_clients)
        program = self.path("program.py")
        Path(program).write_text(PROGRAM)
        self.data = os.urandom(SIZE)
        Path(self.path("page.bin")).write_bytes(self.data)
        self.job = self.pool.submit("--restarts", "0", "--", PYTHON, program, self.pool.folder)
        wait_until(lambda: os.path.exists(self.path("ports")), 20, "the program listens")
        names = ("http", "digest", "deaf", "cut", "nobody")
        self.ports = dict(zip(names, map(int, Path(self.path("ports")).read_text().split())))

    def end_clients(self):
        for client in self.clients:
            if client.poll() is None:
                client.kill()
            client.wait()
            client.stdout.close()
            client.stderr.close()

    def path(self, name):
        return os.path.join(self.pool.folder, name)

    def forward(self, *names):
        """RETURNS: the client and the local port of each."""
        words = [f"0:{self.ports[name]}" for name in names]
        client = subprocess.Popen([KEIKO, "port-forward", self.job, *words],
                                  env=self.pool.environment, cwd=self.pool.folder,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        self.clients.append(client)
        lines = queue.Queue()
        client.lines = lines
        threading.Thread(target=lambda: [lines.put(line) for line in client.stderr],
                         daemon=True).start()
        found = []
        for name in names:
            line = client.stdout.readline()
            told = re.match(r"127\.0\.0\.1:(\d+) -> port (\d+) of (j\d+) rank 0$", line)
            self.assertTrue(told, line)
            self.assertEqual(told.group(2, 3), (str(self.ports[name]), self.job))
            found.append(int(told.group(1)))
        return client, *found

    def get(self, port):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/page.bin", timeout=60) as answer:
            return answer.read()

    def check_digest(self, port, data=None):
        data = self.data if data is None else data
        with socket.create_connection(("127.0.0.1", port), timeout=60) as peer:
            peer.sendall(data)
            peer.shutdown(socket.SHUT_WR)
            text = b""
            while piece := peer.recv(4096):
                text += piece
        self.assertEqual(text.decode(), hashlib.sha256(data).hexdigest())

    def leave(self, client):
        client.send_signal(signal.SIGINT)
        self.assertEqual(client.wait(20 * PATIENCE), 130)


class Connections(ForwardTest):
    def test_one_after_the_other_they_may_be_any_number(self):
        client, port = self.forward("digest")
        for number in range(260):  # a node has 256 at a time
            self.check_digest(port, str(number).encode())
        self.leave(client)

    def test_many_connections_at_once_get_what_the_server_in_the_worker_serves(self):
        client, port = self.forward("http")
        with concurrent.futures.ThreadPoolExecutor(20) as many:
            for got in many.map(lambda _: self.get(port), range(40)):
                self.assertEqual(hashlib.sha256(got).digest(), hashlib.sha256(self.data).digest())
        self.leave(client)
        with self.assertRaises(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=10)
        self.assertEqual(self.pool.job(self.job)["status"], "RUNNING")

    def test_a_direction_that_ends_leaves_the_other_open(self):
        client, port = self.forward("digest")
        self.check_digest(port)
        self.leave(client)

    def test_a_worker_that_does_not_read_stops_its_own_sender_alone(self):
        client, deaf, port = self.forward("deaf", "digest")
        with socket.create_connection(("127.0.0.1", deaf)) as peer:
            peer.setblocking(False)
            sent, quiet_since = 0, time.monotonic()
            while time.monotonic() - quiet_since < 1.5:  # no event tells that nothing more goes
                try:
                    sent += peer.send(b"x" * 65536)
                    quiet_since = time.monotonic()
                except BlockingIOError:
                    time.sleep(0.02)
                self.assertLess(sent, 32 << 20, "what waits on the way has no bound")
            self.check_digest(port)
        self.leave(client)

    def test_a_refused_port_is_told_and_ends_nothing(self):
        client, nobody, port = self.forward("nobody", "digest")
        with socket.create_connection(("127.0.0.1", nobody), timeout=20) as peer:
            try:
                self.assertEqual(peer.recv(1), b"")
            except ConnectionResetError:
                pass
        told = client.lines.get(timeout=20 * PATIENCE)
        self.assertIn(f"keiko port-forward: port {self.ports['nobody']}: nothing listens on port",
                      told)
        self.check_digest(port)
        self.leave(client)

    def test_a_connection_that_is_cut_off_is_cut_off_here_too(self):
        client, port = self.forward("cut")
        with socket.create_connection(("127.0.0.1", port), timeout=20) as peer:
            peer.sendall(b"x")
            with self.assertRaises(ConnectionResetError):
                peer.recv(1)
        self.leave(client)


class Ends(ForwardTest):
    def test_the_job_s_end_ends_the_forward_and_its_connections(self):
        client, deaf = self.forward("deaf")
        with socket.create_connection(("127.0.0.1", deaf), timeout=20 * PATIENCE) as peer:
            peer.sendall(b"x")
            self.pool.run("cancel", self.job)
            self.assertEqual(client.wait(30 * PATIENCE), 4)
            self.assertIn("the worker has ended", client.lines.get(timeout=10))
            try:
                self.assertEqual(peer.recv(1), b"")
            except ConnectionResetError:
                pass

    def test_the_server_s_end_ends_it(self):
        client, _ = self.forward("http")
        self.pool.server.kill()
        self.assertEqual(client.wait(30 * PATIENCE), 5)
        self.assertRegex(client.lines.get(timeout=10), "the server went away|cannot reach a Keiko")
        self.pool.serve(name="server2")
        wait_until(lambda: self.pool.node("n1").get("connected"), 20, "n1 is back")
        self.assertEqual(self.pool.job(self.job)["status"], "RUNNING")

    def test_wrong_words_a_taken_port_and_a_job_that_does_not_run_are_told(self):
        for word in ("http", "1:2:3", "0", "70000", "x:80"):
            told = self.pool.run("port-forward", self.job, word)
            self.assertEqual((told.returncode, word in told.stderr), (2, True), told.stderr)
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            told = self.pool.run("port-forward", self.job, str(port))
        self.assertEqual(told.returncode, 4, told.stderr)
        self.assertIn(f"cannot listen on 127.0.0.1:{port}", told.stderr)
        self.pool.run("cancel", self.job)
        self.pool.wait_job(self.job)
        told = self.pool.run("port-forward", self.job, "0:80")
        self.assertEqual(told.returncode, 4, told.stderr)
        self.assertIn("is CANCELLED", told.stderr)


if __name__ == "__main__":
    need(KEIKO, "build it with ./dev build, or set KEIKO_BIN_DIR")
    unittest.main(verbosity=2)
