"""What scrapers see of a pool: a real Prometheus reads agent and server and answers questions."""
import json
import os
import re
import shutil
import subprocess
import unittest
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from harness import free_port, wait_until
from parts import Daemon, PartsTest

BUILD = Path(os.environ.get("KEIKO_BUILD_DIR", "build/release")).resolve()
MACHINES = Path(__file__).resolve().parent.parent / "fake_nvml/machines"
SAMPLE = re.compile(r'^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)$')


class Machine:
    """The GPUs of a fake machine, which a test changes while an agent looks."""

    def __init__(self, folder, shape):
        self.file, self.shape, self.edits = Path(folder, "machine.json"), shape, []
        self.events = 0
        self.write()

    def set(self, at, value):
        self.edits.append({"at": at, "value": value})
        self.write()

    def raise_xid(self, uuid, xid):
        self.events += 1
        self.set("/events/-", {"id": self.events, "uuid": uuid, "xid": xid})

    def write(self):
        fresh = self.file.with_suffix(".new")
        fresh.write_text(json.dumps({"base": str(MACHINES / f"{self.shape}.json"),
                                     "edits": self.edits}))
        fresh.rename(self.file)

    def environment(self):
        return {"LD_LIBRARY_PATH": str(BUILD / "fake_nvml"), "KEIKO_FAKE_NVML": str(self.file)}


def get(url):
    with urllib.request.urlopen(url, timeout=20) as answer:
        return answer.read().decode()


def samples(text):
    """RETURNS: {name: {labels: number}} of a page of metrics."""
    found = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, labels, number = SAMPLE.match(line).groups()
            found.setdefault(name, {})[labels or ""] = float(number)
    return found


class Metrics(PartsTest):
    def launch_agent(self, name, *words, environment=None):
        state = Path(self.pool.folder, name)
        if "--kernel-log" not in words:
            words = ("--kernel-log", "none", *words)
        agent = self.pool.launch(name, [
            "agent", "--join", f"127.0.0.1:{self.pool.grpc}", "--name", name, "--state", state,
            "--address", "127.0.0.1", *words], environment)
        self.pool.agents[name] = agent
        return agent, state / "metrics"

    def join_measured(self, name, *words, environment=None):
        """Starts an agent that shows metrics. RETURNS: "127.0.0.1:PORT"."""
        agent, file = self.launch_agent(name, "--metrics-port", "0", *words,
                                        environment=environment)
        wait_until(lambda: file.exists() or not agent.runs(), 20, "the agent shows metrics")
        self.assertTrue(agent.runs(), agent.text())
        return file.read_text().strip()

    def gpus(self, shape, *words):
        self.machine = Machine(self.pool.folder, shape)
        return self.join_measured("gpus", "--devices", "nvml", *words,
                                  environment=self.machine.environment())

    def await_sample(self, address, name, condition):
        """RETURNS: {labels: number} of the metric once `condition` holds of it."""
        def reached():
            found = samples(get(f"http://{address}/metrics")).get(name, {})
            return found if found and condition(found) else None
        return wait_until(reached, 20, name)

    def test_a_prometheus_scrapes_agent_and_server_and_answers(self):
        if not shutil.which("prometheus"):
            self.skipTest("prometheus is not installed; ./dev setup test installs it")
        self.pool.serve()
        address = self.gpus("h100x8_nvswitch")
        self.machine.set("/gpus/3/temperature", 77)
        self.machine.set("/gpus/3/memory/used_mib", 70000)
        folder, port = Path(self.pool.folder), free_port()
        (folder / "prometheus.yml").write_text(json.dumps({
            "global": {"scrape_interval": "1s"},
            "scrape_configs": [{"job_name": "keiko", "static_configs": [
                {"targets": [address, f"127.0.0.1:{self.pool.http}"]}]}]}))
        prometheus = Daemon("prometheus", [
            "prometheus", f"--config.file={folder}/prometheus.yml",
            f"--storage.tsdb.path={folder}/tsdb", f"--web.listen-address=127.0.0.1:{port}",
            "--log.level=warn"], self.pool.environment, self.pool.folder)
        self.pool.daemons.append(prometheus)

        def ask(query):
            url = f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode(
                {"query": query})
            try:
                told = json.loads(get(url))["data"]["result"]
            except (OSError, ValueError):
                self.assertTrue(prometheus.runs(), prometheus.text())
                return []
            return [(row["metric"], float(row["value"][1])) for row in told]

        wait_until(lambda: len(ask("up == 1")) == 2, 60, "both are scraped")
        # What a published board asks, in its words.
        hot = wait_until(lambda: ask('DCGM_FI_DEV_GPU_TEMP{Hostname="gpus", gpu="3"} == 77'), 20,
                         "the board sees the temperature")
        self.assertEqual(len(hot), 1)
        self.assertEqual(hot[0][0]["modelName"], "NVIDIA H100 80GB HBM3")
        self.assertEqual(hot[0][0]["device"], "nvidia3")
        self.assertEqual(hot[0][0]["DCGM_FI_DRIVER_VERSION"], "550.54.15")
        used = ask('DCGM_FI_DEV_FB_USED / (DCGM_FI_DEV_FB_USED + DCGM_FI_DEV_FB_FREE) > 0.8')
        self.assertEqual([row["gpu"] for row, _ in used], ["3"])
        self.assertEqual(ask("count(keiko_device_power_watts)"), [({}, 8.0)])
        self.assertEqual([number for _, number in ask("keiko_devices")], [8.0])

    def test_the_text_has_nothing_that_promtool_blames_us_for(self):
        if not shutil.which("promtool"):
            self.skipTest("promtool is not installed; ./dev setup test installs it")
        self.pool.serve()
        address = self.gpus("h100x8_nvswitch")
        self.await_sample(address, "keiko_device_power_watts", lambda found: len(found) == 8)
        for target in (address, f"127.0.0.1:{self.pool.http}"):
            done = subprocess.run(["promtool", "check", "metrics"], text=True, capture_output=True,
                                  input=get(f"http://{target}/metrics"))
            blamed = [line for line in (done.stdout + done.stderr).splitlines()
                      if line.strip() and not line.startswith("DCGM_FI_")]
            self.assertEqual(blamed, [], target)
            self.assertIn(done.returncode, (0, 3))  # 3: names that DCGM chose

    def test_every_reading_of_the_driver_has_a_metric_and_xids_are_counted(self):
        self.pool.serve()
        address = self.gpus("h100x8_nvswitch")
        self.await_sample(address, "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", lambda found: len(found) == 8)
        unknown = self.await_sample(address, "keiko_agent_unknown_readings_total",
                                    lambda found: True)
        self.assertEqual(list(unknown.values()), [0])
        uuid = json.loads(Path(MACHINES, "h100x8_nvswitch.json").read_text())["gpus"][2]["uuid"]
        for xid in (31, 94, 31):
            self.machine.raise_xid(uuid, xid)
        counts = self.await_sample(address, "keiko_device_xids_total",
                                   lambda found: sum(found.values()) == 3)
        told = {re.search('xid="(\\d+)"', labels).group(1): n for labels, n in counts.items()}
        self.assertEqual(told, {"31": 2, "94": 1})
        last = samples(get(f"http://{address}/metrics"))["DCGM_FI_DEV_XID_ERRORS"]
        self.assertEqual([n for labels, n in last.items() if f'UUID="{uuid}"' in labels], [31])
        self.assertEqual(sum('err_code="0",err_msg="No Error"' in labels for labels in last), 7)

    def test_xids_of_the_kernel_s_log_count_and_those_of_both_count_once(self):
        self.pool.serve()
        log = Path(self.pool.folder, "kmsg")
        before = "NVRM: Xid (PCI:0000:1b:00): 62, pid=7, name=old"
        log.write_text(f"3,1,1000,-;{before}\n")
        address = self.gpus("h100x8_nvswitch", "--kernel-log", log)
        self.await_sample(address, "keiko_agent_samples_total", lambda found: any(
            'source="kernel"' in labels and n > 0 for labels, n in found.items()))
        self.await_sample(address, "keiko_device_power_watts", lambda found: len(found) == 8)
        gpu = json.loads(Path(MACHINES, "h100x8_nvswitch.json").read_text())["gpus"][2]
        with log.open("a") as lines:
            for i, xid in enumerate((79, 31)):
                lines.write(f"3,{i + 2},{2000 + i},-;NVRM: Xid (PCI:{gpu['pci'][:-2]}): {xid}, "
                            "pid=7, name=python\n")
        self.machine.raise_xid(gpu["uuid"], 31)
        self.await_sample(address, "keiko_device_xids_total", lambda found: len(found) >= 2)
        reads = self.samples_of(address, "kernel")
        self.await_sample(address, "keiko_agent_samples_total",
                          lambda _: self.samples_of(address, "kernel") >= reads + 3)
        page = samples(get(f"http://{address}/metrics"))
        told = {re.search('xid="(\\d+)"', labels).group(1): n
                for labels, n in page["keiko_device_xids_total"].items()
                if f'uuid="{gpu["uuid"]}"' in labels}
        self.assertEqual(told, {"79": 1, "31": 1})
        self.assertEqual(len(page["keiko_device_xids_total"]), 2, "what was before does not count")

    def samples_of(self, address, source):
        found = samples(get(f"http://{address}/metrics"))["keiko_agent_samples_total"]
        return sum(n for labels, n in found.items() if f'source="{source}"' in labels)

    def test_slices_are_told_apart_under_both_names(self):
        self.pool.serve()
        address = self.gpus("a100_mig")
        for name, expected in (
                ("keiko_device_memory_used_bytes", 'mig_profile="2g.10gb",gpu_instance="3"'),
                ("DCGM_FI_DEV_FB_USED", 'GPU_I_PROFILE="2g.10gb",GPU_I_ID="3"')):
            found = self.await_sample(address, name, lambda found: len(found) == 4)
            self.assertEqual(sum(expected in labels for labels in found), 1, found)

    def test_a_worker_s_share_of_its_gpu_is_measured(self):
        self.pool.serve()
        address = self.gpus("h100x8_nvswitch")
        job = self.pool.submit("--devices", "1", "--", "sh", "-c",
                               "echo $$ $CUDA_VISIBLE_DEVICES; exec sleep 600")
        said = wait_until(lambda: self.pool.run("logs", job).stdout.split(), 20, "it runs")
        uuids = [gpu["uuid"] for gpu in
                 json.loads(Path(MACHINES, "h100x8_nvswitch.json").read_text())["gpus"]]
        self.machine.set(f"/gpus/{uuids.index(said[1])}/processes", [
            {"pid": int(said[0]), "memory_mib": 2048, "sm": 50},
            {"pid": 1, "memory_mib": 512, "sm": 10}])
        memory = self.await_sample(address, "keiko_worker_device_memory_bytes",
                                   lambda found: True)
        self.assertEqual(memory, {f'node="gpus",job="{job}",rank="0",worker="{job}.1.0"':
                                  2048 << 20})
        busy = self.await_sample(address, "keiko_worker_devices_busy", lambda found: True)
        self.assertEqual(list(busy.values()), [0.5])
        self.pool.run("cancel", job)
        wait_until(lambda: "keiko_worker_device" not in get(f"http://{address}/metrics"), 20,
                   "an ended worker is not shown")

    def test_what_is_no_number_is_absent(self):
        self.pool.serve()
        address = self.gpus("h100x8_nvswitch")
        self.await_sample(address, "keiko_device_power_watts", lambda found: len(found) == 8)
        self.machine.set("/garbage", True)
        self.await_sample(address, "keiko_device_info", lambda found: "keiko_device_power_watts"
                          not in samples(get(f"http://{address}/metrics")))
        for name, found in samples(get(f"http://{address}/metrics")).items():
            for labels, number in found.items():
                self.assertLess(abs(number), 9.1e15, f"{name}{{{labels}}}")

    def test_the_past_can_be_read_and_a_gpu_that_goes_leaves_it_behind(self):
        self.pool.serve()
        address = self.gpus("a100x4_pcie")
        self.await_sample(address, "keiko_device_power_watts", lambda found: len(found) == 4)
        self.machine.set("/gpus/1/lost", True)
        self.await_sample(address, "keiko_device_power_watts", lambda found: len(found) == 3)
        told = json.loads(get(f"http://{address}/history?name=keiko_device_power_watts"))
        self.assertEqual(len(told["series"]), 4)
        for series in told["series"]:
            self.assertGreaterEqual(len(series["fine"]), 1)
            self.assertEqual(series["unit"], "watts")
        with self.assertRaises(urllib.error.HTTPError) as refused:
            get(f"http://{address}/history?name=keiko_no_such_metric")
        self.assertEqual(refused.exception.code, 404)

    def test_the_machine_and_its_workers_are_measured(self):
        self.pool.serve()
        address = self.join_measured("first", "--devices", "1")
        cores = self.await_sample(address, "keiko_node_cpus", lambda found: True)
        self.assertEqual(list(cores.values()), [os.cpu_count()])
        job = self.pool.submit("--", "sh", "-c", "while :; do :; done")
        busy = self.await_sample(address, "keiko_worker_cpu_cores",
                                 lambda found: max(found.values()) > 0.1)
        self.assertIn(f'worker="{job}.1.0"', list(busy)[0])
        memory = self.await_sample(address, "keiko_worker_memory_resident_bytes",
                                   lambda found: True)
        self.assertGreater(max(memory.values()), 100_000)
        self.pool.run("cancel", job)
        wait_until(lambda: "keiko_worker_cpu_cores" not in get(f"http://{address}/metrics"), 20,
                   "an ended worker is not shown")

    def test_the_pool_shows_the_newest_readings(self):
        self.pool.serve()
        self.gpus("h100x8_nvswitch")
        self.machine.set("/gpus/5/utilisation", {"gpu": 97, "memory": 40, "encoder": 0,
                                                 "decoder": 0})
        self.machine.set("/gpus/5/power_mw", 650000)
        self.machine.set("/gpus/5/memory/used_mib", 40960)
        wait_until(lambda: self.pool.node("gpus")["devices"][5].get("reading", {})
                   .get("power_watts") == 650, 20, "the server knows")
        reading = self.pool.node("gpus")["devices"][5]["reading"]
        self.assertEqual(reading["utilisation_ratio"], 0.97)
        self.assertEqual(reading["memory_used_bytes"], 40960 << 20)
        wide = self.pool.run("devices", "-o", "wide").stdout
        row = next(line for line in wide.splitlines() if line.startswith("gpus/5"))
        for shown in ("97%", "40GiB", "31C", "650/700W"):
            self.assertIn(shown, row)
        self.assertNotIn("97%", self.pool.run("devices").stdout)
        # How busy the machine is follows from two looks at it, so the first page may lack it.
        wait_until(lambda: re.search(r"CPU .* taken, \d+% busy",
                                     self.pool.run("node", "gpus").stdout), 20, "it is busy")
        self.assertIn("650/700W", self.pool.run("node", "gpus").stdout)

    def test_without_a_port_nothing_listens_and_a_taken_port_is_named(self):
        self.pool.serve()
        address = self.join_measured("first", "--devices", "1")
        _, file = self.launch_agent("second", "--devices", "1")
        wait_until(lambda: self.pool.node("second").get("connected"), 20, "it joins")
        self.assertFalse(file.exists())
        port = address.split(":")[1]
        third, _ = self.launch_agent("third", "--devices", "1", "--metrics-port", port)
        self.assertNotEqual(third.wait(), 0)
        self.assertIn(f"port {port} is in use", third.text())
        fourth, _ = self.launch_agent("fourth", "--devices", "1", "--metrics-port", "0",
                                      "--sample-every", "0")
        self.assertNotEqual(fourth.wait(), 0)
        self.assertIn("nothing to show", fourth.text())


if __name__ == "__main__":
    unittest.main(verbosity=2)
