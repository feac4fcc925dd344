"""./dev new: what it scaffolds compiles, stands in its table, and a second time is refused.

Works on a copy of the sources, so that the tree stays as it is. Compiles with -fsyntax-only: quick,
and enough to prove that the rows and the overrides fit the code as it is today.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# The contract's generated headers, which the verbs' headers reach.
GENERATED = os.environ.get("KEIKO_BUILD_DIR", str(ROOT / "build/release")) + "/gen"


class NewThings(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="keiko_new_")
        self.addCleanup(self.folder.cleanup)
        self.root = Path(self.folder.name)
        for part in ("src", "proto", "apps", "docs"):
            shutil.copytree(ROOT / part, self.root / part)
        for part in ("FLOORS", "ARCHITECTURE.md"):
            shutil.copy(ROOT / part, self.root / part)

    def new(self, *arguments):
        return subprocess.run(
            [sys.executable, "-B", str(ROOT / "tools/new.py"), *arguments, "--root",
             self.folder.name],
            capture_output=True, text=True, check=False)

    def made(self, *arguments):
        result = self.new(*arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        again = self.new(*arguments)
        self.assertEqual(again.returncode, 1, "the same name was taken twice")
        self.assertIn("nothing was written", again.stderr)
        return result.stdout

    def compiles(self, *paths):
        for path in paths:
            result = subprocess.run(
                ["g++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow",
                 "-Werror", "-Isrc", "-isystem", GENERATED, path],
                cwd=self.root, capture_output=True, text=True, check=False)
            self.assertEqual(result.returncode, 0, result.stderr)

    def test_a_policy_compiles_and_is_in_the_table(self):
        out = self.made("policy", "shortest_first")
        self.assertIn("row   src/core/sched/policies.cc", out)
        policies = "src/core/sched/policies"
        self.compiles(policies + "/shortest_first.cc", policies + "/shortest_first_test.cc",
                      policies + ".cc")

    def test_a_driver_has_the_verbs_of_its_port_and_a_row_in_floors(self):
        for port in ("journal", "clock", "devices"):
            with self.subTest(port=port):
                self.made("driver", port + "/extra")
                folder = f"src/drivers/{port}/extra/extra_{port}"
                self.compiles(folder + ".cc", folder + "_test.cc")
                self.assertIn(f"drivers/{port}/extra", (self.root / "FLOORS").read_text())
        self.compiles("apps/registry.cc")
        self.assertEqual((self.root / "apps/registry.cc").read_text().count('"extra"'), 3)

    def test_an_event_compiles_with_its_apply(self):
        self.made("event", "job_paused")
        state = "src/core/state/apply_job_paused"
        self.compiles(state + ".cc", state + "_test.cc")

    def test_a_verb_compiles_and_is_in_the_table(self):
        out = self.made("verb", "pause")
        self.assertIn("row   src/cli/verbs.cc", out)
        verbs = "src/cli/verbs"
        self.compiles(verbs + "/verb_pause.cc", verbs + "/verb_pause_test.cc", verbs + ".cc")

    def test_an_rpc_is_valid_in_the_contract(self):
        self.made("rpc", "PauseJob")
        result = subprocess.run(
            ["protoc", "-Iproto", "--descriptor_set_out=/dev/null", "proto/keiko/v1/cluster.proto"],
            cwd=self.root, capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_a_wrong_name_or_port_is_refused_with_what_is_right(self):
        self.assertIn("snake_case", self.new("policy", "Wrong").stderr)
        self.assertIn("there are: checks, clock", self.new("driver", "nope/x").stderr)


if __name__ == "__main__":
    unittest.main()
