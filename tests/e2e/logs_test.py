"""Workers' output lies with the server: it is there after the node is gone, and whoever follows it
sees each line once, whatever is killed meanwhile."""
import glob
import os
import shutil
import signal
import threading
import unittest
from pathlib import Path

from harness import KEIKO, PYTHON, need, processes_of, wait_until
from parts import Parts

# Prints numbered lines to both streams until FOLDER/finish is there.
NUMBERS = """
import os, sys, time
at = 0
while not os.path.exists(os.path.join(sys.argv[1], "finish")):
    print("out", at, flush=True)
    print("err", at, file=sys.stderr, flush=True)
    at += 1
    time.sleep(0.004)
print("last out", at, flush=True)
"""


class LogsTest(unittest.TestCase):
    def setUp(self):
        need(KEIKO, "build it with ./dev build, or set KEIKO_BIN_DIR")
        self.pool = Parts()
        self.passed = False

    def tearDown(self):
        if not self.passed:
            self.pool.show_logs()
        self.pool.close(check=self.passed)

    def kept(self, name="j1/1/0.out"):
        """RETURNS: what the server's folder has of a log."""
        try:
            return Path(self.pool.state, "logs", name).read_text()
        except OSError:
            return ""

    def numbers(self):
        path = Path(self.pool.folder, "numbers.py")
        path.write_text(NUMBERS)
        return [PYTHON, str(path), self.pool.folder]

    def finish(self):
        Path(self.pool.folder, "finish").touch()

    def kill_node(self, name):
        """Everything of it dies at once, as if its power were cut."""
        folder = os.path.join(self.pool.folder, name)
        self.pool.agents[name].kill()
        def dead():
            for pid, command in processes_of(self.pool.folder).items():
                if f" shim {folder}/" in command or "numbers.py" in command:
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
            return not any("numbers.py" in c for c in processes_of(self.pool.folder).values())
        wait_until(dead, 10, "the node's processes are gone")


class LostNode(LogsTest):
    # Complaint 49: logs vanish with their node.
    def test_the_output_is_there_when_the_node_and_its_disk_are_gone(self):
        self.pool.serve()
        self.pool.join("n1")
        job = self.pool.submit("--restarts", "0", "--", *self.numbers())
        wait_until(lambda: self.kept().count("\n") > 50, 20, "output reaches the server")
        self.kill_node("n1")
        shutil.rmtree(os.path.join(self.pool.folder, "n1"))
        wait_until(lambda: self.pool.node("n1").get("status") == "LOST", 40, "n1 is lost")
        kept = self.kept()
        told = self.pool.run("logs", job, "--stdout")
        self.assertEqual((told.returncode, told.stdout), (0, kept), told.stderr)
        self.assertEqual(kept.splitlines(), [f"out {i}" for i in range(kept.count("\n"))])
        self.passed = True

    def test_who_follows_goes_on_to_the_attempt_on_another_node(self):
        self.pool.serve()
        self.pool.join("n1")
        job = self.pool.submit("--", *self.numbers())
        wait_until(lambda: self.kept().count("\n") > 50, 20, "output reaches the server")
        reader = self.pool.open("logs", job, "-f", "--stdout")
        self.kill_node("n1")
        self.pool.join("n2")
        wait_until(lambda: self.kept("j1/2/0.out"), 60, "attempt 2 prints")
        self.finish()
        self.assertEqual(self.pool.wait_job(job)["status"], "COMPLETED")
        text, errors = reader.communicate(timeout=60)
        self.assertEqual(text, self.kept() + self.kept("j1/2/0.out"), errors)
        self.passed = True

    def test_an_ended_job_s_output_needs_no_node(self):
        self.pool.serve()
        agent = self.pool.join("n1")
        job = self.pool.submit("--", "sh", "-c", "echo whole; echo words >&2")
        self.pool.wait_job(job)
        self.assertEqual(self.kept(), "whole\n")  # before the end was told
        agent.stop()
        shutil.rmtree(os.path.join(self.pool.folder, "n1"))
        told = self.pool.run("logs", job)
        self.assertEqual((told.returncode, told.stdout, told.stderr), (0, "whole\n", "words\n"))
        self.passed = True


class Limits(LogsTest):
    def on_node(self):
        """RETURNS: the jobs whose output lies on n1."""
        found = glob.glob(os.path.join(self.pool.folder, "n1/logs/*/*/*.out"))
        return sorted({Path(path).parts[-3] for path in found})

    def leave_decoy(self):
        """Output that the server has and nobody needs; the next look through the folder takes
        it."""
        decoy = Path(self.pool.folder, "n1/logs/j999/1/0.out")
        decoy.parent.mkdir(parents=True)
        decoy.touch()
        decoy.with_suffix(".shipped").touch()
        return decoy

    def test_a_node_keeps_so_much_and_whatever_is_still_needed(self):
        self.pool.serve()
        self.pool.join("n1", options=("--log-workers", 2))
        running = self.pool.submit("--restarts", "0", "--", *self.numbers())
        wait_until(lambda: self.kept().count("\n") > 50, 20, "output reaches the server")
        ended = []
        for number in range(4):
            ended.append(self.pool.submit("--", "echo", f"number {number}"))
            self.assertEqual(self.pool.wait_job(ended[-1])["status"], "COMPLETED")
        wait_until(lambda: self.on_node() == sorted([running, ended[-1]]), 20,
                   "the oldest ended ones are gone")
        for number, job in enumerate(ended):
            self.assertEqual(self.pool.run("logs", job).stdout, f"number {number}\n")

        # An end that the server does not know yet, with output that it does not have yet.
        self.pool.server.kill()
        self.finish()
        own = Path(self.pool.folder, "n1/logs", running, "1", "0.out")
        wait_until(lambda: "last out" in own.read_text(), 20, "the job ends")
        self.pool.agents["n1"].kill()
        decoy = self.leave_decoy()
        self.pool.join("n1", ready=False, options=("--log-keep", "0s"))
        wait_until(lambda: not decoy.exists(), 20, "the folder was looked through")
        self.assertEqual(self.on_node(), [running])
        whole = own.read_text()
        self.pool.serve(name="server2")
        self.assertEqual(self.pool.wait_job(running)["attempt"], 1)
        wait_until(lambda: not self.on_node(), 20, "now that may go as well")
        self.assertEqual(self.pool.run("logs", running, "--stdout").stdout, whole)
        self.passed = True

    def test_the_server_keeps_so_much_of_one_stream_and_marks_the_cut(self):
        self.pool.serve(options=("--log-stream", "64KiB"))
        self.pool.join("n1")
        job = self.pool.submit("--", "sh", "-c", "yes 0123456 | head -c 800000; echo other >&2; "
                               f"while [ ! -e {self.pool.folder}/finish ]; do sleep 0.05; done; "
                               "echo last")
        mark = ("[keiko: output over 64KiB was dropped here: the server keeps no more of one "
                "stream (--log-stream)]\n")
        wait_until(lambda: mark in self.kept(), 20, "the mark stands in the text")
        wait_until(lambda: self.kept("j1/1/0.err") == "other\n", 20, "the other stream goes on")
        self.finish()
        self.assertEqual(self.pool.wait_job(job)["status"], "COMPLETED")
        told = self.pool.run("logs", job, "--stdout").stdout
        self.assertEqual(told[:65536], "0123456\n" * 8192)
        self.assertIn(told[65536:], (mark, "\n" + mark))
        self.passed = True


class Kills(LogsTest):
    def follow(self, job):
        reader = self.pool.open("logs", job, "-f")
        texts = {}
        def read(name, stream):
            texts[name] = stream.read()
        threads = [threading.Thread(target=read, args=pair) for pair in
                   (("out", reader.stdout), ("err", reader.stderr))]
        for thread in threads:
            thread.start()
        return reader, threads, texts

    # Complaint 50: a follower loses lines at rotation, at a restart or at the end.
    def test_each_line_is_seen_once_though_agent_and_server_are_killed(self):
        self.pool.serve()
        self.pool.join("n1")
        job = self.pool.submit("--restarts", "0", "--", *self.numbers())
        reader, threads, texts = self.follow(job)
        def grows():
            before = len(self.kept())
            wait_until(lambda: len(self.kept()) > before, 40, "output reaches the server")
        for round_number in range(3):
            grows()
            self.pool.agents["n1"].kill()
            if round_number == 1:
                self.pool.server.kill()
                self.pool.serve(name=f"server{round_number}")
            self.pool.join("n1")
            grows()
            self.pool.server.kill()
            self.pool.serve(name=f"server{round_number}b")
            grows()
        self.finish()
        self.assertEqual(self.pool.wait_job(job)["status"], "COMPLETED")
        self.assertEqual(reader.wait(60), 0)
        for thread in threads:
            thread.join()
        reader.stdout.close()
        reader.stderr.close()
        lines = texts["out"].splitlines()
        count = len(lines) - 1
        self.assertEqual(lines, [f"out {i}" for i in range(count)] + [f"last out {count}"])
        errors = [line for line in texts["err"].splitlines() if not line.startswith("keiko logs:")]
        self.assertEqual(errors, [f"err {i}" for i in range(count)])
        self.assertEqual(self.kept(), texts["out"])
        self.passed = True


if __name__ == "__main__":
    unittest.main(verbosity=2)
