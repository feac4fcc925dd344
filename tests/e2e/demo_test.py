"""The README's first command tells its whole story, ends well and leaves nothing behind."""
import os
import shutil
import subprocess
import tempfile
import unittest

from harness import BIN, KEIKO, PYTHON, ROOT, TRAIN, need, processes_of, skip_script


class Demo(unittest.TestCase):
    def test_a_worker_is_killed_and_the_training_ends_all_the_same(self):
        with tempfile.TemporaryDirectory(prefix="keiko-e2e-") as folder:
            environment = dict(os.environ, KEIKO_BIN_DIR=str(BIN), TMPDIR=folder)
            done = subprocess.run([PYTHON, "-B", str(ROOT / "tools/demo.py"), "--fast"],
                                  env=environment, capture_output=True, text=True, timeout=240,
                                  stdin=subprocess.DEVNULL)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            for part in ("kill -9", "back at step", "In the beginning", "COMPLETED",
                         "nothing was left behind"):
                self.assertIn(part, done.stdout)
            self.assertEqual(processes_of(folder), {})
            self.assertEqual(os.listdir(folder), [])


if __name__ == "__main__":
    need(KEIKO, "build it with ./dev build")
    need(TRAIN, "build it with ./dev build (needs libtorch-dev and libgloo-dev)")
    if shutil.which("bible") is None:
        skip_script("the program `bible` is not there; ./dev setup demo installs it")
    unittest.main(verbosity=2)
