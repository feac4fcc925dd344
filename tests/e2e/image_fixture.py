"""What the tests of workers in images share: an image of one static program, and a pool."""
import os
import re
import shutil
import unittest
from pathlib import Path

from harness import KEIKO, need, skip_script
from parts import Parts

BUSYBOX = "/usr/bin/busybox"
TOOLS = ("sh", "cat", "ls", "echo", "sleep", "env", "id", "kill", "mkdir", "mount", "touch", "rm",
         "ps", "grep", "head", "dd", "true", "hostname", "stat", "mknod", "readlink", "tail")
IDLE = ("sh", "-c", "while :; do sleep 0.05; done")
FIRST_USER = 2_000_000_000  # what an image's root is on the machine


def build_root(folder):
    """A root file system with busybox, and nothing of this machine's."""
    for name in ("bin", "etc", "opt/place"):
        os.makedirs(os.path.join(folder, name))
    shutil.copy(BUSYBOX, os.path.join(folder, "bin/busybox"))
    os.chmod(os.path.join(folder, "bin/busybox"), 0o755)
    for tool in TOOLS:
        os.symlink("busybox", os.path.join(folder, "bin", tool))
    Path(folder, "etc/made-by").write_text("image_test\n")
    Path(folder, "etc/secret").write_text("for root alone\n")
    os.chmod(os.path.join(folder, "etc/secret"), 0o600)
    return folder


def snapshot(folder):
    return sorted((str(path.relative_to(folder)), path.lstat().st_mtime_ns, path.lstat().st_uid)
                  for path in Path(folder).rglob("*"))


def groups_in(text):
    """RETURNS: the worker's name in the groups of /proc/PID/cgroup, "j1.1.0-12ab34cd"."""
    return re.search(r"/keiko/(j[\w.-]+)", text).group(1)


def groups_of(worker):
    """RETURNS: what is left of a worker's groups, and of those that the runtime makes for it."""
    return [str(path) for name in (f"keiko/{worker}", f"keiko-start-{worker}")
            for pattern in (name, f"*/{name}") for path in Path("/sys/fs/cgroup").glob(pattern)]


class ImageTest(unittest.TestCase):
    def setUp(self):
        self.pool, self.passed = Parts(), False
        self.mounts_before = Path("/proc/self/mounts").read_text()
        self.image = build_root(os.path.join(self.pool.folder, "image"))
        self.pool.serve()
        self.pool.join("n1")

    def tearDown(self):
        if not self.passed:
            self.pool.show_logs()
        self.pool.close(check=self.passed)
        if self.passed:
            self.assertEqual(Path("/proc/self/mounts").read_text(), self.mounts_before)

    def submit(self, *words, command, image=None):
        return self.pool.submit("--restarts", "0", "--image", image or self.image, *words, "--",
                                *command)

    def run_job(self, *words, command, image=None):
        job = self.submit(*words, command=command, image=image)
        return job, self.pool.wait_job(job, seconds=60)

    def logs(self, job):
        return self.pool.run("logs", job).stdout

    def output_of(self, *words, script, image=None):
        """RETURNS: what `sh -c script` prints in the image, once it has ended with 0."""
        job, told = self.run_job(*words, command=("sh", "-c", script), image=image)
        self.assertEqual(told["status"], "COMPLETED", f"{told}\n{self.logs(job)}")
        return self.logs(job)

    def idle(self, *words):
        job = self.submit(*words, command=IDLE)
        self.pool.wait_job(job, ("RUNNING",))
        return job

    def first_process(self, job):
        """RETURNS: the pid of the container's first process on this machine."""
        told = self.pool.job(job)
        return told["workers"][0]["pid"]



def why_not():
    if os.getuid() != 0:
        return "making containers needs root"
    for folder in ("/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin"):
        if os.path.exists(folder + "/runc"):
            return None
    return "runc is not installed; ./dev setup test installs it"


def run_tests():
    need(KEIKO, "build it with ./dev build, or set KEIKO_BIN_DIR")
    need(BUSYBOX, "./dev setup test installs busybox-static")
    if reason := why_not():
        skip_script(reason)
    unittest.main(verbosity=2)
