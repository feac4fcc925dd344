"""keiko journal: a server's journal is checked and dumped, and the dump replays elsewhere."""
import os
import re
import subprocess
import unittest

from harness import KEIKO, Pool


def digest(text):
    return re.search(r"digest ([0-9a-f]+)", text).group(1)


class Journal(unittest.TestCase):
    def test_a_dump_replays_to_the_state_that_the_server_had(self):
        with Pool(nodes=1) as pool:
            self.assertEqual(pool.run("run", "--", "sh", "-c", "exit 3").returncode, 3)
            job = pool.submit("--devices", "0", "--", "true")
            pool.wait_job(job)
            dump = os.path.join(pool.folder, "monday.dump")
            written = pool.run("journal", "dump", dump)
            self.assertEqual(written.returncode, 0, written.stderr)
            pool.stop()
            checked = pool.run("journal", "check")
            self.assertEqual(checked.returncode, 0, checked.stderr)
            replayed = subprocess.run([KEIKO, "sim", "replay", dump], capture_output=True,
                                      text=True)
            self.assertEqual(replayed.returncode, 0, replayed.stderr)
            self.assertIn("job_submitted job=j1", replayed.stdout)
            self.assertIn("2 jobs", checked.stdout)
            self.assertEqual(digest(replayed.stdout), digest(checked.stdout))

    def test_what_cannot_be_done_is_said_and_leaves_nothing_behind(self):
        with Pool(nodes=1) as pool:
            nowhere = pool.run("journal", "check", "--state", os.path.join(pool.folder, "none"))
            self.assertEqual(nowhere.returncode, 3, nowhere.stderr)
            self.assertIn("no journal there", nowhere.stderr)
            self.assertFalse(os.path.exists(os.path.join(pool.folder, "none")))
            unnamed = pool.run("journal", "dump")
            self.assertEqual((unnamed.returncode, unnamed.stderr), (
                2, "keiko journal: dump needs the FILE to write: keiko journal dump FILE\n"))
            into = pool.run("journal", "dump", os.path.join(pool.folder, "no/such/file"))
            self.assertNotEqual(into.returncode, 0)
            self.assertIn("cannot create", into.stderr)
            self.assertIn("not a dump", subprocess.run(
                [KEIKO, "sim", "replay", KEIKO], capture_output=True, text=True).stderr)


if __name__ == "__main__":
    unittest.main()
