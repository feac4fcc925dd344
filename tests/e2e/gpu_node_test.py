"""A node with GPUs, which the fake management library shows: what a pool sees and a worker gets."""
import json
import os
import unittest
from pathlib import Path

from harness import wait_until
from parts import PartsTest

BUILD = Path(os.environ.get("KEIKO_BUILD_DIR", "build/release")).resolve()
MACHINES = Path(__file__).resolve().parent.parent / "fake_nvml/machines"
RECORDED = Path(__file__).resolve().parent.parent / "machines"
SAYS = "echo $CUDA_DEVICE_ORDER=$CUDA_VISIBLE_DEVICES."


def unpack(manifest, root):
    """Makes the files of a recorded machine; src/drivers/sysfs/machine_fixture.h has the format."""
    for line in manifest.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        path, _, content = line.partition("\t")
        file = root / path
        if content == "/":
            file.mkdir(parents=True, exist_ok=True)
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        if content.startswith("-> "):
            file.symlink_to(content[3:])
        else:
            file.write_text(content.replace("\\n", "\n").replace("\\t", "\t") + "\n")
    return root


class GpuNode(PartsTest):
    def join(self, machine, devices="auto", options=(), **answers):
        """A node with the GPUs of `machine`; `answers` are codes of functions that fail."""
        file = Path(self.pool.folder, "machine.json")
        edits = [{"at": f"/answers/{name}", "value": code} for name, code in answers.items()]
        file.write_text(json.dumps({"base": str(MACHINES / f"{machine}.json"), "edits": edits}))
        return self.pool.join("gpus", devices, options=options, environment={
            "LD_LIBRARY_PATH": str(BUILD / "fake_nvml"), "KEIKO_FAKE_NVML": str(file)})

    def devices(self):
        """RETURNS: the node's devices by index."""
        return self.pool.node("gpus")["devices"]

    def test_auto_offers_the_gpus_and_a_worker_sees_those_it_was_given(self):
        self.pool.serve()
        self.join("h100x8_nvswitch")
        devices = self.devices()
        self.assertEqual([device["kind"] for device in devices], ["h100"] * 8)
        job = self.pool.submit("--devices", "3", "--", "sh", "-c", SAYS)
        self.assertEqual(self.pool.wait_job(job)["status"], "COMPLETED")
        printed = self.pool.run("logs", job).stdout
        order, _, visible = printed.strip().rpartition("=")
        self.assertIn("PCI_BUS_ID", order)
        places = [device["uuid"] for device in devices]
        given = [places.index(uuid) for uuid in visible.rstrip(".").split(",")]
        self.assertEqual(len(given), 3)
        self.assertEqual(given, sorted(given), "in PCI order")

    # Complaints 17 and 19: every rank of a node binds GPU 0; two jobs of it both report slot 0.
    def test_each_rank_of_each_job_sees_a_gpu_of_its_own(self):
        self.pool.serve()
        self.join("h100x8_nvswitch")
        go = Path(self.pool.folder, "go")
        jobs = [self.pool.submit("--workers", "4", "--devices", "1", "--cpu", "0.1", "--",
                                 "sh", "-c", f"{SAYS}; while [ ! -e {go} ]; do sleep 0.1; done")
                for _ in range(2)]
        for job in jobs:
            wait_until(lambda: self.pool.job(job)["status"] == "RUNNING", 20, "both jobs run")
        holders = {device["uuid"]: device["worker"] for device in self.devices()}
        self.assertEqual(len(set(holders.values())), 8, holders)
        go.touch()
        seen = {}
        for job in jobs:
            self.assertEqual(self.pool.wait_job(job)["status"], "COMPLETED")
            for rank in range(4):
                said = self.pool.run("logs", job, "--rank", str(rank)).stdout
                visible = said.strip().rpartition("=")[2].rstrip(".")
                self.assertNotIn(",", visible, "one and no other")
                seen[visible] = f"{job}.1.{rank}"
        self.assertEqual(seen, holders)

    def test_a_worker_without_devices_sees_no_gpu(self):
        self.pool.serve()
        self.join("a100x4_pcie")
        job = self.pool.submit("--", "sh", "-c", SAYS)
        self.pool.wait_job(job)
        self.assertIn("PCI_BUS_ID=.", self.pool.run("logs", job).stdout)

    def test_a_slice_is_asked_for_by_its_kind(self):
        self.pool.serve()
        self.join("a100_mig", "nvml")
        job = self.pool.submit("--devices", "1", "--device-kind", "a100-1g.5gb", "--", "sh", "-c",
                               SAYS)
        self.assertEqual(self.pool.wait_job(job)["status"], "COMPLETED")
        wanted = [device["uuid"] for device in self.devices() if device["kind"] == "a100-1g.5gb"]
        self.assertIn(f"={wanted[0]}.", self.pool.run("logs", job).stdout)

    def test_other_runtimes_are_told_of_its_devices_by_a_spec(self):
        self.pool.serve()
        folder = Path(self.pool.folder, "cdi")
        self.join("a100x4_pcie", options=("--write-cdi", folder))
        spec = json.loads(Path(folder, "keiko-gpus.json").read_text())
        self.assertEqual((spec["cdiVersion"], spec["kind"]), ("0.3.0", "keiko.dev/device"))
        self.assertEqual({device["name"] for device in spec["devices"]},
                         {device["uuid"] for device in self.devices()})
        for device in spec["devices"]:
            paths = [node["path"] for node in device["containerEdits"]["deviceNodes"]]
            self.assertIn("/dev/nvidiactl", paths)

    def test_auto_takes_cpu_slots_where_the_driver_does_not_run_and_says_why(self):
        self.pool.serve()
        agent = self.join("a100x4_pcie", nvmlInit_v2=9)
        self.assertEqual({device["kind"] for device in self.devices()}, {"cpu"})
        self.assertIn("modprobe nvidia", agent.text())

    def break_gpu(self, edits):
        """What the fake library shows changes, whole or not at all."""
        file = Path(self.pool.folder, "machine.json")
        machine = json.loads(file.read_text())
        machine["edits"] += edits
        half = file.with_suffix(".half")
        half.write_text(json.dumps(machine))
        half.rename(file)

    def quarantined(self):
        """RETURNS: {subject: cause} of all that takes no new work."""
        return {health.get("name", ""): health["cause"]
                for health in self.pool.node("gpus").get("health", []) if health.get("quarantined")}

    def test_a_gpu_with_a_fatal_xid_gets_no_more_jobs_and_the_incident_is_told(self):
        self.pool.serve()
        self.join("rtx4090x2_workstation")
        ill, well = [device["uuid"] for device in self.devices()]
        self.break_gpu([{"at": "/events", "value": [{"id": 1, "uuid": ill, "xid": 95}]}])
        wait_until(lambda: self.quarantined() == {ill: "xid_95"}, 10, "the GPU is in quarantine")
        for _ in range(2):
            job = self.pool.submit("--devices", "1", "--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES")
            self.assertEqual(self.pool.wait_job(job)["status"], "COMPLETED")
            self.assertEqual(self.pool.run("logs", job).stdout.strip(), well)
        both = self.pool.submit("--devices", "2", "--", "true")
        self.assertIn("in quarantine", self.pool.run("why", both).stdout)
        self.assertIn("xid_95", self.pool.run("health", "gpus").stdout)
        told = json.loads(self.pool.run("incidents", "-o", "json").stdout)["nodes"][0]["incidents"]
        self.assertEqual([(one["cause"], one["name"]) for one in told], [("xid_95", ill)])
        self.assertTrue(told[0]["steps"])

    def join_recorded(self, machine, devices):
        """Starts an agent whose driver reads the files of a recorded machine.
        RETURNS: the agent, and the node's devices by index."""
        node = machine.replace("_", "-")
        root = unpack(RECORDED / f"{machine}.txt", Path(self.pool.folder, machine))
        agent = self.pool.launch(node, [
            "agent", "--join", f"127.0.0.1:{self.pool.grpc}", "--name", node, "--state",
            f"{self.pool.folder}/{node}-state", "--devices", devices, "--device-root", str(root)])
        wait_until(lambda: self.pool.node(node), 20, f"{node} joins")
        return agent, self.pool.node(node)["devices"]

    def test_gpus_of_amd_are_offered_and_a_worker_sees_those_it_was_given(self):
        self.pool.serve()
        agent, devices = self.join_recorded("mi300x_8", "rocm")
        self.assertEqual([device["kind"] for device in devices], ["mi300x"] * 8, agent.text())
        job = self.pool.submit("--devices", "2", "--", "sh", "-c",
                               "echo $ROCR_VISIBLE_DEVICES=$HIP_VISIBLE_DEVICES")
        self.assertEqual(self.pool.wait_job(job)["status"], "COMPLETED")
        visible, _, counted = self.pool.run("logs", job).stdout.strip().partition("=")
        self.assertEqual(counted, "0,1")
        places = [[device["uuid"] for device in devices].index(u) for u in visible.split(",")]
        self.assertEqual(places, sorted(places), "in PCI order")
        self.assertEqual(len(places), 2)

    def test_a_node_tells_its_numa_nodes_and_which_nic_is_near_which_device(self):
        self.pool.serve()
        agent, _ = self.join_recorded("mi300x_8", "rocm")
        topology = json.loads(self.pool.run("topology", "mi300x-8", "-o", "json").stdout)
        self.assertEqual([numa["cores"] for numa in topology["host"]["numa"]],
                         ["0-15,32-47", "16-31,48-63"], agent.text())
        near = {way.get("device", 0): way["nic"] for way in topology["nic_ways"]
                if way["nearness"] == "switch"}
        self.assertEqual(near, {index: f"mlx5_{index}" for index in range(8)})
        self.assertIn("8 infiniband 400 Gb/s", self.pool.run("topology").stdout)

    def test_other_accelerators_are_found_and_a_worker_sees_those_it_was_given(self):
        self.pool.serve()
        for machine, kinds, variable, numbers in (
                ("gaudi_8", ["gaudi2"] * 8, "HABANA_VISIBLE_DEVICES", range(8)),
                ("tpu_v5e_4", ["tpu-v5e"] * 4, "TPU_VISIBLE_CHIPS", range(4)),
                ("intel_2", ["max1550", "flex170"], "ZE_AFFINITY_MASK", (1, 2))):
            with self.subTest(machine=machine):
                agent, devices = self.join_recorded(machine, "auto")
                self.assertEqual([device["kind"] for device in devices], kinds, agent.text())
                job = self.pool.submit("--devices", "1", "--device-kind", kinds[0], "--", "sh",
                                       "-c", f"echo ${variable}")
                self.assertEqual(self.pool.wait_job(job)["status"], "COMPLETED")
                seen = self.pool.run("logs", job).stdout.strip()
                self.assertIn(seen, [str(number) for number in numbers])

    def test_nvml_by_name_refuses_to_go_on_without_it(self):
        self.pool.serve()
        agent = self.pool.launch("gpus", [
            "agent", "--join", f"127.0.0.1:{self.pool.grpc}", "--name", "gpus", "--state",
            self.pool.folder + "/gpus", "--devices", "nvml", "--nvml-library", "/no/library"])
        self.assertNotEqual(agent.wait(), 0)
        self.assertIn("install the NVIDIA driver", agent.text())

    def test_an_unknown_word_is_answered_with_those_that_there_are(self):
        agent = self.pool.join("gpus", "gpu", ready=False)
        self.assertNotEqual(agent.wait(), 0)
        self.assertIn("auto, cpu", agent.text())


if __name__ == "__main__":
    unittest.main(verbosity=2)
