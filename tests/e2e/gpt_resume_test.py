"""keiko-train on two ranks, killed and resumed, ends in the same loss as one left in peace."""
import os
import re
import signal
import unittest
from pathlib import Path

from harness import ROOT, TRAIN, PoolTest, need, wait_until

STEPS = 240


class GptResume(PoolTest):
    nodes, devices = 2, 1

    def train(self, name):
        folder = os.path.join(self.pool.folder, name)
        os.mkdir(folder)
        return self.pool.submit(
            "--name", name, "--kind", "train", "--workers", "2", "--devices", "1",
            "--checkpoint-dir", folder, "--", TRAIN, "gpt", "--data", self.text(), "--layers", "2",
            "--heads", "2", "--width", "32", "--context", "32", "--batch", "8", "--steps", STEPS,
            "--warmup", "10", "--checkpoint-every", "20", "--log-every", "1", "--eval-full")

    def text(self):
        """Some 60 kB of prose that is there in every checkout."""
        path = Path(self.pool.folder, "text")
        if not path.exists():
            prose = [(ROOT / name).read_text() for name in
                     ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/OPTIONS.md")]
            path.write_text(("\n".join(prose) * 9)[:60_000])
        return str(path)

    def losses(self, job):
        """RETURNS: {step: its loss as printed} over all attempts of rank 0, the held-out loss."""
        attempts = self.pool.job(job)["attempt"]
        logs = "".join(self.pool.run("logs", job, "--rank", "0", "--attempt", n).stdout
                       for n in range(1, attempts + 1))
        steps = dict(re.findall(r"step\s+(\d+)/\d+\s+loss ([\d.]+)", logs))
        return steps, re.findall(r"held-out loss ([\d.]+)", logs)

    def test_a_run_that_was_killed_ends_as_one_that_was_not(self):
        peaceful = self.train("peaceful")
        self.assertEqual(self.pool.wait_job(peaceful)["status"], "COMPLETED")
        disturbed = self.train("disturbed")
        wait_until(lambda: int(self.pool.job(disturbed).get("checkpoint", {}).get("step", 0)) >= 40,
                   40, "a checkpoint was reported")
        os.kill(int(self.pool.job(disturbed)["workers"][1]["pid"]), signal.SIGKILL)
        ended = self.pool.wait_job(disturbed)
        self.assertEqual((ended["status"], ended["attempt"]), ("COMPLETED", 2))

        steps, held_out = self.losses(peaceful)
        steps_again, held_out_again = self.losses(disturbed)
        self.assertEqual(len(steps), STEPS)
        self.assertEqual(steps_again[str(STEPS)], steps[str(STEPS)])
        self.assertEqual(held_out_again[-1], held_out[-1])
        differing = [s for s in steps if s in steps_again and steps[s] != steps_again[s]]
        self.assertEqual(differing, [], "every step's loss is the same")


if __name__ == "__main__":
    need(TRAIN, "build it with ./dev build (needs libtorch-dev and libgloo-dev)")
    unittest.main(verbosity=2)
