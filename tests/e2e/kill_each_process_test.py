"""kill -9 of each process of a pool in turn, while a job with checkpoints runs on it."""
import json
import os
import unittest
from pathlib import Path

from harness import KEIKO, PYTHON, Pool, need, wait_until

COUNTER = Path(__file__).with_name("counter.py")


class KillEachProcess(unittest.TestCase):
    def setUp(self):
        need(KEIKO, "build it with ./dev build, or set KEIKO_BIN_DIR")

    def test_the_job_ends_right_and_never_runs_twice(self):
        with Pool(nodes=2, devices=2) as pool:
            counting = pool.folder
            job = pool.submit("--devices", "1", "--", PYTHON, COUNTER, counting, 0)
            wait_until(lambda: self.count_in(counting) > 5, 20, "the job counts")

            for name in ("server", "node1", "node2"):
                before = pool.kill(name)
                wait_until(lambda n=name, b=before: pool.pids().get(n, b) != b, 15,
                           f"{name} is started again")
                wait_until(lambda: self.joined(pool) == 2, 20, "both nodes are back")
                self.moves_on(counting)

            pool.kill("supervisor")
            self.moves_on(counting)      # the server and the agents need no supervisor
            server = pool.pids()["server"]
            pool.start()
            self.assertEqual(pool.pids()["server"], server, "the server was taken over")
            self.moves_on(counting)

            self.assertEqual(pool.job(job)["status"], "RUNNING")
            Path(counting, "finish").touch()
            ended = pool.wait_job(job)
            self.assertEqual((ended["status"], ended["exit_code"]), ("COMPLETED", 0))
            total = self.count_in(counting)
            self.assertIn(f"sum {total * (total + 1) // 2} of {total}",
                          pool.run("logs", job).stdout)
            self.assertFalse(os.path.exists(os.path.join(counting, "duplicates")))
            steps = [int(line.split()[1]) for line in
                     Path(counting, "steps").read_text().splitlines()]
            self.assertEqual(steps, sorted(set(steps)), "no step was done twice")

    def count_in(self, folder):
        try:
            return int(Path(folder, "count").read_text().split()[0])
        except (OSError, IndexError):
            return 0

    def joined(self, pool):
        done = pool.run("nodes", "-o", "json")
        if done.returncode != 0:
            return 0
        nodes = json.loads(done.stdout)
        nodes = nodes.get("nodes", nodes) if isinstance(nodes, dict) else nodes
        return sum(node.get("status") == "READY" and node.get("connected") for node in nodes)

    def moves_on(self, folder):
        before = self.count_in(folder)
        wait_until(lambda: self.count_in(folder) > before, 20, "the job goes on")


class StopAndStartAgain(unittest.TestCase):
    def setUp(self):
        need(KEIKO, "build it with ./dev build, or set KEIKO_BIN_DIR")

    def test_a_job_goes_on_after_the_pool_was_stopped_and_started(self):
        with Pool(nodes=1, devices=1) as pool:
            job = pool.submit("--", PYTHON, COUNTER, pool.folder, 200)
            wait_until(lambda: os.path.exists(os.path.join(pool.folder, "count")), 20, "it counts")
            pool.stop()
            at_stop = Path(pool.folder, "count").read_text()
            pool.start()
            ended = pool.wait_job(job)
            self.assertEqual(ended["status"], "COMPLETED")
            self.assertLess(int(at_stop.split()[0]), 200, "the stop had come too late to show it")
            self.assertIn("sum 20100 of 200", pool.run("logs", job).stdout)
            self.assertFalse(os.path.exists(os.path.join(pool.folder, "duplicates")))


if __name__ == "__main__":
    unittest.main(verbosity=2)
