"""Disks that are full for real: the server's and an agent's folder lie on a file system of a few
megabytes. Nothing that was acknowledged is lost, nothing that runs is disturbed, and everybody who
is refused something hears where the room is missing."""
import json
import os
import shutil
import signal
import sys
import threading
import time
import unittest
from pathlib import Path

from harness import KEIKO, PYTHON, need, skip_script, wait_until
from parts import PartsTest, SmallDisk, enter_mount_namespace

COUNTER = Path(__file__).with_name("counter.py")


class DiskTest(PartsTest):
    small = "state"  # the folder in the pool's that lies on a small disk

    def setUp(self):
        super().setUp()
        self.disk = SmallDisk(os.path.join(self.pool.folder, self.small))
        self.disks.append(self.disk)

    def path(self, name):
        return os.path.join(self.pool.folder, name)

    def count(self):
        try:
            return int(Path(self.pool.folder, "count").read_text().split()[0])
        except (OSError, IndexError):
            return 0

    def counts_on(self):
        before = self.count()
        wait_until(lambda: self.count() > before, 20, "the running job goes on")

    def jobs(self, which):
        """RETURNS: what the server knows of these jobs."""
        return {job: self.pool.job(job).get("status") for job in which}


class Submitter(threading.Thread):
    """Submits over HTTP, one after the other, until it is told to stop."""

    def __init__(self, pool):
        super().__init__(daemon=True)
        self.pool, self.accepted, self.refusals, self.going = pool, [], [], True
        self.start()

    def run(self):
        # They wait for both devices of n1; the environment makes their records large. Once those do
        # not fit any more, small ones fill the blocks that the log has already.
        while self.going:
            fill = "x" * (20_000 if not self.refusals else 10)
            spec = {"name": "waits", "command": ["true"], "devices": 2, "env": {"FILL": fill}}
            status, text = self.pool.ask("/v1/jobs", {"spec": spec})
            if status == 201:
                self.accepted.append(text.split('"job":"')[1].split('"')[0])
            else:
                self.refusals.append((status, text))

    def has_filled_all(self):
        """Not even a small one could be written when that was tried."""
        return any("not accepted" in text for _, text in self.refusals[1:])

    def finish(self):
        self.going = False
        self.join()


class ServerDisk(DiskTest):
    def start(self):
        self.pool.serve()
        self.pool.join("n1", devices=2)
        job = self.pool.submit("--devices", "1", "--", PYTHON, COUNTER, self.pool.folder, 0)
        wait_until(lambda: self.count() > 2, 20, "the job counts")
        return job

    def fill_while_submitting(self):
        submitter = Submitter(self.pool)
        wait_until(lambda: len(submitter.accepted) > 3, 20, "submits are accepted")
        self.disk.fill()
        wait_until(lambda: self.disk.fill() or submitter.has_filled_all(), 20,
                   "submits are refused")
        submitter.finish()
        return submitter

    def check_refusals(self, submitter):
        journal = os.path.join(self.pool.state, "journal.db")
        for status, text in submitter.refusals:
            self.assertEqual(status, 429, text)
            for part in ('"code":"resource_exhausted"', journal, "disk is full", "make room"):
                self.assertIn(part, text)
        done = self.pool.run("submit", "--", "true")
        self.assertEqual(done.returncode, 5, done.stderr)  # docs/cli.md: cannot answer now
        self.assertEqual(done.stdout, "")
        for part in (journal, "disk is full", "make room"):
            self.assertIn(part, done.stderr)

    def check_reads(self, known):
        self.assertEqual(set(self.jobs(known).values()), {"PENDING"})
        self.assertEqual(self.pool.ask("/healthz"), (200, "read-only\n"))
        self.assertIn("takes no writes now", self.pool.run("version").stderr)
        self.assertIn("keiko_journal_writable 0", self.pool.ask("/metrics")[1])

    def test_submits_are_refused_reads_and_running_jobs_go_on_and_nothing_is_lost(self):
        running = self.start()
        short = self.pool.submit("--", "sh", "-c",
                                 f"while [ ! -e {self.path('end')} ]; do sleep 0.05; done; exit 7")
        self.pool.wait_job(short, ["RUNNING"])
        submitter = self.fill_while_submitting()
        self.check_refusals(submitter)
        self.check_reads(submitter.accepted)

        Path(self.path("end")).touch()  # its end cannot be written down yet
        lease_over = time.monotonic() + 12
        while time.monotonic() < lease_over:  # the lease of 10 s is renewed all the same
            self.assertIn(self.pool.node("n1").get("status"), ("READY", "SLOW"))
            self.counts_on()
        self.assertEqual(self.pool.job(short)["status"], "RUNNING",
                         "nothing is told that a crash would take back")

        self.disk.make_room()
        wait_until(lambda: self.pool.run("submit", "--", "true").returncode == 0, 30,
                   "submits are taken again")
        ended = self.pool.wait_job(short)
        self.assertEqual((ended["status"], ended["exit_code"], ended["attempt"]), ("FAILED", 7, 1))
        self.assertEqual(self.pool.ask("/healthz"), (200, "ok\n"))
        self.check_that_all_end(running, submitter.accepted)

    def check_that_all_end(self, running, accepted):
        self.assertEqual(set(self.jobs(accepted).values()), {"PENDING"})
        Path(self.path("finish")).touch()
        ended = self.pool.wait_job(running)
        self.assertEqual((ended["status"], ended["attempt"]), ("COMPLETED", 1))
        self.assertFalse(os.path.exists(self.path("duplicates")))
        for job in accepted:
            self.assertEqual(self.pool.wait_job(job)["status"], "COMPLETED", job)

    def test_a_server_that_dies_on_a_full_disk_comes_back_with_all_it_acknowledged(self):
        running = self.start()
        submitter = self.fill_while_submitting()
        self.pool.server.kill()
        self.disk.fill()
        refused = self.pool.serve(ready=False)
        self.assertEqual(refused.wait(), 5, refused.text())
        for part in (self.pool.state, "full", "make room"):
            self.assertIn(part, refused.text())
        self.disk.make_room()
        self.pool.serve()
        wait_until(lambda: self.pool.node("n1").get("connected"), 20, "the agent is back")
        self.counts_on()
        self.check_that_all_end(running, submitter.accepted)


class AgentDisk(DiskTest):
    small = "n1"

    def start(self):
        self.pool.serve()
        self.pool.join("n1")

    def test_output_that_finds_no_room_is_marked_and_told_and_the_program_runs_on(self):
        self.start()
        job = self.pool.submit("--", "sh", "-c", "echo begins; while [ ! -e full ]; do sleep 0.05; "
                               "done; yes lost | head -c 3000000; touch lost; "
                               "while [ ! -e room ]; do sleep 0.05; done; echo ends")
        wait_until(lambda: "begins" in self.pool.run("logs", job).stdout, 20, "it runs")
        self.disk.fill()
        Path(self.path("full")).touch()
        wait_until(lambda: os.path.exists(self.path("lost")), 20, "it wrote into a full disk")
        self.disk.make_room()
        Path(self.path("room")).touch()
        self.assertEqual(self.pool.wait_job(job)["status"], "COMPLETED")
        self.assertRegex(self.pool.run("logs", job).stdout, r"(?s)^begins\n.*\n\[keiko: output was "
                         r"dropped here: No space left on device\]\nends\n$")

    def test_output_that_was_lost_to_the_end_is_told_by_the_job(self):
        self.start()
        job = self.pool.submit("--", "sh", "-c", "while [ ! -e full ]; do sleep 0.05; done; "
                               "yes lost | head -c 3000000; echo why >&2; exit 3")
        self.pool.wait_job(job, ["RUNNING"])
        self.disk.fill()
        Path(self.path("full")).touch()
        ended = self.pool.wait_job(job)
        self.assertEqual((ended["status"], ended["exit_code"]), ("FAILED", 3))
        told = self.pool.run("job", job).stdout
        self.assertIn("[keiko: output was dropped: No space left on device; it was for "
                      + self.path("n1/logs"), told)

    def test_a_worker_folder_that_cannot_be_made_is_named_and_the_job_waits_for_room(self):
        self.start()
        self.disk.fill()
        job = self.pool.submit("--restarts", "0", "--", "echo", "made it")
        told = wait_until(lambda: (text := self.pool.run("job", job).stdout) if
                          "No space left" in (text := self.pool.run("job", job).stdout) else None,
                          20, "the job says why it does not run")
        self.assertRegex(told, r"rank 0 on n1 could not be started: .*/n1/.*: No space left on "
                         r"device; make room there")
        self.disk.make_room()
        self.assertEqual(self.pool.wait_job(job)["status"], "COMPLETED")

    def test_another_node_takes_what_a_full_one_cannot_start(self):
        self.start()
        self.disk.fill()
        self.pool.join("n2")
        jobs = [self.pool.submit("--restarts", "0", "--", "true") for _ in range(4)]
        for job in jobs:
            self.assertEqual(self.pool.wait_job(job)["status"], "COMPLETED")


class Guard(DiskTest):
    small = "n1"

    def told(self):
        """RETURNS: what `keiko health` shows."""
        return self.pool.run("health").stdout

    def test_a_nearly_full_disk_takes_no_work_says_so_and_comes_back_by_itself(self):
        self.pool.serve()
        self.pool.join("n1", options=("--disk-floor", "128KiB"))
        running = self.pool.submit("--", PYTHON, COUNTER, self.pool.folder, 0)
        wait_until(lambda: self.count() > 2, 20, "the job counts")
        ended = self.pool.submit("--", "sh", "-c", "yes shipped | head -c 300000")
        self.assertEqual(self.pool.wait_job(ended)["status"], "COMPLETED")
        wait_until(lambda: list(Path(self.path("n1")).rglob("0.shipped")), 20, "output is shipped")
        output = self.pool.run("logs", ended).stdout
        self.assertEqual(len(output), 300_000)
        kept = [path for path in Path(self.path("n1/logs")).rglob("0.*")
                if path.with_name("0.shipped").exists()]
        self.assertTrue(kept)

        self.disk.fill()
        wait_until(lambda: not any(path.exists() for path in kept), 20,
                   "what the server has goes early")
        # That was room enough; without it the node has none to make.
        wait_until(lambda: self.disk.fill() or "disk_low" in self.told(), 20, "the node says so")
        job = self.pool.submit("--", "true")
        wait_until(lambda: "quarantine" in self.pool.run("why", job).stdout, 20,
                   "keiko why says why n1 takes nothing")
        self.counts_on()
        self.assertEqual(self.pool.run("logs", ended).stdout, output)
        self.assertEqual(self.pool.job(job)["status"], "PENDING")

        self.disk.make_room()
        self.assertEqual(self.pool.wait_job(job)["status"], "COMPLETED")
        Path(self.path("finish")).touch()
        self.assertEqual(self.pool.wait_job(running)["attempt"], 1)


class UpDisk(DiskTest):
    """All of a `keiko up` on one small disk."""

    def record(self):
        try:
            told = json.loads(Path(self.pool.state, "up.json").read_text())
        except FileNotFoundError:
            return None
        return {row["name"]: row["pid"] for row in told["processes"]} if told["ready"] else None

    def test_an_agent_is_started_again_and_the_record_of_the_pool_is_not_lost(self):
        up = self.pool.launch("up", ["up", "--state", self.pool.state, "--grpc-port",
                                     self.pool.grpc, "--http-port", self.pool.http])
        before = wait_until(self.record, 30, "the pool is up")
        self.disk.fill()
        os.kill(before["node1"], signal.SIGKILL)
        wait_until(lambda: "up.json is old now" in up.text(), 20, "the supervisor says so")
        self.assertRegex(up.text(), r"node1 started again: pid \d+\nup.json is old now: write "
                         r".*/up.json.new: No space left on device; make room there\n")
        self.assertEqual(self.record(), before, "how the pool is found again")
        self.disk.make_room()
        wait_until(lambda: self.pool.node("node1").get("connected"), 20, "the agent is back")
        self.assertEqual(self.pool.run("run", "--", "true").returncode, 0)


if __name__ == "__main__":
    need(KEIKO, "build it with ./dev build, or set KEIKO_BIN_DIR")
    if not shutil.which("unshare"):
        skip_script("there is no unshare (util-linux), so no disk can be made full")
    if reason := enter_mount_namespace([sys.executable, "-B", *sys.argv]):
        skip_script(reason)
    unittest.main(verbosity=2)
