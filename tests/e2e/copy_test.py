"""Files into a running worker and out of it, through the server: whole trees as they are, nothing
half, and nothing outside of where they were sent to."""
import os
import pty
import shutil
import signal
import subprocess
import sys
import unittest
from pathlib import Path

from harness import KEIKO, PATIENCE, need, wait_until
from parts import PartsTest, SmallDisk, enter_mount_namespace

IDLE = ("sh", "-c", "while :; do sleep 0.05; done")
NO_MOUNTS = None


class CopyTest(PartsTest):
    def setUp(self):
        super().setUp()
        self.pool.serve()
        self.pool.join("n1")
        self.work = self.path("work")
        os.mkdir(self.work)
        self.job = self.pool.submit("--restarts", "0", "--workdir", self.work, "--workers", "2",
                                    "--", *IDLE)
        self.pool.wait_job(self.job, ("RUNNING",))

    def path(self, *names):
        return os.path.join(self.pool.folder, *names)

    def copy(self, *words, status=0):
        told = self.pool.run("cp", *words)
        self.assertEqual(told.returncode, status, told.stdout + told.stderr)
        return told.stderr

    def make_tree(self, folder):
        os.makedirs(os.path.join(folder, "a", "b"))
        os.makedirs(os.path.join(folder, "empty"))
        Path(folder, "a", "b", "data").write_bytes(os.urandom(3_000_000))
        script = Path(folder, "run me.sh")
        script.write_text("#!/bin/sh\n")
        script.chmod(0o750)
        os.utime(script, (1, 1_234_567_890.5))
        os.symlink("../../outside", os.path.join(folder, "a", "way out"))

    def told(self, folder):
        """RETURNS: all that a copy should keep of a tree."""
        found = {}
        for at, folders, files in os.walk(folder):
            for name in folders + files:
                path = os.path.join(at, name)
                seen = os.lstat(path)
                what = (os.readlink(path) if os.path.islink(path) else
                        Path(path).read_bytes() if os.path.isfile(path) else None)
                found[os.path.relpath(path, folder)] = (what, seen.st_mode, seen.st_mtime_ns)
        return found


class Trees(CopyTest):
    def test_a_tree_goes_in_and_comes_out_as_it_was(self):
        self.make_tree(self.path("tree"))
        before = self.told(self.path("tree"))
        self.assertEqual(len(before), 6)
        self.copy("-r", self.path("tree"), f"{self.job}:")
        self.assertEqual(self.told(os.path.join(self.work, "tree")), before)
        self.copy("-r", f"{self.job}:tree", self.path("back"), "--rank", "1")
        self.assertEqual(self.told(self.path("back")), before)

    def test_a_file_gets_the_name_that_is_given_or_goes_into_the_folder(self):
        Path(self.path("one")).write_text("first")
        self.copy(self.path("one"), f"{self.job}:two")
        self.copy(self.path("one"), f"{self.job}:{self.work}")
        self.assertEqual(sorted(os.listdir(self.work)), ["one", "two"])
        Path(self.work, "two").write_text("second")
        self.copy(f"{self.job}:two", self.pool.folder)
        self.assertEqual(Path(self.path("two")).read_text(), "second")
        self.copy(f"{self.job}:two", self.path("one"))
        self.assertEqual(Path(self.path("one")).read_text(), "second")

    def test_a_link_in_the_way_is_not_followed(self):
        os.mkdir(self.path("elsewhere"))
        Path(self.path("tree", "inner", "x")).parent.mkdir(parents=True)
        Path(self.path("tree", "inner", "x")).write_text("x")
        os.mkdir(os.path.join(self.work, "tree"))
        os.symlink(self.path("elsewhere"), os.path.join(self.work, "tree", "inner"))
        told = self.copy("-r", self.path("tree"), f"{self.job}:", status=4)
        self.assertIn("a symbolic link is not followed", told)
        self.assertEqual(os.listdir(self.path("elsewhere")), [])


class Refusals(CopyTest):
    def test_what_cannot_be_copied_is_told_and_leaves_nothing(self):
        Path(self.path("one")).write_text("x")
        os.mkdir(self.path("folder"))
        for words, status, text in (
                ((self.path("one"), self.path("two")), 2, "one of the two must be a worker's"),
                ((f"{self.job}:a", f"{self.job}:b"), 2, "one of the two must be a worker's"),
                ((f"{self.job}:nothing", self.path("two")), 3, "nothing: No such file"),
                ((self.path("nothing"), f"{self.job}:"), 3, "nothing: No such file"),
                ((self.path("folder"), f"{self.job}:"), 4, "copy it with -r"),
                ((f"{self.job}:{self.path('folder')}", self.path("two")), 4, "copy it with -r"),
                ((self.path("one"), f"{self.job}:no/such/place"), 3, "no/such: No such file"),
                ((self.path("one"), f"{self.job}:x", "--rank", "7"), 2, "no rank 7")):
            told = self.copy(*words, status=status)
            self.assertTrue(told.startswith("keiko cp: "), told)
            self.assertIn(text, told)
        self.assertEqual(os.listdir(self.work), [])
        self.assertFalse(os.path.exists(self.path("two")))

    def test_a_pipe_is_left_out_and_told(self):
        self.make_tree(os.path.join(self.work, "tree"))
        os.mkfifo(os.path.join(self.work, "tree", "pipe"))
        told = self.copy("-r", f"{self.job}:tree", self.path("back"), status=1)
        self.assertIn("tree/pipe is left out", told)
        self.assertEqual(len(self.told(self.path("back"))), 6)

    def test_a_copy_that_breaks_leaves_no_half_file(self):
        old, big = Path(self.work, "big"), self.path("big")
        old.write_text("old")
        with open(big, "wb") as file:
            file.truncate(20 << 30)  # takes no room, and takes long
        client = subprocess.Popen([KEIKO, "cp", big, f"{self.job}:"], env=self.pool.environment,
                                  stderr=subprocess.PIPE, cwd=self.pool.folder)
        def writes():
            for entry in os.listdir("/proc"):
                try:
                    for fd in os.listdir(f"/proc/{entry}/fd") if entry.isdigit() else ():
                        path = f"/proc/{entry}/fd/{fd}"
                        if os.readlink(path).startswith(self.work + "/") and os.stat(path).st_size:
                            return True
                except OSError:
                    pass
            return False
        wait_until(writes, 20, "bytes arrive")
        client.send_signal(signal.SIGINT)
        _, told = client.communicate(timeout=30 * PATIENCE)
        self.assertEqual(client.returncode, 130, told)
        wait_until(lambda: not writes(), 20, "nobody writes any more")
        self.assertEqual(os.listdir(self.work), ["big"])
        self.assertEqual(old.read_text(), "old")

    def test_a_full_disk_is_told_and_leaves_no_half_file(self):
        if NO_MOUNTS:
            self.skipTest(f"no disk can be made full here: {NO_MOUNTS}")
        disk = SmallDisk(self.path("small"))
        self.disks.append(disk)
        Path(self.path("big")).write_bytes(b"x" * (8 << 20))
        told = self.copy(self.path("big"), f"{self.job}:{disk.path}/big", status=4)
        self.assertIn("No space left on device", told)
        Path(self.work, "big").write_bytes(b"x" * (8 << 20))
        told = self.copy(f"{self.job}:big", str(disk.path), status=4)
        self.assertIn("No space left on device", told)
        self.assertEqual(os.listdir(disk.path), [])


class Progress(CopyTest):
    def test_a_terminal_gets_a_bar(self):
        Path(self.path("one")).write_bytes(b"x" * 2_000_000)
        master, slave = pty.openpty()
        client = subprocess.Popen([KEIKO, "cp", self.path("one"), f"{self.job}:"], stderr=slave,
                                  env=self.pool.environment)
        os.close(slave)
        text = b""
        try:
            while piece := os.read(master, 4096):
                text += piece
        except OSError:  # the terminal's last user has left
            pass
        os.close(master)
        self.assertEqual(client.wait(20 * PATIENCE), 0)
        self.assertIn(b"100 %  2.0 of 2.0 MB", text)


if __name__ == "__main__":
    need(KEIKO, "build it with ./dev build, or set KEIKO_BIN_DIR")
    NO_MOUNTS = (enter_mount_namespace([sys.executable, "-B", *sys.argv])
                 if shutil.which("unshare") else "there is no unshare (util-linux)")
    unittest.main(verbosity=2)
