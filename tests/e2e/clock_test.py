"""Wrong clocks. Leases are durations, so it does not matter what time a machine believes it is, nor
that its wall clock jumps while a job runs; every time that is told is the server's, and it never
goes back. CLOCK_MONOTONIC and CLOCK_BOOTTIME stay true: nothing a user or NTP does moves them."""
import datetime
import glob
import json
import os
import time
import unittest
from pathlib import Path

from harness import KEIKO, PYTHON, SANITIZER, need, skip_script, wait_until
from parts import PartsTest

COUNTER = Path(__file__).with_name("counter.py")
HOUR, DAY, YEAR = 3600, 86_400, 365 * 86_400
LIBRARY = next(iter(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")), None)


class WrongClock:
    """A wall clock that is `offset_s` off, for the processes that get its environment; set() makes
    it jump while they run."""

    def __init__(self, folder, name, offset_s):
        self.path = Path(folder, name + ".clock")
        self.set(offset_s)
        self.environment = {"LD_PRELOAD": LIBRARY, "FAKETIME_TIMESTAMP_FILE": str(self.path),
                            "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1",
                            "NO_FAKE_STAT": "1"}

    def set(self, offset_s):
        self.offset_s = offset_s
        half = self.path.with_suffix(".new")  # a reader must not find it empty
        half.write_text(f"{offset_s:+d}")
        half.replace(self.path)

    def now(self):
        return time.time() + self.offset_s


def seconds_of(stamp):
    """The seconds since 1970 of "2026-12-02T11:31:44.953Z"."""
    whole, _, fraction = stamp.rstrip("Z").partition(".")
    at = datetime.datetime.fromisoformat(whole + "+00:00").timestamp()
    return at + float("0." + (fraction or "0"))


class Clocks(PartsTest):
    def start(self, server_s, *agents_s):
        self.server = WrongClock(self.pool.folder, "server", server_s)
        self.pool.serve(environment=self.server.environment)
        self.agents = [WrongClock(self.pool.folder, f"n{i}", offset)
                       for i, offset in enumerate(agents_s, 1)]
        for i, clock in enumerate(self.agents, 1):
            self.pool.join(f"n{i}", environment=clock.environment)

    def events(self):
        done = self.pool.run("events", "-o", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines() if line.strip()]

    def check_that_all_was_quiet(self, job):
        """No attempt but the first, no node in doubt, times that only go forward."""
        ended = self.pool.wait_job(job)
        self.assertEqual((ended["status"], ended["attempt"]), ("COMPLETED", 1))
        self.assertFalse(os.path.exists(os.path.join(self.pool.folder, "duplicates")))
        events = self.events()
        for event in events:
            self.assertNotRegex(event["text"], "SLOW|UNREACHABLE|LOST")
        times = [seconds_of(event["at"]) for event in events]
        self.assertEqual(times, sorted(times))
        return events, ended

    def count(self):
        try:
            return int(Path(self.pool.folder, "count").read_text().split()[0])
        except (OSError, IndexError):
            return 0

    def while_counting(self, seconds, each=lambda: None):
        """Calls `each` about once a second; the job must go on and the nodes be READY."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            each()
            before = self.count()
            wait_until(lambda b=before: self.count() > b + 20, 20, "the job goes on")
            for i in range(1, len(self.agents) + 1):
                node = self.pool.node(f"n{i}")
                self.assertEqual((node["status"], node["connected"]), ("READY", True))

    def start_counting(self):
        job = self.pool.submit("--devices", "1", "--", PYTHON, COUNTER, self.pool.folder, 0)
        wait_until(lambda: self.count() > 5, 20, "the job counts")
        return job

    def finish_counting(self):
        Path(self.pool.folder, "finish").touch()

    # Complaint 55: clocks that differ cost workers.
    def test_clocks_that_are_hours_and_years_apart_disturb_nothing(self):
        self.start(3 * HOUR, -2 * YEAR, 10 * YEAR)
        gang = self.pool.submit("--workers", "4", "--devices", "1", "--", "sleep", "4")
        began = self.server.now()
        told = self.pool.wait_job(gang)  # longer than the 3 s after which silence is SLOW
        events, ended = self.check_that_all_was_quiet(gang)
        self.assertEqual(set(told["nodes"]), {"n1", "n2"})
        for worker in ended["workers"]:
            self.assertRegex(worker["end"]["ran"], r"^[45]\.?\d*s$", "durations are true")
        for event in events:  # in the server's time, not in that of the agent it is about
            self.assertLess(abs(seconds_of(event["at"]) - began), 120, event)
        self.assertLess(abs(seconds_of(ended["timeline"][0]["at"]) - began), 120)

    def test_a_wall_clock_that_jumps_while_a_job_runs_disturbs_nothing(self):
        self.start(0, 0)
        job = self.start_counting()
        jumps = iter([(DAY, 0), (DAY, -DAY), (-YEAR, YEAR), (-YEAR, -HOUR), (5, 0), (0, 30),
                      (10 * YEAR, -10 * YEAR), (-HOUR, HOUR)] * 10)

        def jump():
            server_s, agent_s = next(jumps)
            self.server.set(server_s)
            self.agents[0].set(agent_s)
        self.while_counting(12, jump)  # longer than a lease
        self.server.set(10 * YEAR)
        self.pool.wait_job(self.pool.submit("--", "true"))
        year = datetime.datetime.fromtimestamp(self.server.now()).year
        self.assertIn(f"\n{year}-", self.pool.server.text(), "the log's clock is the wall's")
        self.finish_counting()
        self.check_that_all_was_quiet(job)

    def test_a_server_that_starts_again_in_the_past_goes_on_from_its_journals_time(self):
        self.start(0, 0)
        job = self.start_counting()
        submitted = seconds_of(self.pool.job(job)["timeline"][0]["at"])
        self.pool.server.kill()
        self.server.set(-YEAR)
        self.pool.serve(environment=self.server.environment)
        wait_until(lambda: self.pool.node("n1").get("connected"), 20, "the agent is back")
        self.while_counting(4)
        self.finish_counting()
        events, ended = self.check_that_all_was_quiet(job)
        times = [seconds_of(entry["at"]) for entry in ended["timeline"]]
        self.assertEqual(times, sorted(times))
        self.assertEqual(times[0], submitted)
        self.assertGreaterEqual(min(seconds_of(event["at"]) for event in events), submitted)


if __name__ == "__main__":
    need(KEIKO, "build it with ./dev build, or set KEIKO_BIN_DIR")
    if LIBRARY is None:
        skip_script("libfaketime is not there; ./dev setup test installs it")
    if SANITIZER:
        skip_script("libfaketime and a sanitizer both want to be the first library")
    unittest.main(verbosity=2)
