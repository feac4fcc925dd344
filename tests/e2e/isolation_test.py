"""What holds a worker to its share of a machine, as seen from inside it and as the pool tells it:
cores beside its devices, variables that show its devices and no others, and what becomes of a
device whose worker cannot be killed."""
import json
import os
import time
import unittest
from pathlib import Path

from gpu_node_test import MACHINES, RECORDED, BUILD, unpack
from harness import alive, wait_until
from parts import PartsTest

FREEZER = Path("/sys/fs/cgroup/freezer")
# A worker that tries all cores and says which it may use.
TRIES_ALL = "taskset -pc 0-1023 $$ >/dev/null 2>&1; "
SAYS_CORES = "grep Cpus_allowed_list /proc/self/status | cut -f2"


class Isolation(PartsTest):
    def join_recorded(self, machine, *options):
        """A node whose drivers read the files of a recorded machine. RETURNS: its devices."""
        root = unpack(RECORDED / f"{machine}.txt", Path(self.pool.folder, machine))
        node = machine.replace("_", "-")
        self.pool.join(node, "auto", options=["--device-root", root, "--kernel-log", "none",
                                              *options])
        return self.pool.node(node)["devices"]

    def says(self, script, *words):
        """RETURNS: what a job with one worker printed."""
        job = self.pool.submit(*words, "--", "sh", "-c", script)
        ended = self.pool.wait_job(job)
        self.assertEqual(ended["status"], "COMPLETED", ended)
        return self.pool.run("logs", job).stdout.strip()

    # ---- cores ----

    def join_two_sockets(self, *options):
        if not {0, 1} <= os.sched_getaffinity(0):
            self.skipTest("this process may not use the cores 0 and 1, which the machine has")
        self.pool.serve()
        devices = self.join_recorded("gaudi_2", *options)
        self.assertEqual([device["numa_node"] if "numa_node" in device else 0
                          for device in devices], [0, 1])

    def test_a_worker_runs_on_the_cores_beside_its_device_and_on_no_others(self):
        self.join_two_sockets()
        told = self.pool.node("gaudi-2")["isolation"]["guards"]
        by = next(guard["by"] for guard in told if guard["name"] == "cores")
        tries = TRIES_ALL if by.startswith("cgroup") else ""
        gate = Path(self.pool.folder, "gate")
        script = f"{tries}echo $HABANA_VISIBLE_DEVICES=$({SAYS_CORES}); " \
                 f"while [ ! -e {gate} ]; do sleep 0.05; done"
        jobs = [self.pool.submit("--devices", "1", "--", "sh", "-c", script) for _ in range(2)]
        wait_until(lambda: all("=" in self.pool.run("logs", job).stdout for job in jobs), 20,
                   "both have said it")
        said = sorted(self.pool.run("logs", job).stdout.strip() for job in jobs)
        gate.touch()
        self.assertEqual(said, ["0=0", "1=1"], "device=cores")
        self.assertEqual(self.says(f"{tries}{SAYS_CORES}", "--devices", "2"), "0-1")

    def test_a_worker_without_devices_or_on_a_node_that_binds_nothing_runs_anywhere(self):
        self.join_two_sockets("--no-near-cores")
        own = Path("/proc/self/status").read_text()
        everywhere = own.partition("Cpus_allowed_list:\t")[2].partition("\n")[0]
        self.assertEqual(self.says(SAYS_CORES, "--devices", "1"), everywhere)
        self.assertEqual(self.says(SAYS_CORES), everywhere)

    # ---- variables ----

    def test_every_vendors_variables_show_a_worker_its_devices_and_no_others(self):
        self.pool.serve()
        for machine, kind, want in (
                ("mi300x_8", "mi300x", {"ROCR_VISIBLE_DEVICES": "UUIDS",
                                        "HIP_VISIBLE_DEVICES": "0,1"}),
                ("gaudi_8", "gaudi2", {"HABANA_VISIBLE_DEVICES": "NUMBERS"}),
                ("tpu_v5e_4", "tpu-v5e", {"TPU_VISIBLE_CHIPS": "NUMBERS"})):
            with self.subTest(machine=machine):
                devices = self.join_recorded(machine)
                said = self.says("env", "--devices", "2", "--device-kind", kind)
                told = dict(line.split("=", 1) for line in said.splitlines() if "=" in line)
                uuids = told["KEIKO_DEVICES"].split(",")
                places = [[device["uuid"] for device in devices].index(uuid) for uuid in uuids]
                self.assertEqual(places, sorted(places), "in PCI order")
                forms = {"UUIDS": ",".join(uuids), "NUMBERS": ",".join(map(str, places))}
                for name, form in want.items():
                    self.assertEqual(told[name], forms.get(form, form), name)
                self.assertEqual(told["LOCAL_RANK"], "0")
        machine = Path(self.pool.folder, "machine.json")
        machine.write_text(json.dumps({"base": str(MACHINES / "h100x8_nvswitch.json")}))
        self.pool.join("nvidia", "auto", environment={
            "LD_LIBRARY_PATH": str(BUILD / "fake_nvml"), "KEIKO_FAKE_NVML": str(machine)})
        said = self.says("env", "--devices", "2", "--device-kind", "h100")
        told = dict(line.split("=", 1) for line in said.splitlines() if "=" in line)
        self.assertEqual(told["CUDA_VISIBLE_DEVICES"], told["KEIKO_DEVICES"])
        self.assertEqual(told["CUDA_DEVICE_ORDER"], "PCI_BUS_ID")

    def test_each_worker_of_a_node_finds_its_own_device_at_its_local_rank(self):
        # Complaints 17 and 18: every rank on GPU 0; local rank against visible index.
        self.pool.serve()
        self.join_recorded("gaudi_8")
        job = self.pool.submit("--workers", "2", "--devices", "1", "--one-node", "--", "sh", "-c",
                               "echo $RANK: $LOCAL_RANK $KEIKO_LOCAL_RANK $HABANA_VISIBLE_DEVICES")
        self.assertEqual(self.pool.wait_job(job)["status"], "COMPLETED")
        lines = [line.partition(": ")[2].split()
                 for line in self.pool.run("logs", job).stdout.splitlines()]
        self.assertEqual({line[-3] for line in lines}, {"0"}, "it sees one device, and that is 0")
        self.assertEqual(sorted(line[-2] for line in lines), ["0", "1"])
        self.assertEqual(len({line[-1] for line in lines}), 2, "two different devices")

    def test_a_job_that_sets_them_itself_is_refused(self):
        self.pool.serve()
        for variable, words in (("CUDA_VISIBLE_DEVICES=0", "say how many with 'devices'"),
                                ("MASTER_PORT=29500", "set by Keiko for each worker"),
                                ("WORLD_SIZE=8", "say how many there are with 'workers'")):
            refused = self.pool.run("submit", "--env", variable, "--", "true")
            self.assertNotEqual(refused.returncode, 0)
            self.assertIn(variable.partition("=")[0] + " is set by Keiko", refused.stderr)
            self.assertIn(words, refused.stderr)

    # ---- what the pool tells ----

    def test_a_node_says_what_holds_its_workers_and_why_not(self):
        self.pool.serve()
        self.pool.join("n1", options=["--no-cgroups", "--no-device-guard"])
        told = self.pool.node("n1")["isolation"]
        guards = {guard["name"]: guard for guard in told["guards"]}
        self.assertEqual(told["cgroups"], "none")
        self.assertEqual(guards["memory"]["by"], "rlimit")
        self.assertIn("--no-cgroups", guards["memory"]["why_not"])
        self.assertIn("--no-device-guard", guards["devices"]["why_not"])
        self.assertIn("none, free: cpu,threads,devices",
                      self.pool.run("nodes", "-o", "wide").stdout)
        page = self.pool.run("node", "n1").stdout
        self.assertRegex(page, r"devices +nothing +turned off \(--no-device-guard\)")

    # ---- a worker that cannot be killed ----

    def freeze(self, pid):
        """Has `pid` wait in the kernel, where SIGKILL does not reach it (state D)."""
        if not (FREEZER / "cgroup.procs").exists() or not os.access(FREEZER, os.W_OK):
            self.skipTest("no writable freezer of cgroups v1, the one way to a process in D state")
        group = FREEZER / f"keiko-e2e-{os.getpid()}"
        group.mkdir(exist_ok=True)
        self.addCleanup(self.thaw, group)
        (group / "cgroup.procs").write_text(str(pid))
        (group / "freezer.state").write_text("FROZEN")
        wait_until(lambda: (group / "freezer.state").read_text().strip() == "FROZEN", 10, "frozen")
        return group

    @staticmethod
    def thaw(group):
        if not group.exists():
            return
        (group / "freezer.state").write_text("THAWED")

        def is_gone():
            try:
                group.rmdir()
            except OSError:
                return False
            return True
        wait_until(is_gone, 20, "its processes are gone")

    def quarantined(self):
        return {health.get("name", ""): health["cause"]
                for health in self.pool.node("n1").get("health", []) if health.get("quarantined")}

    def test_a_job_goes_elsewhere_from_a_worker_that_hangs_and_the_device_waits_for_a_test(self):
        # Complaint 30: a worker in D state, the launcher waits for ever, the slot is pinned.
        self.pool.serve()
        self.pool.join("n1", 2, options=["--retest-after", "1s", "--kernel-log", "none"])
        says = Path(self.pool.folder, "says")
        job = self.pool.submit("--devices", "1", "--", "sh", "-c",
                               f"echo $$ $KEIKO_VISIBLE_DEVICES >> {says}; exec sleep 1000")
        pid, device = wait_until(lambda: says.exists() and says.read_text().split(), 20, "it runs")
        group = self.freeze(int(pid))
        self.assertEqual(self.pool.run("cancel", job).returncode, 0)
        begun = time.monotonic()
        ended = self.pool.wait_job(job)
        self.assertEqual(ended["status"], "CANCELLED")
        self.assertGreater(time.monotonic() - begun, 5, "a slow kernel is given time")
        self.assertTrue(alive(int(pid)), "it is there all the while")
        self.assertEqual(self.quarantined(), {device: "dstate_process"})
        self.assertIn(f"process {pid} waits in the kernel", self.pool.run("health", "n1").stdout)
        other = self.says("echo $KEIKO_VISIBLE_DEVICES", "--devices", "1")
        self.assertNotEqual(other, device)
        both = self.pool.submit("--devices", "2", "--", "true")
        self.assertIn("in quarantine", self.pool.run("why", both).stdout)
        self.thaw(group)
        wait_until(lambda: not self.quarantined(), 20, "a test finds the device well")
        self.assertEqual(self.pool.wait_job(both)["status"], "COMPLETED")
        told = json.loads(self.pool.run("incidents", "n1", "-o", "json").stdout)
        incident = told["nodes"][0]["incidents"][-1]
        self.assertEqual(incident["cause"], "dstate_process")
        self.assertTrue(incident.get("recovered_at"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
