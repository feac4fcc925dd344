"""A command in a running worker, through the server: it sees what the worker sees, its bytes and
its exit status come back whole, and nothing of it stays when anybody on the way dies."""
import fcntl
import hashlib
import os
import pty
import signal
import struct
import subprocess
import termios
import threading
import time
import unittest
from pathlib import Path

from harness import KEIKO, PATIENCE, need, processes_of, wait_until
from parts import Parts

IDLE = ("sh", "-c", "while :; do sleep 0.05; done")


class AttachTest(unittest.TestCase):
    def setUp(self):
        need(KEIKO, "build it with ./dev build, or set KEIKO_BIN_DIR")
        self.pool = Parts()
        self.passed = False
        self.pool.serve()
        self.pool.join("n1")

    def tearDown(self):
        if not self.passed:
            self.pool.show_logs()
        self.pool.close(check=self.passed)

    def start(self, *words):
        job = self.pool.submit("--restarts", "0", *words, "--", *IDLE)
        self.pool.wait_job(job, ("RUNNING",))
        return job

    def popen(self, *words, **more):
        pipes = {name: subprocess.PIPE for name in ("stdin", "stdout", "stderr")}
        return subprocess.Popen([KEIKO, *words], env=self.pool.environment, cwd=self.pool.folder,
                                **{**pipes, **more})

    def sleepers(self, mark):
        return [pid for pid, words in processes_of(self.pool.folder).items()
                if words == f"sleep {mark}"]

    def linger(self, job, mark):
        """A command with a child in a session of its own, both of which sleep for long."""
        client = self.popen("exec", job, "--", "sh", "-c",
                            f"setsid sleep {mark} & sleep {mark}; true")
        wait_until(lambda: len(self.sleepers(mark)) == 2, 20, "the command runs")
        return client

    def still_runs(self, job):
        told = self.pool.job(job)
        return told["status"] == "RUNNING" and told["attempt"] == 1


class Exec(AttachTest):
    def test_it_has_the_worker_s_environment_and_passes_exit_codes_on(self):
        job = self.start("--env", "COLOUR=teal", "--workers", "2")
        told = self.pool.run("exec", job, "--rank", "1", "--", "sh", "-c",
                             "echo $COLOUR $RANK; echo words >&2; exit 7")
        self.assertEqual((told.returncode, told.stdout, told.stderr), (7, "teal 1\n", "words\n"))
        told = self.pool.run("exec", job, "--", "sh", "-c", "kill -9 $$")
        self.assertEqual(told.returncode, 128 + 9, told.stderr)
        self.assertEqual(self.pool.run("exec", job, "--", "true").returncode, 0)
        told = self.pool.run("exec", job, "--", "no-such-command")
        self.assertEqual(told.returncode, 4)
        self.assertIn("keiko exec: cannot run 'no-such-command'", told.stderr)
        self.assertTrue(self.still_runs(job))
        self.passed = True

    def test_fifty_megabytes_come_back_as_they_were_sent(self):
        job = self.start()
        data = os.urandom(50_000_000)
        client = self.popen("exec", job, "--", "cat")
        out, err = client.communicate(data, timeout=120 * PATIENCE)
        self.assertEqual((client.returncode, err), (0, b""))
        self.assertEqual(hashlib.sha256(out).digest(), hashlib.sha256(data).digest())
        self.passed = True

    def test_input_waits_for_a_command_that_is_stopped(self):
        job = self.start()
        client = self.popen("exec", job, "--", "sh", "-c", "echo $$; kill -STOP $$; wc -c")
        pid = int(client.stdout.readline())
        def stopped():
            return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T"
        wait_until(stopped, 20, "the command is stopped")
        writer = threading.Thread(target=lambda: (client.stdin.write(b"x" * 3_000_000),
                                                  client.stdin.close()))
        writer.start()
        pipe = os.open(f"/proc/{pid}/fd/0", os.O_RDONLY | os.O_NONBLOCK)
        def waiting():
            return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0\0\0\0"))[0]
        wait_until(waiting, 20, "input waits for it")
        os.close(pipe)
        os.kill(pid, signal.SIGCONT)
        self.assertEqual(client.stdout.read(), b"3000000\n")
        writer.join()
        self.assertEqual(client.wait(20 * PATIENCE), 0)
        client.stdout.close()
        client.stderr.close()
        self.passed = True

    def test_a_client_that_does_not_read_stops_the_writer(self):
        job = self.start()
        count = os.path.join(self.pool.folder, "count")
        script = ("import sys\nfor i in range(64 << 4):\n"
                  "  sys.stdout.buffer.write(b'x' * 65536); sys.stdout.flush()\n"
                  f"  open({count!r}, 'w').write(str(i + 1))\n")
        client = self.popen("exec", job, "--", "python3", "-c", script)
        def written():
            try:
                return int(Path(count).read_text() or 0)
            except (OSError, ValueError):
                return 0
        def settled():
            before = written()
            time.sleep(1)  # no event tells that somebody has stopped writing
            return before > 0 and written() == before
        wait_until(settled, 20, "the writer waits")
        self.assertLess(written() * 65536, 16 << 20)  # of 64 MiB
        out, _ = client.communicate(timeout=60 * PATIENCE)
        self.assertEqual((len(out), client.returncode), (64 << 20, 0))
        self.passed = True

    def test_wrong_input_and_jobs_that_do_not_run_are_told(self):
        job = self.start()
        told = self.pool.run("exec", job)
        self.assertEqual(told.returncode, 2)
        self.assertIn("keiko exec: no command", told.stderr)
        told = self.pool.run("exec", job, "--rank", "3", "--", "true")
        self.assertEqual(told.returncode, 2)
        self.assertIn("no rank 3", told.stderr)
        told = self.pool.run("exec", "j99", "--", "true")
        self.assertEqual(told.returncode, 3, told.stderr)
        self.pool.run("cancel", job)
        self.pool.wait_job(job)
        told = self.pool.run("exec", job, "--", "true")
        self.assertEqual(told.returncode, 4)
        self.assertIn("is CANCELLED", told.stderr)
        told = self.pool.run("shell", job)
        self.assertEqual(told.returncode, 2)
        self.assertIn("keiko shell: needs a terminal", told.stderr)
        self.passed = True

    def test_output_that_nobody_takes_ends_the_command_and_is_no_success(self):
        job = self.start()
        with open("/dev/full", "w") as full:
            client = self.popen("exec", job, "--", "echo", "hi", stdout=full)
            _, err = client.communicate(timeout=20 * PATIENCE)
        self.assertEqual(client.returncode, 1, err)
        self.assertIn(b"cannot write the command's output: No space left", err)
        client = self.popen("exec", job, "--", "sh", "-c", "yes 86409")
        client.stdout.readline()
        client.stdout.close()
        self.assertEqual(client.wait(20 * PATIENCE), 128 + signal.SIGPIPE)
        wait_until(lambda: "yes 86409" not in processes_of(self.pool.folder).values(), 20,
                   "nothing of the command is left")
        self.passed = True

    def test_a_signal_reaches_the_command(self):
        job = self.start()
        client = self.linger(job, 86401)
        client.send_signal(signal.SIGINT)
        _, err = client.communicate(timeout=20 * PATIENCE)
        self.assertEqual(client.returncode, 128 + signal.SIGINT, err)
        wait_until(lambda: not self.sleepers(86401), 20, "nothing of the command is left")
        self.assertTrue(self.still_runs(job))
        self.passed = True


class Kills(AttachTest):
    def test_a_killed_client_leaves_nothing_behind(self):
        job = self.start()
        client = self.linger(job, 86402)
        client.kill()
        client.communicate(timeout=20 * PATIENCE)
        wait_until(lambda: not self.sleepers(86402), 20, "nothing of the command is left")
        self.assertTrue(self.still_runs(job))
        self.passed = True

    def test_a_killed_agent_ends_the_command_and_not_the_worker(self):
        job = self.start()
        client = self.linger(job, 86403)
        self.pool.agents["n1"].kill()
        _, err = client.communicate(timeout=20 * PATIENCE)
        self.assertEqual(client.returncode, 5, err)
        self.assertIn(b"keiko exec: the agent of node n1 is gone", err)
        wait_until(lambda: not self.sleepers(86403), 20, "nothing of the command is left")
        self.pool.join("n1")
        self.assertTrue(self.still_runs(job))
        self.assertEqual(self.pool.run("exec", job, "--", "true").returncode, 0)
        self.passed = True

    def test_a_killed_server_ends_the_command_and_not_the_worker(self):
        job = self.start()
        client = self.linger(job, 86404)
        self.pool.server.kill()
        _, err = client.communicate(timeout=30 * PATIENCE)
        self.assertEqual(client.returncode, 5, err)
        wait_until(lambda: not self.sleepers(86404), 20, "nothing of the command is left")
        self.pool.serve(name="server2")
        wait_until(lambda: self.pool.node("n1").get("connected"), 20, "n1 is back")
        self.assertTrue(self.still_runs(job))
        self.passed = True

    def test_the_worker_s_end_ends_the_command(self):
        job = self.start()
        client = self.linger(job, 86405)
        self.pool.run("cancel", job)
        client.communicate(timeout=30 * PATIENCE)
        self.assertNotEqual(client.returncode, 0)
        wait_until(lambda: not self.sleepers(86405), 20, "nothing of the command is left")
        self.passed = True


class Shell(AttachTest):
    def setUp(self):
        super().setUp()
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 31, 97, 0, 0))
        self.before = termios.tcgetattr(self.slave)
        self.text = b""

    def tearDown(self):
        os.close(self.master)
        os.close(self.slave)
        super().tearDown()

    def open_shell(self, job):
        def own_terminal():
            os.setsid()
            fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
        return subprocess.Popen([KEIKO, "shell", job], env=self.pool.environment, stdin=self.slave,
                                stdout=self.slave, stderr=self.slave, preexec_fn=own_terminal)

    def type(self, line):
        os.write(self.master, line.encode() + b"\n")

    def until(self, mark):
        while mark not in self.text:
            self.text += os.read(self.master, 4096)

    def test_a_shell_has_our_terminal_s_size_and_gives_the_terminal_back(self):
        client = self.open_shell(self.start())
        self.type("stty size; echo mark-$((40+2))")
        self.until(b"mark-42")
        self.assertIn(b"31 97", self.text)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 20, 60, 0, 0))
        def resized():
            self.text = b""
            self.type("stty size; echo mark-$((50+2))")
            self.until(b"mark-52")
            return b"20 60" in self.text
        wait_until(resized, 20, "the new size arrives")
        self.type("exit 9")
        self.assertEqual(client.wait(20 * PATIENCE), 9)
        self.assertEqual(termios.tcgetattr(self.slave), self.before)
        self.passed = True

    def test_sigterm_ends_the_client_gives_the_terminal_back_and_leaves_nothing(self):
        job = self.start()
        client = self.open_shell(job)
        self.type("trap '' TERM HUP; sleep 86406 & sleep 86406")
        wait_until(lambda: len(self.sleepers(86406)) == 2, 20, "the shell runs commands")
        self.assertNotEqual(termios.tcgetattr(self.slave), self.before, "keys go to the shell")
        client.terminate()
        self.assertEqual(client.wait(20 * PATIENCE), 130)  # docs/cli.md: interrupted
        self.assertEqual(termios.tcgetattr(self.slave), self.before)
        wait_until(lambda: not self.sleepers(86406), 20, "nothing of the shell is left")
        self.assertTrue(self.still_runs(job))
        self.passed = True


if __name__ == "__main__":
    unittest.main(verbosity=2)
