"""The past of metrics: kept by the server, over its own restart, and of nodes that are gone."""
import json
import os
import re
import unittest
from pathlib import Path

from harness import wait_until
from parts import PartsTest

BUILD = Path(os.environ.get("KEIKO_BUILD_DIR", "build/release")).resolve()
MACHINES = Path(__file__).resolve().parent.parent / "fake_nvml/machines"


class History(PartsTest):
    def watts(self, value):
        """The GPU with index 3 draws so much from now on."""
        fresh = self.machine.with_suffix(".new")
        fresh.write_text(json.dumps({
            "base": str(MACHINES / "h100x8_nvswitch.json"),
            "edits": [{"at": "/gpus/3/power_mw", "value": value * 1000}]}))
        fresh.rename(self.machine)

    def gpus(self):
        self.machine = Path(self.pool.folder, "machine.json")
        self.watts(650)
        return self.pool.join("gpus", devices="nvml", options=["--kernel-log", "none"],
                              environment={"LD_LIBRARY_PATH": str(BUILD / "fake_nvml"),
                                           "KEIKO_FAKE_NVML": str(self.machine)})

    def past(self, *words):
        """RETURNS: {(device index, metric): points}."""
        told = json.loads(self.pool.run("history", "gpus", "-o", "json", *words).stdout)
        return {(series.get("index", 0), series["metric"]): series["points"]
                for series in told.get("series", [])}

    def peak(self, *words):
        points = self.past(*words).get((3, "power_watts"), [])
        return max((point["max"] for point in points), default=0)

    def test_a_peak_is_shown_after_it_is_over_and_after_the_server_started_again(self):
        server = self.pool.serve()
        agent = self.gpus()
        wait_until(lambda: self.peak() == 650, 30, "the server keeps what the agent tells")
        self.watts(120)
        wait_until(lambda: self.past()[(3, "power_watts")][-1]["min"] == 120, 30, "it goes down")
        past = self.past()
        self.assertEqual({index for index, metric in past if metric == "power_watts"},
                         set(range(8)))
        self.assertIn((-1, "load_1m"), past)

        page = self.pool.run("history", "gpus/3", "--metric", "power_watts").stdout
        self.assertRegex(page, r"(?m)^gpus/3  GPU-\S+ +MIN +MEAN +MAX +LAST$")
        self.assertRegex(page, r"(?m)^power_watts +[ ▁-█]+ +120W +\d+W +650W +\d+W$")
        status, text = self.pool.ask(
            "/v1/nodes/gpus/history?device=3&metric=power_watts&since=10m")
        self.assertEqual(status, 200, text)
        told = json.loads(text)
        self.assertEqual([series["metric"] for series in told["series"]], ["power_watts"])
        self.assertEqual(max(point["max"] for point in told["series"][0]["points"]), 650)

        agent.kill()
        server.stop()
        self.pool.serve(name="server2")
        self.assertEqual(self.peak(), 650, "the node is gone, its past is not")
        for words in (("gpus/99",), ("nobody",)):
            refused = self.pool.run("history", *words)
            self.assertNotEqual(refused.returncode, 0)
            self.assertIn("there are", refused.stderr)

    def metric(self, name):
        """RETURNS: what the server's /metrics says of it; nothing if it is not there."""
        text = self.pool.ask("/metrics")[1]
        found = re.search(rf"(?m)^{name}(?:{{}})? (\S+)$", text)
        return float(found.group(1)) if found else None

    def test_a_file_that_cannot_be_used_costs_the_history_and_nothing_else(self):
        server = self.pool.serve()
        self.pool.join("first", devices=1)
        self.assertEqual(self.metric("keiko_history_writable"), 1)
        self.assertEqual(self.metric("keiko_history_write_failures_total"), 0)
        server.stop()
        file = next(Path(self.pool.folder).rglob("history.db"))
        for path in file.parent.glob("history.db*"):
            path.unlink()
        file.mkdir()
        server = self.pool.serve(name="server2")
        self.assertRegex(server.text(), r"history_not_kept .*history\.db")
        self.assertEqual(self.metric("keiko_history_writable"), 0)
        wait_until(lambda: self.pool.node("first").get("connected"), 30, "its agent is back")
        job = self.pool.submit("--", "true")
        self.assertEqual(self.pool.wait_job(job)["status"], "COMPLETED")
        refused = self.pool.run("history", "first")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("keeps no history of metrics; its log says why", refused.stderr)

    def test_a_damaged_file_costs_the_past_and_nothing_else(self):
        server = self.pool.serve()
        self.pool.join("first", devices=1)
        server.stop()
        file = next(Path(self.pool.folder).rglob("history.db"))
        for path in file.parent.glob("history.db*"):
            path.unlink()
        file.write_bytes(b"x" * 9000)
        server = self.pool.serve(name="server2")
        self.assertRegex(server.text(), r"history_damaged .*begins anew")
        self.assertTrue(Path(f"{file}.damaged").exists())
        wait_until(lambda: self.pool.node("first").get("connected"), 30, "its agent is back")
        wait_until(lambda: re.search("load_1m", self.pool.run("history", "first").stdout), 30,
                   "the history begins anew")


if __name__ == "__main__":
    unittest.main(verbosity=2)
