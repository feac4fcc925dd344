"""An agent that comes back: after kill -9, as another version, and after a reboot of its machine.
Nothing is killed that is its own, and nothing is kept that is not."""
import ctypes
import os
import shutil
import signal
import sys
import unittest
from pathlib import Path

from harness import KEIKO, PYTHON, alive, need, processes_of, wait_until
from parts import PartsTest, enter_mount_namespace

COUNTER = Path(__file__).with_name("counter.py")
BOOT_ID = "/proc/sys/kernel/random/boot_id"
NO_MOUNTS = None  # why boot ids cannot be changed here; None: they can


class Readoption(PartsTest):
    def join(self, **more):
        return self.pool.join("n1", options=["--kernel-log", "none"], **more)

    def start_job(self, *words):
        """RETURNS: a job that counts until the file "finish" is there."""
        job = self.pool.submit(*words, "--devices", "1", "--", PYTHON, COUNTER, self.pool.folder, 0)
        wait_until(lambda: self.count() > 5, 20, "the job counts")
        return job

    def count(self):
        try:
            return int(Path(self.pool.folder, "count").read_text().split()[0])
        except (OSError, IndexError, ValueError):
            return 0

    def moves_on(self):
        before = self.count()
        wait_until(lambda: self.count() > before, 20, "the job goes on")

    def workers(self, of_shims=False):
        """RETURNS: the pids of the job's processes."""
        return sorted(pid for pid, command in processes_of(self.pool.folder).items()
                      if str(COUNTER) in command or (of_shims and " shim " in command))

    def finish(self, job, attempts=1):
        Path(self.pool.folder, "finish").touch()
        ended = self.pool.wait_job(job)
        self.assertEqual((ended["status"], ended.get("attempt", 1)), ("COMPLETED", attempts), ended)
        self.assertFalse(Path(self.pool.folder, "duplicates").exists(), "it never ran twice")

    def test_a_worker_outlives_its_agents_death_and_the_next_one_has_another_program(self):
        self.pool.serve()
        agent = self.join()
        job = self.start_job()
        before = self.workers()
        newer = Path(self.pool.folder, "keiko-newer")
        shutil.copy(KEIKO, newer)  # takes its time, which the lease would not wait for
        agent.kill()
        self.join(program=str(newer))
        self.moves_on()
        self.assertEqual(self.workers(), before, "nothing was killed, nothing started twice")
        self.assertEqual(len(self.pool.node("n1")["devices"]), 2)
        self.finish(job)

    def test_an_agent_refuses_what_a_newer_version_wrote_and_kills_nothing(self):
        self.pool.serve()
        agent = self.join()
        job = self.start_job()
        before = self.workers(of_shims=True)
        agent.kill()
        form = Path(self.pool.folder, "n1", "format")
        written = form.read_text()
        form.write_text("2\n")
        older = self.pool.join("n1", ready=False)
        self.assertNotEqual(older.wait(), 0)
        self.assertIn("format 2", older.text())
        self.assertIn("newer", older.text())
        self.assertEqual(self.workers(of_shims=True), before, "all of it runs on")
        form.write_text(written)
        self.join()
        self.moves_on()
        self.assertEqual(self.workers(of_shims=True), before)
        self.finish(job)

    def test_what_ran_before_a_reboot_is_told_as_such_and_starts_again(self):
        if NO_MOUNTS:
            self.skipTest(f"no mount namespace, so no boot id of the test's own: {NO_MOUNTS}")
        boot = Path(self.pool.folder, "boot_id")
        boot.write_text("11111111-1111-4111-8111-111111111111\n")
        bind(boot, BOOT_ID)
        self.addCleanup(unmount, BOOT_ID)
        self.pool.serve()
        agent = self.join()
        job = self.start_job("--kind", "train")
        self.assertEqual(self.pool.node("n1")["boot_id"], boot.read_text().strip())
        first = self.workers(of_shims=True)
        # A machine that is switched off takes all of them at one blow.
        os.kill(agent.pid, signal.SIGKILL)
        for pid in first:
            os.kill(pid, signal.SIGKILL)
        agent.process.wait()
        wait_until(lambda: not any(alive(pid) for pid in first), 10, "the machine is off")
        boot.write_text("22222222-2222-4222-8222-222222222222\n")
        self.join()
        wait_until(lambda: self.workers(), 30, "the job starts again")
        self.moves_on()
        self.assertEqual(self.pool.node("n1")["boot_id"], boot.read_text().strip())
        told = self.pool.run("events", "--job", job).stdout
        self.assertIn("the machine was restarted while it ran", told)
        self.finish(job, attempts=2)


def bind(source, target):
    ms_bind = 4096
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(os.fsencode(source), os.fsencode(target), None, ms_bind, None) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), target)


def unmount(target):
    if ctypes.CDLL(None).umount2(os.fsencode(target), 2) != 0:
        raise OSError(f"{target} cannot be unmounted")


if __name__ == "__main__":
    need(KEIKO, "build it with ./dev build, or set KEIKO_BIN_DIR")
    NO_MOUNTS = enter_mount_namespace([PYTHON, "-B", *sys.argv])
    unittest.main(verbosity=2)
