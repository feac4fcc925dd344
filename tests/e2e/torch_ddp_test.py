"""An unmodified PyTorch DDP script survives the death of a rank, from its own checkpoint."""
import os
import re
import signal
import subprocess
import unittest
from pathlib import Path

from harness import PYTHON, ROOT, PoolTest, need, skip_script, wait_until

SCRIPT = ROOT / "examples/torch_ddp/train.py"
DATA = "/usr/share/datasets/fashion-mnist"
STEPS = 400


class TorchDdp(PoolTest):
    nodes, devices = 2, 1

    def test_a_killed_rank_restarts_both_from_the_checkpoint_and_the_script_finishes(self):
        checkpoint = Path(self.pool.folder, "checkpoint.pt")
        job = self.pool.submit("--workers", "2", "--devices", "1", "--env",
                               f"CHECKPOINT_DIR={self.pool.folder}", "--", PYTHON, SCRIPT,
                               "--steps", STEPS, "--save-every", "20")
        wait_until(checkpoint.exists, 40, "the first checkpoint")
        workers = self.pool.job(job)["workers"]
        self.assertEqual({w["node"] for w in workers}, {"node1", "node2"})
        os.kill(int(workers[1]["pid"]), signal.SIGKILL)

        ended = self.pool.wait_job(job)
        self.assertEqual((ended["status"], ended["attempt"]), ("COMPLETED", 2))
        logs = self.pool.run("logs", job, "--rank", "0").stdout
        resumed = [int(n) for n in re.findall(r"2 ranks, step (\d+)", logs)]
        self.assertTrue(resumed and resumed[-1] >= 20, logs)
        accuracy = float(re.search(r"test accuracy ([\d.]+)", logs).group(1))
        self.assertGreater(accuracy, 0.75)


if __name__ == "__main__":
    need(DATA, "apt-get install dataset-fashion-mnist (./dev setup peers)")
    if subprocess.run([PYTHON, "-c", "import torch, numpy"], capture_output=True).returncode:
        skip_script(f"{PYTHON} has no torch; apt-get install python3-torch (./dev setup peers)")
    unittest.main(verbosity=2)
