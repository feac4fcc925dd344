"""What bad input and bad days get: a clear message, an exit code that scripts can rely on, and
nothing lost or left behind."""
import contextlib
import http.client
import json
import os
import re
import socket
import subprocess
import unittest
from pathlib import Path

import http2
from harness import KEIKO, PYTHON, SANITIZER, PoolTest, alive, free_port, need, wait_until

COUNTER = Path(__file__).with_name("counter.py")


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

    def check_port_in_use(self, command, flag):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            ports = {"--grpc-port": 0, "--http-port": 0, flag: port}
            done = subprocess.run(
                [KEIKO, command, "--state", os.path.join(self.pool.folder, command + flag),
                 *(str(word) for pair in ports.items() for word in pair)],
                env=self.pool.environment, text=True, capture_output=True, timeout=60,
                stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn(f"port {port} (127.0.0.1:{port}) is in use", done.stderr)
        self.assertIn(f"{flag} PORT chooses another", done.stderr)

    def test_a_port_in_use_is_named_with_the_flag_that_chooses_another(self):
        for command in ("up", "server"):
            for flag in ("--grpc-port", "--http-port"):
                with self.subTest(command=command, flag=flag):
                    self.check_port_in_use(command, flag)

    def test_a_state_directory_that_cannot_be_made_is_named(self):
        blocker = self.file("blocker", "a file, not a folder")
        done = self.up("--state", blocker + "/state", "--grpc-port", 0, "--http-port", 0)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(blocker, done.stderr)
        self.assertIn("--state", done.stderr)

    def test_the_state_directory_is_its_user_s_alone(self):
        for path in (self.pool.state, self.pool.state + "/agents"):
            self.assertEqual(os.stat(path).st_mode & 0o777, 0o700, path)

    def test_an_agent_refuses_files_that_are_not_there(self):
        for flag, value in (("--checks-dir", "/no/such"), ("--reset-program", "/no/such"),
                            ("--allow-device", "/dev/no-such")):
            done = subprocess.run(
                [KEIKO, "agent", "--join", f"127.0.0.1:{self.pool.grpc}", "--state",
                 os.path.join(self.pool.folder, "other"), flag, value],
                env=self.pool.environment, text=True, capture_output=True, timeout=60,
                stdin=subprocess.DEVNULL)
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertIn(f"{flag} {value} is", done.stderr)

    def test_an_answer_that_cannot_be_written_is_no_success(self):
        for words in (["jobs"], ["nodes", "-o", "json"], ["schema", "job"],
                      ["submit", "--", "true"], ["run", "--", "echo", "said"]):
            with open("/dev/full", "w") as full:
                done = subprocess.run([KEIKO, *words], env=self.pool.environment, text=True,
                                      stdout=full, stderr=subprocess.PIPE, timeout=60)
            self.assertEqual(done.returncode, 1, (words, done.stderr))
            self.assertIn("cannot write to standard output: No space left", done.stderr)
        done = subprocess.run(["sh", "-c", f"exec '{KEIKO}' jobs >&-"], env=self.pool.environment,
                              text=True, stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("cannot write to standard output", done.stderr)

    def test_a_second_up_on_the_same_state_directory_is_refused(self):
        done = self.up("--state", self.pool.state, "--grpc-port", 0, "--http-port", 0)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(str(self.pool.pids()["supervisor"]), done.stderr)
        self.assertEqual(self.pool.run("run", "--", "true").returncode, 0)

    def test_an_agent_with_a_name_that_is_taken_is_refused_and_the_first_keeps_its_work(self):
        job = self.pool.submit("--devices", "1", "--", PYTHON, COUNTER, self.pool.folder, 0)
        pid = wait_until(lambda: self.pool.wait_job(job, ["RUNNING"])["workers"][0].get("pid"), 20,
                         "it runs")
        done = subprocess.run(
            [KEIKO, "agent", "--join", f"127.0.0.1:{self.pool.grpc}", "--name", "node1", "--state",
             os.path.join(self.pool.folder, "impostor"), "--address", "127.0.0.1"],
            env=self.pool.environment, text=True, capture_output=True, timeout=60,
            stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 4)
        self.assertEqual(done.stderr.splitlines()[-1],
                         f"keiko agent: the server at 127.0.0.1:{self.pool.grpc} refused this "
                         "agent: the name 'node1' belongs to another live agent at 127.0.0.1; "
                         "start this one with --name, or wait until the other's lease has ended")
        counted = self.count()
        wait_until(lambda: self.count() > counted, 20, "the first agent's job goes on")
        told = self.pool.job(job)
        self.assertEqual((told["status"], told["attempt"], told["workers"][0]["pid"]),
                         ("RUNNING", 1, pid))
        nodes = json.loads(self.pool.run("nodes", "-o", "json").stdout)["nodes"]
        self.assertEqual([(n["name"], n["status"], n["connected"]) for n in nodes],
                         [("node1", "READY", True)])
        Path(self.pool.folder, "finish").touch()
        self.assertEqual(self.pool.wait_job(job)["status"], "COMPLETED")

    def count(self):
        try:
            return int(Path(self.pool.folder, "count").read_text().split()[0])
        except (OSError, IndexError):
            return 0


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

    def processes_that_name(self, path):
        return [pid for pid in os.listdir("/proc") if pid.isdigit() and alive(int(pid))
                and path in self.command_of(pid)]

    def command_of(self, pid):
        try:
            return Path("/proc", pid, "cmdline").read_text(errors="replace")
        except OSError:
            return ""

    FORKS_AWAY = """
import os, signal, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:  # init's child by now, far from its folder, deaf, and with closed streams
        os.chdir("/")
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        for stream in (0, 1, 2):
            os.close(stream)
        open(sys.argv[1], "w").close()
        time.sleep(300)
    os._exit(0)
while not os.path.exists(sys.argv[1]) or len(sys.argv) > 2:
    time.sleep(0.02)
"""

    def test_one_that_forks_away_leaves_nothing_behind(self):
        program = self.file("fork_away.py", self.FORKS_AWAY)
        job = self.pool.submit("--", PYTHON, program, os.path.join(self.pool.folder, "away"))
        self.assertEqual(self.pool.wait_job(job)["status"], "COMPLETED")
        # The end is told when nothing of it is left, so that its devices are free.
        self.assertEqual(self.processes_that_name(program), [])

    def test_one_that_forked_away_is_gone_with_its_job_when_that_is_cancelled(self):
        program = self.file("fork_and_stay.py", self.FORKS_AWAY)
        away = os.path.join(self.pool.folder, "away_too")
        job = self.pool.submit("--grace", "1s", "--", PYTHON, program, away, "stay")
        wait_until(lambda: os.path.exists(away), 20, "it forked away")
        self.assertEqual(len(self.processes_that_name(program)), 2)
        self.assertEqual(self.pool.run("cancel", job).returncode, 0)
        self.assertEqual(self.pool.wait_job(job)["status"], "CANCELLED")
        self.assertEqual(self.processes_that_name(program), [])

    def test_one_that_fills_its_log_is_cut_with_a_mark_and_ends_well(self):
        job = self.pool.submit("--log-limit", "64KiB", "--", "sh", "-c",
                               "yes 0123456789 | head -c 1000000; echo; echo the-end >&2")
        self.assertEqual(self.pool.wait_job(job)["status"], "COMPLETED")
        kept = ("0123456789\n" * 6000)[:65536]  # cut within a line: the mark begins a new one
        self.assertEqual(self.pool.run("logs", job, "--stdout").stdout,
                         kept + "\n[keiko: output over 64KiB was dropped here; raise log_limit]\n")
        self.assertEqual(self.pool.run("logs", job, "--stderr").stderr, "the-end\n")

    def test_one_that_does_not_exist_is_named(self):
        job = self.pool.submit("--restarts", "0", "--", "/no/such/program")
        ended = self.pool.wait_job(job)
        self.assertEqual((ended["status"], ended["reason"], ended["exit_code"]),
                         ("FAILED", "StartFailed", 127))
        self.assertIn("rank 0 on node1 could not be started: cannot run '/no/such/program': No "
                      "such file or directory", self.pool.run("job", job).stdout)

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
    """The two doors of the server under clients that behave badly."""

    def send(self, data, port=None):
        """RETURNS: all that the server answers to these bytes, up to the end of the connection."""
        with socket.create_connection(("127.0.0.1", port or self.pool.http), timeout=20) as client:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                client.sendall(data)
            answer = b""
            while piece := client.recv(65536):
                answer += piece
            return answer

    def post(self, body, *headers, length=None):
        length = len(body) if length is None else length
        lines = ["POST /v1/jobs HTTP/1.1", "Host: localhost", "Connection: close",
                 "Content-Type: application/json", f"Content-Length: {length}", *headers]
        return self.send("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    def check(self, answer, status, code, *parts):
        """`answer` is a whole HTTP answer: this status and an error of ours that says these."""
        head, _, body = answer.partition(b"\r\n\r\n")
        self.assertRegex(head, rb"^HTTP/1\.1 %d " % status)
        self.assertIn(b"Content-Type: application/json", head)
        error = json.loads(body)["error"]
        self.assertEqual(error["code"], code)
        for part in parts:
            self.assertIn(part, error["message"])

    def tearDown(self):
        answer = self.send(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        self.assertRegex(answer, rb"(?s)^HTTP/1\.1 200 .*ok\n$")

    def test_bytes_that_are_not_http_are_answered_with_400(self):
        for junk in (b"\x00\xff nonsense\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                     b"GET /v1/jobs HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02\x00" + bytes(512)):
            with self.subTest(junk=junk[:20]):
                self.check(self.send(junk), 400, "invalid_argument", "the request is not HTTP/1.1")

    def test_a_body_that_is_too_large_is_answered_with_413_before_it_is_sent(self):
        self.check(self.post(b"", length=999_999_999), 413, "invalid_argument",
                   "the body is over 1MiB")
        self.check(self.post(b" " * 1_048_577), 413, "invalid_argument", "the body is over 1MiB")
        chunked = (b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\n"
                   b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
        self.check(self.send(chunked + (b"10000\r\n" + b" " * 65536 + b"\r\n") * 21), 413,
                   "invalid_argument", "the body is over 1MiB")

    def test_headers_that_are_too_large_are_answered_with_431(self):
        self.check(self.post(b"{}", "X-Fill: " + "x" * 20_000), 431, "invalid_argument",
                   "the headers are too large")

    def test_a_body_that_is_no_job_is_answered_with_400_and_the_place(self):
        for body in (b"not json!", b"[" * 100_000, b"{\"spec\":" * 50_000, b"\xff\xfe\x00",
                     b'{"spec":{"workers":1e99}}', b'{"sepc":{}}'):
            with self.subTest(body=body[:20]):
                self.check(self.post(body), 400, "invalid_argument", "the body is not the JSON of")
        self.check(self.post(b"{}"), 400, "invalid_argument", "spec: is missing")
        self.check(self.post(b'{"spec":{"name":"x","command":["true"],"workers":-1}}'), 400,
                   "invalid_argument", "workers: -1 is out of range")

    def test_a_path_that_is_not_there_is_404_and_a_method_405(self):
        end = b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        self.check(self.send(b"GET /nothing" + end), 404, "not_found", "/nothing")
        answer = self.send(b"DELETE /v1/jobs" + end)
        self.check(answer, 405, "unimplemented", "does not take this method; it takes GET")
        self.assertIn(b"Allow: GET, HEAD, POST", answer)

    def test_the_grpc_door_answers_garbage_by_closing(self):
        for junk in (b"\x00\xff nonsense\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n",
                     http2.PREFACE + b"\xff" * 512):
            with self.subTest(junk=junk[:20]):
                self.send(junk, self.pool.grpc)  # whatever it says, it ends
                self.assertEqual(self.pool.run("version").returncode, 0)

    def test_a_grpc_message_that_is_no_request_or_too_large_gets_its_status(self):
        def status(method, message):
            return http2.grpc_status(self.pool.grpc, "/keiko.v1." + method, message)
        submit = "ClusterService/SubmitJob"
        self.assertEqual(status(submit, b""), 3)                   # INVALID_ARGUMENT: no spec
        self.assertEqual(status(submit, bytes(33 << 20)), 8)       # RESOURCE_EXHAUSTED: over 32 MiB
        # gRPC's callback server says UNIMPLEMENTED of bytes that are no message, too.
        self.assertEqual(status(submit, b"\xff" * 20), 12)
        self.assertEqual(status("ClusterService/NoSuchMethod", b""), 12)
        for stream in ("AgentService/Session", "AgentService/ShipLogs", "AttachService/Open",
                       "AttachService/Answer"):
            self.assertEqual(status(stream, b"\xff" * 20), 3, stream)
        self.assertEqual(status("AttachService/Open", b"\x28\x02"), 3)  # a signal, to no command
        self.assertEqual(status("AgentService/Session", b"\x0a\x00"), 14)  # UNAVAILABLE: no name
        self.assertEqual(self.pool.run("run", "--", "true").returncode, 0)


class SilentReaders:
    """Clients that ask for streams and never read them."""
    SILENT = 12
    MEMORY_MB = 400 if SANITIZER else 100  # a sanitizer keeps what was freed for a while

    def memory(self, name):
        """RETURNS: megabytes of a process of the pool."""
        status = Path("/proc", str(self.pool.pids()[name]), "status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) / 1024

    def ask_and_be_silent(self, path):
        client = socket.socket()
        self.addCleanup(client.close)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", self.pool.http))
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        return client

    def be_a_silent_command(self, *words):
        """A command whose output nobody takes: once the pipe is full it reads no more."""
        process = self.pool.open(*words)
        self.addCleanup(lambda: (process.kill(), process.stdout.close(), process.stderr.close(),
                                 process.wait()))
        return process


class SilentLogReaders(SilentReaders, PoolTest):
    MEGABYTES = 40

    def test_logs_that_nobody_reads_cost_little_memory_and_disturb_nobody(self):
        gate = os.path.join(self.pool.folder, "gate")
        job = self.pool.submit("--log-limit", "1GiB", "--", "sh", "-c",
                               f"echo begins; while [ ! -e {gate} ]; do sleep 0.05; done; "
                               f"yes 0123456789abcdef | head -c {self.MEGABYTES}000000")
        wait_until(lambda: "begins" in self.pool.run("logs", job).stdout, 20, "it runs")
        silent = [self.ask_and_be_silent(f"/v1/jobs/{job}/logs?follow=true")
                  for _ in range(self.SILENT)]
        for client in silent:
            self.assertIn(b" 200 ", client.recv(100))
        commands = [self.be_a_silent_command("logs", job, "-f") for _ in range(self.SILENT // 2)]
        for command in commands:
            self.assertEqual(command.stdout.readline(), "begins\n")
        before = {name: self.memory(name) for name in ("server", "node1")}
        Path(gate).touch()
        self.assertEqual(self.pool.wait_job(job)["status"], "COMPLETED")
        # Who reads gets all of it meanwhile, and everybody else is served.
        told = self.pool.run("logs", job, "-f")
        self.assertEqual(len(told.stdout), len("begins\n") + self.MEGABYTES * 1_000_000)
        self.assertEqual(self.pool.run("run", "--", "true").returncode, 0)
        # 18 readers of 40 MB would be 720 MB; each may have 1 MiB waiting, and gRPC its window.
        for name, megabytes in before.items():
            self.assertLess(self.memory(name) - megabytes, self.MEMORY_MB, name)
        for command in commands:
            self.assertIsNone(command.poll(), "it still waits for us")


class SilentEventReaders(SilentReaders, PoolTest):
    devices = 4

    def test_events_that_nobody_reads_cost_little_memory_and_disturb_nobody(self):
        for _ in range(self.SILENT):
            self.ask_and_be_silent("/v1/events?follow=true")
        commands = [self.be_a_silent_command("events", "-f") for _ in range(self.SILENT // 2)]
        listener = self.pool.open("events", "-f", "-o", "json")
        before = self.memory("server")
        spec = {"name": "n" * 60, "command": ["true"], "devices": 4}
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.pool.http,
                                                           timeout=20)) as client:
            for _ in range(400):
                client.request("POST", "/v1/jobs", json.dumps({"spec": spec}),
                               {"Content-Type": "application/json"})
                answer = client.getresponse()
                job = json.loads(answer.read())["job"]
        seen = 0
        for line in listener.stdout:  # each event comes to the one who reads
            seen += '"job_submitted"' in line
            if f'"{job}"' in line:
                break
        listener.kill()
        listener.communicate()
        self.assertGreaterEqual(seen, 400)
        self.assertLess(self.memory("server") - before, self.MEMORY_MB)
        for command in commands:
            self.assertIsNone(command.poll(), "it still waits for us")
        self.assertEqual(self.pool.run("version").returncode, 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
