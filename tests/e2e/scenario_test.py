"""The files of tests/scenarios against real processes, as they run under the virtual clock.

usage: scenario_test.py [FILE...]      all files of tests/scenarios if none is named

Each file gets a server and agents of its own (scenario_pool.py), all files at once, each at its own
times. What must hold: every `expect` and `expect-node`, asked until it holds for at most
scenario_run.PATIENCE_S after its time; for each job and node the durable facts of the expected
trace, in order and with their text, as scenario_facts.py says in detail; the words of refusals; and
that no two copies of a worker ran at once. Files with `clock virtual` are skipped. `keiko sim
scenario FILE --update` rewrites a trace from the virtual clock; here nothing is ever rewritten.
"""
import concurrent.futures
import sys
import tempfile
import unittest
from pathlib import Path

from harness import KEIKO, ROOT, SANITIZER, need, skip_script
from scenario_facts import Fact, canonical
from scenario_run import ScenarioRun, read_scenario

FOLDER = ROOT / "tests/scenarios"


class Scenario(unittest.TestCase):
    """One file; its run has begun before."""

    def __init__(self, scenario, future):
        super().__init__("holds_for_real")
        self.scenario, self.future = scenario, future

    def __str__(self):
        return Path(self.scenario["file"]).stem

    def holds_for_real(self):
        if self.scenario["virtual_only"]:
            self.skipTest("clock virtual: " + self.scenario["virtual_because"])
        if problems := self.future.result():
            self.fail("\n" + "\n".join(problems))


class Failing(unittest.TestCase):
    """A scenario that does not hold fails, and says where and why."""
    folder, futures = None, {}

    @classmethod
    def begin(cls, pool):
        cls.folder = tempfile.TemporaryDirectory(prefix="keiko-scenario-")
        text = (FOLDER / "no_restarts_wanted.txt").read_text()
        for name, right, wrong in (("expectation", "exit=7\nend", "exit=8\nend"),
                                   ("trace", "exited with 7; restarts", "exited with 9; restarts")):
            assert text.count(right) == 1, f"no_restarts_wanted.txt: '{right}' is not there once"
            path = Path(cls.folder.name, name + ".txt")
            path.write_text(text.replace(right, wrong))
            cls.futures[name] = pool.submit(ScenarioRun(read_scenario(path)).run)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def first(self, name):
        problems = self.futures[name].result()
        self.assertTrue(problems, f"{name}.txt held")
        return problems[0]

    def test_a_wrong_expectation_names_file_line_expected_and_seen(self):
        problem = self.first("expectation")
        self.assertIn("/expectation.txt:5: ", problem)
        self.assertIn("expected: a FAILED attempts=1 reason=WorkerFailed exit=8", problem)
        self.assertRegex(problem, "seen: .* exit=7 .*exited with 7")

    def test_a_wrong_fact_names_file_line_expected_and_seen(self):
        problem = self.first("trace")
        lines = Path(self.folder.name, "trace.txt").read_text().splitlines()
        line = next(i for i, text in enumerate(lines, 1) if "exited with 9; restarts" in text)
        self.assertIn(f"/trace.txt:{line}: ", problem)
        self.assertRegex(problem, "expected: attempt_ended .*exited with 9; restarts")
        self.assertRegex(problem, "seen: +attempt_ended .*exited with 7; restarts")


class Facts(unittest.TestCase):
    def order(self, *names):
        facts = [Fact(name, f"key={{job=j1 attempt=1 rank={rank}}}", 0) for name, rank in names]
        return [(fact.name, fact.rank) for fact in canonical(facts)]

    def test_ranks_change_places_but_not_past_a_fact_of_the_job(self):
        self.assertEqual(self.order(("worker_started", 1), ("worker_started", 0)),
                         self.order(("worker_started", 0), ("worker_started", 1)))
        self.assertNotEqual(
            self.order(("worker_ended", 1), ("job_stopping", 0), ("worker_ended", 0)),
            self.order(("worker_ended", 0), ("job_stopping", 0), ("worker_ended", 1)))

    def test_a_rank_keeps_its_own_order(self):
        self.assertNotEqual(self.order(("worker_started", 0), ("worker_ended", 0)),
                            self.order(("worker_ended", 0), ("worker_started", 0)))

    def test_what_chance_chooses_is_left_out(self):
        text = "key={job=j1 attempt=1} end={cause=exited exit_code=3 ran=1.02s max_rss=9.1MiB}"
        self.assertEqual(Fact("worker_ended", text, 0).text,
                         "key={job=j1 attempt=1} end={cause=exited exit_code=3}")


def main():
    need(KEIKO, "build it with ./dev build, or set KEIKO_BIN_DIR")
    if SANITIZER:
        skip_script("its times are real; a sanitizer makes the command line come seconds late")
    files = sys.argv[1:] or sorted(FOLDER.glob("*.txt"))
    scenarios = [read_scenario(path) for path in files]
    suite = unittest.TestSuite()
    with concurrent.futures.ThreadPoolExecutor(len(scenarios) + 2) as pool:
        for scenario in sorted(scenarios, key=lambda one: -one["end_ms"]):  # the longest first
            future = None if scenario["virtual_only"] else pool.submit(ScenarioRun(scenario).run)
            suite.addTest(Scenario(scenario, future))
        if len(sys.argv) == 1:
            Failing.begin(pool)
            for case in (Failing, Facts):
                suite.addTests(unittest.defaultTestLoader.loadTestsFromTestCase(case))
        return 0 if unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
