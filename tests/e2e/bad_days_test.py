"""What bad input and bad days get: a clear message, an exit code that scripts can rely on, and
nothing lost or left behind."""
import os
import socket
import subprocess
import unittest
from pathlib import Path

from harness import KEIKO, PYTHON, PoolTest, free_port, need, processes_of, wait_until


class Commands(unittest.TestCase):
    """Without any server."""

    @classmethod
    def setUpClass(cls):
        need(KEIKO, "build it with ./dev build, or set KEIKO_BIN_DIR")

    def keiko(self, *words, **variables):
        environment = dict(os.environ, NO_COLOR="1", **variables)
        return subprocess.run([KEIKO, *words], env=environment, text=True, capture_output=True,
                              timeout=60, stdin=subprocess.DEVNULL)

    def test_an_unknown_verb_names_the_nearest_one(self):
        done = self.keiko("sumbit")
        self.assertEqual(done.returncode, 2)
        self.assertIn("submit", done.stderr)

    def test_an_unknown_flag_is_a_usage_error(self):
        self.assertEqual(self.keiko("jobs", "--colour-me").returncode, 2)

    def test_without_a_server_the_address_and_a_remedy_are_named(self):
        address = f"127.0.0.1:{free_port()}"
        done = self.keiko("jobs", KEIKO_SERVER=address)
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn(address, done.stderr)
        self.assertIn("keiko up", done.stderr)


class Starting(PoolTest):
    """Starts that cannot work, beside a pool that runs."""

    def up(self, *words):
        return subprocess.run([KEIKO, "up", *map(str, words)], env=self.pool.environment, text=True,
                              capture_output=True, timeout=60, stdin=subprocess.DEVNULL)

    def test_a_port_in_use_is_named_with_the_flag_that_chooses_another(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            done = self.up("--state", self.pool.folder + "/other", "--grpc-port", port,
                           "--http-port", 0)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(str(port), done.stderr)
        self.assertIn("--grpc-port", done.stderr)

    def test_a_state_directory_that_cannot_be_made_is_named(self):
        blocker = self.file("blocker", "a file, not a folder")
        done = self.up("--state", blocker + "/state", "--grpc-port", 0, "--http-port", 0)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(blocker, done.stderr)
        self.assertIn("--state", done.stderr)

    def test_a_second_up_on_the_same_state_directory_is_refused(self):
        done = self.up("--state", self.pool.state, "--grpc-port", 0, "--http-port", 0)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(str(self.pool.pids()["supervisor"]), done.stderr)
        self.assertEqual(self.pool.run("run", "--", "true").returncode, 0)

    def test_an_agent_with_a_name_that_is_taken_is_told_so(self):
        state = os.path.join(self.pool.folder, "impostor")
        log = Path(self.pool.folder, "impostor.log")
        out = log.open("w")
        self.addCleanup(out.close)
        agent = subprocess.Popen([KEIKO, "agent", "--join", f"127.0.0.1:{self.pool.grpc}",
                                  "--name", "node1", "--state", state, "--address", "127.0.0.1"],
                                 env=self.pool.environment, text=True, stdin=subprocess.DEVNULL,
                                 stdout=out,
                                 stderr=subprocess.STDOUT)
        try:
            wait_until(lambda: "node1" in log.read_text() and
                       ("taken" in log.read_text() or "another" in log.read_text()
                        or "refused" in log.read_text()), 15, "the agent says that it was refused")
        finally:
            agent.kill()
            agent.wait()
        self.assertEqual(self.pool.run("run", "--", "true").returncode, 0)


class Programs(PoolTest):
    """Programs that misbehave."""
    devices = 4

    def test_one_that_ignores_sigterm_is_killed_after_its_grace(self):
        job = self.pool.submit("--grace", "1s", "--", "sh", "-c",
                               "trap '' TERM; echo ready; while :; do sleep 0.1; done")
        wait_until(lambda: "ready" in self.pool.run("logs", job).stdout, 15, "it runs")
        pid = int(self.pool.job(job)["workers"][0]["pid"])
        self.assertEqual(self.pool.run("cancel", job).returncode, 0)
        self.assertEqual(self.pool.wait_job(job, seconds=15)["status"], "CANCELLED")
        self.assertFalse(os.path.exists(f"/proc/{pid}"))

    def test_one_that_forks_away_leaves_nothing_behind(self):
        program = self.file("fork_away.py", """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(300)
    os._exit(0)
""")
        job = self.pool.submit("--", PYTHON, program)
        self.assertEqual(self.pool.wait_job(job)["status"], "COMPLETED")
        wait_until(lambda: not [c for c in processes_of(self.pool.folder).values()
                                if "fork_away" in c], 10, "its children are gone")

    def test_one_that_fills_its_log_is_cut_with_a_mark_and_ends_well(self):
        job = self.pool.submit("--log-limit", "64KiB", "--", "sh", "-c",
                               "yes 0123456789 | head -c 1000000; echo; echo the-end")
        self.assertEqual(self.pool.wait_job(job)["status"], "COMPLETED")
        text = self.pool.run("logs", job).stdout
        self.assertLess(len(text), 80_000)
        self.assertGreater(len(text), 60_000)
        self.assertNotEqual(text.strip().splitlines()[-1], "0123456789", "a mark says so")

    def test_one_that_does_not_exist_is_named(self):
        job = self.pool.submit("--restarts", "0", "--", "/no/such/program")
        self.assertEqual(self.pool.wait_job(job)["status"], "FAILED")
        self.assertIn("/no/such/program", self.pool.run("job", job).stdout)

    def test_a_job_file_with_mistakes_submits_nothing_and_lists_them_all(self):
        path = self.file("bad.yaml", "wrokers: 2\ncommand: [true]\ngrace: 5\n")
        before = self.pool.run("jobs", "-o", "json").stdout
        done = self.pool.run("submit", path)
        self.assertNotEqual(done.returncode, 0)
        for part in ("bad.yaml:1:1", "workers", "bad.yaml:3:8", "5s"):
            self.assertIn(part, done.stderr)
        self.assertEqual(self.pool.run("jobs", "-o", "json").stdout, before)

    def test_a_time_limit_ends_a_job(self):
        job = self.pool.submit("--time-limit", "1s", "--restarts", "0", "--", "sleep", "60")
        ended = self.pool.wait_job(job, seconds=20)
        self.assertEqual((ended["status"], ended["reason"]), ("FAILED", "TimeLimit"))

    def test_an_unknown_job_is_not_found(self):
        self.assertEqual(self.pool.run("job", "j99999").returncode, 3)


class Requests(PoolTest):
    """The HTTP gateway under clients that behave badly."""

    def send(self, data, wait=5):
        with socket.create_connection(("127.0.0.1", self.pool.http), timeout=wait) as connection:
            try:
                connection.sendall(data)
                return connection.recv(65536)
            except OSError:
                return b""

    def test_garbage_and_huge_requests_get_an_answer_or_a_closed_door_and_the_server_lives(self):
        self.assertIn(b"400", self.send(b"\x00\xff nonsense\r\n\r\n") or b"400")
        head = b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999999999\r\n\r\n"
        self.assertIn(b" 413 ", self.send(head) or b" 413 ")
        self.assertIn(b" 400 ", self.send(b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\n"
                                          b"Content-Type: application/json\r\n"
                                          b"Content-Type: application/json\r\n"
                                          b"Content-Length: 9\r\n\r\nnot json!"))
        self.assertIn(b" 404 ", self.send(b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n"))
        self.assertIn(b" 200 ", self.send(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"))

    def test_a_client_that_never_reads_its_stream_harms_nobody(self):
        job = self.pool.submit("--", "sh", "-c", "yes | head -c 30000000")
        silent = socket.create_connection(("127.0.0.1", self.pool.http), timeout=5)
        silent.sendall((f"GET /v1/jobs/{job}/logs?follow=true HTTP/1.1\r\n"
                        "Host: localhost\r\n\r\n").encode())
        self.assertEqual(self.pool.wait_job(job)["status"], "COMPLETED")
        self.assertEqual(self.pool.run("run", "--", "true").returncode, 0)
        silent.close()


if __name__ == "__main__":
    unittest.main(verbosity=2)
