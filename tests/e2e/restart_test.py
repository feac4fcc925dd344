"""A worker that is killed starts again and the job ends right; one that always fails ends too."""
import os
import shutil
import signal
import subprocess
import time
import unittest
from pathlib import Path

from harness import KEIKO, Pool, PoolTest, alive, wait_until

# The first attempt waits to be killed; the second one ends.
WAITS_ONCE = 'echo attempt $KEIKO_ATTEMPT; [ "$KEIKO_ATTEMPT" -ge 2 ] || sleep 60'


class Restart(PoolTest):
    nodes, devices = 2, 2

    def pids(self, job):
        workers = self.pool.job(job).get("workers", [])
        return [int(w["pid"]) for w in workers if w.get("status") == "running" and w.get("pid")]

    def test_a_killed_worker_makes_a_second_attempt_that_ends_well(self):
        job = self.pool.submit("--", "sh", "-c", WAITS_ONCE)
        self.pool.wait_job(job, ["RUNNING"])
        os.kill(wait_until(lambda: self.pids(job), 10, "a pid")[0], signal.SIGKILL)
        ended = self.pool.wait_job(job)
        self.assertEqual((ended["status"], ended["attempt"]), ("COMPLETED", 2))
        self.assertIn("attempt 2", self.pool.run("logs", job).stdout)

    def test_a_gang_is_restarted_as_one(self):
        job = self.pool.submit("--workers", "2", "--devices", "1", "--", "sh", "-c", WAITS_ONCE)
        self.pool.wait_job(job, ["RUNNING"])
        pids = wait_until(lambda: len(self.pids(job)) == 2 and self.pids(job), 10, "both pids")
        os.kill(pids[1], signal.SIGKILL)
        ended = self.pool.wait_job(job)
        self.assertEqual((ended["status"], ended["attempt"]), ("COMPLETED", 2))

    def test_a_program_that_always_fails_stops_with_its_own_words(self):
        job = self.pool.submit("--restarts", "1", "--", "sh", "-c", "echo no such disk >&2; exit 3")
        ended = self.pool.wait_job(job)
        self.assertEqual((ended["status"], ended["exit_code"], ended["attempt"]), ("FAILED", 3, 2))
        self.assertIn("no such disk", self.pool.run("job", job).stdout)

    def test_requeue_starts_a_running_job_again(self):
        job = self.pool.submit("--", "sh", "-c", WAITS_ONCE)
        self.pool.wait_job(job, ["RUNNING"])
        self.assertEqual(self.pool.run("requeue", job).returncode, 0)
        self.assertEqual(self.pool.wait_job(job)["status"], "COMPLETED")


class Stop(unittest.TestCase):
    def test_says_what_it_waits_for_and_the_job_goes_on_with_the_next_start(self):
        with Pool() as pool:
            ready = Path(pool.folder, "ready")
            job = pool.submit("--", "sh", "-c", f"trap 'sleep 4; exit 0' TERM; touch {ready}; "
                              '[ "$KEIKO_ATTEMPT" -ge 2 ] && exit 0; while :; do sleep 0.1; done')
            wait_until(ready.exists, 20, "the program hears signals")
            stopped = pool.run("up", "--stop", "--state", pool.state)
            self.assertEqual((stopped.returncode, stopped.stderr), (
                0, "waiting for programs that got SIGTERM; SIGKILL follows 30s after it\n"))
            pool.supervisor.wait()
            pool.start()
            self.assertEqual(pool.wait_job(job)["status"], "COMPLETED")

    def test_a_program_that_heeds_no_signal_is_killed_after_its_job_s_own_grace(self):
        with Pool() as pool:
            ready = Path(pool.folder, "ready")
            pool.submit("--grace", "3s", "--", "sh", "-c",
                        f"trap '' TERM; touch {ready}; while :; do sleep 0.1; done")
            wait_until(ready.exists, 20, "the program heeds no signal")
            before = time.monotonic()
            stopped = pool.run("up", "--stop", "--state", pool.state)
            self.assertEqual((stopped.returncode, stopped.stderr), (
                0, "waiting for programs that got SIGTERM; SIGKILL follows 3s after it\n"))
            took = time.monotonic() - before
            self.assertGreaterEqual(took, 3)
            self.assertLess(took, 20, "not the 30 s of a job that says nothing")
            pool.supervisor.wait()


    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "needs root and setpriv")
    def test_another_user_is_told_at_once_that_it_is_not_theirs_to_stop(self):
        with Pool() as pool:
            # Its folder is the owner's alone; one that was opened up shows what stands behind it.
            for path in (pool.folder, pool.state):
                os.chmod(path, 0o755)
            before = time.monotonic()
            refused = subprocess.run(
                ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", KEIKO, "up",
                 "--stop", "--state", pool.state], capture_output=True, text=True, timeout=60)
            self.assertEqual(refused.returncode, 4, refused.stderr)
            self.assertIn("Operation not permitted", refused.stderr)
            self.assertLess(time.monotonic() - before, 20, "it does not wait for what it cannot do")
            self.assertTrue(alive(pool.pids()["supervisor"]))


class Second(PoolTest):
    def test_a_second_up_says_that_one_runs_and_disturbs_nothing(self):
        before = self.pool.pids()
        log = Path(self.pool.state, "logs", "up.log")
        log.write_text("of the pool that runs\n")
        for words in ((), ("--detach",)):
            done = self.pool.run("up", "--state", self.pool.state, "--grpc-port", "0", *words)
            self.assertEqual((done.returncode, done.stdout), (4, ""), done.stderr)
            self.assertIn(f"`keiko up` (pid {before['supervisor']}) runs already on "
                          f"{self.pool.state}; stop it with `keiko up --stop", done.stderr)
        self.assertEqual(self.pool.pids(), before)
        self.assertEqual(log.read_text(), "of the pool that runs\n")
        self.assertEqual(self.pool.run("run", "--", "true").returncode, 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
