"""Checks: a worker whose device fails one never starts there, the job runs elsewhere, and what was
quarantined comes back once a test passes or an operator says so."""
import json
import os
import time
import unittest
from pathlib import Path

from harness import wait_until
from parts import PartsTest

BUILD = Path(os.environ.get("KEIKO_BUILD_DIR", "build/release")).resolve()
MACHINES = Path(__file__).resolve().parent.parent / "fake_nvml/machines"


class Checks(PartsTest):
    def path(self, name):
        return Path(self.pool.folder, name)

    def join(self, name="n1", devices=2, retest_after="1h", more=(), **environment):
        self.path("checks.d").mkdir(exist_ok=True)
        options = ["--checks-dir", self.path("checks.d"), "--retest-after", retest_after,
                   "--kernel-log", "none", *more]
        return self.pool.join(name, devices, options=options, **environment)

    def hook(self, name, body):
        """An operator puts a check in place, whole or not at all."""
        half = self.path("half")
        half.write_text(f"#!/bin/sh\n{body}\n")
        half.chmod(0o755)
        half.rename(self.path("checks.d") / name)

    def ill(self, node="n1"):
        """RETURNS: {subject: cause} of all that takes no new work."""
        return {health.get("name", ""): health["cause"]
                for health in self.pool.node(node).get("health", []) if health.get("quarantined")}

    def run_job(self, *words):
        job = self.pool.submit("--restarts", "0", "--devices", "1", "--", *words)
        ended = self.pool.wait_job(job)
        self.assertEqual((ended["status"], ended.get("exit_code", 0)), ("COMPLETED", 0), ended)
        return job, ended

    def incidents(self, node="n1"):
        told = json.loads(self.pool.run("incidents", node, "-o", "json").stdout)
        return told["nodes"][0].get("incidents", [])

    def test_a_job_never_runs_on_a_device_that_fails_its_preflight(self):
        self.pool.serve()
        self.join()
        bad, good = [device["uuid"] for device in self.pool.node("n1")["devices"]]
        self.hook("burn-in", f"[ $KEIKO_DEVICE_UUID != {bad} ] && exit 0\n"
                             "echo the sum is 41 instead of 42\nexit 2")
        says = "echo $KEIKO_VISIBLE_DEVICES >> " + str(self.path("ran"))
        for _ in range(3):
            self.run_job("sh", "-c", says)
        self.assertEqual(set(self.path("ran").read_text().split()), {good})
        wait_until(lambda: self.ill() == {bad: "check_burn-in"}, 10, "the device is in quarantine")
        shown = self.pool.run("health", "n1").stdout
        self.assertIn("the sum is 41 instead of 42", shown)

        self.hook("burn-in", "echo the sum is right")
        done = self.pool.run("check", "n1/0")
        self.assertEqual(done.returncode, 0, done.stderr)
        wait_until(lambda: not self.ill(), 20, "a test that passes ends the quarantine")
        self.assertIn("probation", self.pool.run("health", "n1").stdout)
        incident = self.incidents()[-1]
        self.assertEqual(incident["cause"], "check_burn-in")
        self.assertTrue(incident["ended_by"])

    # Complaint 35: a node is taken out silently and stays out.
    def test_nobody_is_charged_and_the_job_waits_until_the_device_is_tested_again(self):
        self.pool.serve()
        self.join(devices=1, retest_after="2s")
        self.hook("fans", "echo no fan turns; exit 2")
        job = self.pool.submit("--restarts", "0", "--devices", "1", "--", "echo", "made it")
        wait_until(self.ill, 20, "the device is in quarantine")
        self.assertEqual(self.pool.job(job)["status"], "PENDING")
        self.assertIn("no fan turns", self.pool.run("job", job).stdout)
        self.hook("fans", "echo all fans turn")
        ended = self.pool.wait_job(job)
        self.assertEqual(ended["status"], "COMPLETED")
        self.assertEqual(ended.get("infra_faults", 0) + ended.get("user_faults", 0), 0)
        self.assertEqual(self.pool.run("logs", job).stdout, "made it\n")

    def test_an_operator_clears_a_quarantine_also_after_a_restart_of_the_agent(self):
        self.pool.serve()
        agent = self.join(devices=1)
        self.hook("fans", "echo no fan turns; exit 2")
        self.pool.submit("--devices", "1", "--", "true")
        wait_until(self.ill, 20, "the device is in quarantine")
        agent.stop()
        self.hook("fans", "exit 0")
        self.join(devices=1)
        wait_until(self.ill, 20, "the agent remembers")
        refused = self.pool.run("clear", "n1/0")
        self.assertNotEqual(refused.returncode, 0, "who clears says why")
        done = self.pool.run("clear", "n1/0", "--reason", "cleaned the fans")
        self.assertEqual(done.returncode, 0, done.stderr)
        wait_until(lambda: not self.ill(), 10, "it may work")
        self.assertIn("cleaned the fans", self.incidents()[-1]["ended_by"])
        again = self.pool.run("clear", "n1/0", "--reason", "twice")
        self.assertNotEqual(again.returncode, 0)
        self.assertIn("nothing is wrong", again.stderr)

    def test_a_hook_of_the_node_takes_the_whole_node_out(self):
        self.pool.serve()
        self.join()
        self.join("n2", 1)
        self.hook("node-power", "echo one supply has failed; exit 2")
        job = self.pool.submit("--devices", "1", "--", "true")
        wait_until(lambda: self.ill("n1") and self.ill("n2"), 20, "both nodes fail their check")
        self.hook("node-power", "exit 0")
        for node in ("n1", "n2"):
            self.assertEqual(self.pool.run("check", node).returncode, 0)
        self.assertEqual(self.pool.wait_job(job)["status"], "COMPLETED")

    def test_a_gpu_that_wants_a_reset_is_reset_once_its_job_has_ended(self):
        self.pool.serve()
        self.edit_machine([])
        program = self.path("reset")
        program.write_text(f"#!/bin/sh\necho $KEIKO_DEVICE_UUID >> {self.path('was-reset')}\n")
        program.chmod(0o755)
        self.join("gpus", "auto", more=["--reset-program", program],
                  environment=self.gpu_environment())
        job = self.pool.submit("--devices", "2", "--", "sh", "-c",
                               f"while [ ! -e {self.path('end')} ]; do sleep 0.05; done")
        self.pool.wait_job(job, ["RUNNING"])
        ill = self.pool.node("gpus")["devices"][0]["uuid"]
        self.edit_machine([{"at": "/events", "value": [{"id": 1, "uuid": ill, "xid": 95}]}])
        wait_until(lambda: self.ill("gpus") == {ill: "xid_95"}, 10, "the GPU is in quarantine")
        self.assertFalse(self.path("was-reset").exists(), "its job still runs")
        self.path("end").touch()
        self.assertEqual(self.pool.wait_job(job)["status"], "COMPLETED")
        wait_until(lambda: not self.ill("gpus"), 20, "a reset ends the quarantine")
        self.assertEqual(self.path("was-reset").read_text().split(), [ill])
        self.assertIn("reset", self.incidents("gpus")[-1]["ended_by"])

    def gpu_environment(self):
        return {"LD_LIBRARY_PATH": str(BUILD / "fake_nvml"),
                "KEIKO_FAKE_NVML": str(self.path("machine.json"))}

    def edit_machine(self, edits):
        file = self.path("machine.json")
        base = str(MACHINES / "rtx4090x2_workstation.json")
        half = file.with_suffix(".half")
        half.write_text(json.dumps({"base": base, "edits": edits}))
        half.rename(file)

    def test_a_gpu_whose_memory_a_stranger_holds_gets_no_job_until_it_is_free(self):
        self.pool.serve()
        holder = {"pid": os.getpid(), "memory_mib": 9000, "kind": "compute"}
        self.edit_machine([{"at": "/gpus/0/processes", "value": [holder]}])
        self.join("gpus", "auto", environment=self.gpu_environment())
        held, free = [device["uuid"] for device in self.pool.node("gpus")["devices"]]
        says = "echo $CUDA_VISIBLE_DEVICES >> " + str(self.path("ran"))
        for _ in range(2):
            self.run_job("sh", "-c", says)
        self.assertEqual(set(self.path("ran").read_text().split()), {free})
        wait_until(lambda: self.ill("gpus") == {held: "check_memory"}, 10, "it is in quarantine")
        shown = self.pool.run("health", "gpus").stdout
        self.assertIn(f"pid {os.getpid()}", shown)
        self.edit_machine([])
        self.pool.run("check", "gpus/0")
        wait_until(lambda: not self.ill("gpus"), 20, "it is free, and tested")
        told = next(one for one in self.incidents("gpus") if one["cause"] == "check_memory")
        self.assertIn("not covered: compute", told["ended_by"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
