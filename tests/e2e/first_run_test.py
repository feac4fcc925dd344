"""The first things that a user does: run, look, read the logs, in tables and in JSON."""
import json
import unittest

from harness import PoolTest, wait_until


class FirstRun(PoolTest):
    nodes, devices = 2, 2

    def test_run_prints_what_the_program_prints_and_ends_with_its_code(self):
        done = self.pool.run("run", "--", "echo", "hello pool")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("hello pool", done.stdout)

    def test_run_ends_with_the_code_of_a_program_that_fails(self):
        done = self.pool.run("run", "--restarts", "0", "--", "sh", "-c", "echo oops >&2; exit 7")
        self.assertEqual(done.returncode, 7, done.stdout + done.stderr)
        self.assertIn("oops", done.stdout + done.stderr)

    def test_run_ends_with_128_and_the_number_of_the_signal(self):
        done = self.pool.run("run", "--restarts", "0", "--infra-restarts", "0", "--",
                             "sh", "-c", "kill -9 $$")
        self.assertEqual(done.returncode, 128 + 9, done.stdout + done.stderr)

    def test_each_rank_of_a_gang_knows_who_it_is(self):
        done = self.pool.run("run", "--workers", "3", "--devices", "1", "--", "sh", "-c",
                             "echo rank=$RANK of=$WORLD_SIZE at=$MASTER_ADDR:$MASTER_PORT")
        self.assertEqual(done.returncode, 0, done.stderr)
        places = set()
        for rank in range(3):
            line = next(l for l in done.stdout.splitlines() if f"rank={rank} of=3" in l)
            places.add(line.split("at=")[1])
        self.assertEqual(len(places), 1, done.stdout)

    def test_logs_can_be_read_after_the_job_has_ended(self):
        job = self.pool.submit("--", "sh", "-c", "echo to-out; echo to-err >&2")
        self.pool.wait_job(job)
        self.assertIn("to-out", self.pool.run("logs", job).stdout)
        told = self.pool.run("logs", job, "--stderr")
        self.assertIn("to-err", told.stderr)
        self.assertNotIn("to-out", told.stdout + told.stderr)

    def test_following_the_logs_ends_with_the_job_and_misses_nothing(self):
        job = self.pool.submit("--", "sh", "-c", "for i in $(seq 200); do echo line $i; done")
        lines = self.pool.run("logs", "-f", job).stdout.split("\n")
        numbers = [line.split("line ")[1] for line in lines if "line " in line]
        self.assertEqual(numbers, [str(i) for i in range(1, 201)])

    def test_every_listing_is_json_on_request(self):
        job = self.pool.submit("--name", "listed", "--", "true")
        self.pool.wait_job(job)
        jobs = json.loads(self.pool.run("jobs", "--all", "-o", "json").stdout
                          or self.pool.run("jobs", "-o", "json").stdout)
        nodes = json.loads(self.pool.run("nodes", "-o", "json").stdout)
        devices = json.loads(self.pool.run("devices", "-o", "json").stdout)
        self.assertIn(job, json.dumps(jobs))
        self.assertIn("node1", json.dumps(nodes))
        self.assertIn("node2", json.dumps(devices))
        self.assertEqual(self.pool.job(job)["status"], "COMPLETED")

    def test_a_job_tells_its_story(self):
        job = self.pool.submit("--", "true")
        self.pool.wait_job(job)
        story = self.pool.run("job", job).stdout
        self.assertIn("COMPLETED", story)
        self.assertIn("node", story)

    def test_a_job_that_waits_says_why_and_goes_on_when_it_can(self):
        first = self.pool.submit("--workers", "4", "--devices", "1", "--", "sleep", "60")
        self.pool.wait_job(first, ["RUNNING"])
        second = self.pool.submit("--devices", "1", "--", "echo", "at last")
        told = wait_until(lambda: "device" in self.pool.run("why", second).stdout, 10, "why")
        self.assertTrue(told)
        self.assertEqual(self.pool.job(second)["status"], "PENDING")
        self.assertEqual(self.pool.run("cancel", first).returncode, 0)
        self.assertEqual(self.pool.wait_job(second)["status"], "COMPLETED")
        self.assertEqual(self.pool.wait_job(first)["status"], "CANCELLED")

    def test_a_job_that_no_node_could_hold_is_refused_at_once(self):
        done = self.pool.run("submit", "--devices", "9", "--", "true")
        self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
        self.assertIn("9", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
