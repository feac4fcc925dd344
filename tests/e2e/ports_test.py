"""Fifty jobs on one machine at once: no two of them get the same rendezvous port."""
import os
import unittest

from harness import PoolTest, wait_until

JOBS = 50


class Ports(PoolTest):
    nodes, devices = 2, JOBS

    def test_fifty_jobs_at_once_have_fifty_master_ports(self):
        gate = os.path.join(self.pool.folder, "gate")
        waits = f"echo port=$MASTER_PORT; while [ ! -e {gate} ]; do sleep 0.2; done"
        jobs = [self.pool.submit("--cpu", "0.01", "--devices", "1", "--", "sh", "-c", waits)
                for _ in range(JOBS)]

        def all_run():
            told = [self.pool.job(job) for job in jobs[-3:] + jobs[:3]]
            return all(job.get("status") == "RUNNING" for job in told)
        wait_until(all_run, 40, "the jobs run")
        ports = {job: self.pool.wait_job(job, ["RUNNING"])["master_port"] for job in jobs}
        self.assertEqual(len(set(ports.values())), JOBS, ports)
        open(gate, "w").close()
        for job in jobs:
            self.assertEqual(self.pool.wait_job(job)["status"], "COMPLETED")
        printed = {self.pool.run("logs", job).stdout.split("port=")[1].strip() for job in jobs}
        self.assertEqual(printed, {str(port) for port in ports.values()})


if __name__ == "__main__":
    unittest.main(verbosity=2)
