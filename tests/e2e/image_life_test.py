"""Workers in images live, speak and end as any other; commands and copies get in."""
import json
import os
import signal
import subprocess
import time
from pathlib import Path

from harness import KEIKO, PATIENCE, wait_until
from image_fixture import ImageTest, groups_in, groups_of, run_tests


class Lifecycle(ImageTest):
    def test_exit_codes_and_both_streams_come_out_as_of_processes(self):
        job, told = self.run_job(command=("sh", "-c", "echo out; echo err >&2; exit 7"))
        self.assertEqual((told["status"], told["exit_code"]), ("FAILED", 7))
        folder = os.path.join(self.pool.folder, "n1", "logs", job, "1")
        self.assertEqual(Path(folder, "0.out").read_text(), "out\n")
        self.assertEqual(Path(folder, "0.err").read_text(), "err\n")
        self.assertEqual(self.pool.wait_job(self.submit(command=("true",)))["exit_code"], 0)
        _, told = self.run_job(command=("sh", "-c", "kill -SEGV $$"))
        self.assertEqual((told["status"], told["exit_code"]), ("FAILED", 128 + signal.SIGSEGV))
        self.passed = True

    def test_cancel_asks_first_and_kills_who_does_not_listen(self):
        listens = self.submit("--grace", "20s", command=(
            "sh", "-c", "trap 'echo asked; exit 0' TERM; echo up; while :; do sleep 0.05; done"))
        deaf = self.submit("--grace", "1s", command=(
            "sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.05; done"))
        for job in (listens, deaf):
            wait_until(lambda: "up" in self.logs(job), 30, "it runs")
        began = time.monotonic()
        for job in (listens, deaf):
            self.pool.run("cancel", job)
        for job in (listens, deaf):
            self.assertEqual(self.pool.wait_job(job)["status"], "CANCELLED")
        self.assertLess(time.monotonic() - began, 15 * PATIENCE)
        self.assertIn("asked", self.logs(listens))
        self.passed = True

    def test_what_it_leaves_behind_goes_with_it(self):
        job, told = self.run_job(command=("sh", "-c", "sleep 86411 & cat /proc/self/cgroup"))
        self.assertEqual(told["status"], "COMPLETED")
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                self.assertNotIn(b"86411", Path("/proc", pid, "cmdline").read_bytes())
            except OSError:
                continue
        self.assertEqual(groups_of(groups_in(self.logs(job))), [])
        self.passed = True

    def test_memory_is_limited_as_for_processes(self):
        job, told = self.run_job("--memory", "48MiB", command=(
            "dd", "if=/dev/zero", "of=/dev/null", "bs=256M", "count=1"))
        self.assertEqual((told["status"], told["reason"]), ("FAILED", "OutOfMemory"), told)
        self.passed = True

    def test_it_is_in_the_groups_of_a_worker(self):
        job = self.idle()
        text = Path(f"/proc/{self.first_process(job)}/cgroup").read_text()
        self.assertIn(f"/keiko/{job}.1.0", text)
        self.assertNotIn("keiko-start", text)
        worker = groups_in(text)
        self.assertTrue(groups_of(worker))
        self.pool.run("cancel", job)
        self.pool.wait_job(job)
        self.assertEqual(groups_of(worker), [])
        self.passed = True

    def test_a_killed_agent_finds_it_again(self):
        job = self.submit(command=("sh", "-c", "echo begun; while [ ! -e /go/on ]; do sleep 0.05;"
                                               " done; echo ended; exit 3"),
                          *("--mounts", f"{self.pool.folder}:/go"))
        wait_until(lambda: "begun" in self.logs(job), 30, "it runs")
        pid = self.first_process(job)
        self.pool.agents["n1"].kill()
        self.pool.join("n1")
        self.pool.wait_job(job, ("RUNNING",))
        self.assertEqual(self.first_process(job), pid)
        Path(self.pool.folder, "on").touch()
        told = self.pool.wait_job(job)
        self.assertEqual((told["exit_code"], told["attempt"]), (3, 1))
        self.assertEqual(self.logs(job), "begun\nended\n")
        self.passed = True

    # Complaint 32: a container is gone when its agent comes back, and its task is stuck for ever.
    def test_one_that_is_gone_when_its_agent_returns_ends_with_a_reason(self):
        job = self.idle()
        pid = self.first_process(job)
        worker = groups_in(Path(f"/proc/{pid}/cgroup").read_text())
        shim = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        self.pool.agents["n1"].kill()
        os.kill(shim, signal.SIGKILL)
        wait_until(lambda: not os.path.exists(f"/proc/{pid}"), 20, "the container is gone")
        self.pool.join("n1")
        wait_until(lambda: "its shim was killed" in json.dumps(self.pool.job(job)), 30,
                   "its end is told")
        self.pool.run("cancel", job)
        self.pool.wait_job(job)
        wait_until(lambda: not groups_of(worker), 10, "its groups are gone")
        self.passed = True

    def test_a_killed_shim_takes_it_along(self):
        job = self.idle()
        pid = self.first_process(job)
        worker = groups_in(Path(f"/proc/{pid}/cgroup").read_text())
        shim = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(shim, signal.SIGKILL)
        wait_until(lambda: not os.path.exists(f"/proc/{pid}"), 20, "the container is gone")
        self.pool.run("cancel", job)
        self.pool.wait_job(job)
        wait_until(lambda: not groups_of(worker), 10, "its groups are gone")
        self.passed = True


class Visits(ImageTest):
    def test_a_command_is_inside_with_the_worker_s_rights(self):
        job = self.idle("--env", "COLOUR=teal")
        told = self.pool.run("exec", job, "--", "sh", "-c",
                             "cat /etc/made-by; echo $COLOUR; head -1 /proc/1/comm; id -u;"
                             " grep -E 'Cap(Eff|Bnd)|NoNewPrivs|Seccomp:' /proc/self/status;"
                             " touch /x 2>&1; mount -t tmpfs x /tmp 2>&1; exit 7")
        self.assertEqual(told.returncode, 7, told.stderr)
        self.assertIn("image_test\nteal\n.keiko-init\n0\n", told.stdout)
        for line in ("CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1",
                     "Seccomp:\t2", "Read-only file system", "mount: permission denied"):
            self.assertIn(line, told.stdout)
        told = self.pool.run("exec", job, "--", "sh", "-c", "kill -9 $$")
        self.assertEqual(told.returncode, 128 + 9, told.stderr)
        told = self.pool.run("exec", job, "--", "python3")
        self.assertEqual(told.returncode, 4)
        self.assertIn("cannot run 'python3'", told.stderr)
        self.passed = True

    def test_nothing_of_a_command_stays_when_its_client_dies(self):
        job = self.idle()
        client = subprocess.Popen([KEIKO, "exec", job, "--", "sh", "-c",
                                   "sleep 86412 & echo up; sleep 86412"], stdout=subprocess.PIPE,
                                  env=self.pool.environment, stdin=subprocess.DEVNULL)
        self.assertEqual(client.stdout.readline(), b"up\n")
        client.kill()
        client.wait()
        client.stdout.close()
        def sleepers():
            found = []
            for pid in filter(str.isdigit, os.listdir("/proc")):
                try:
                    words = Path("/proc", pid, "cmdline").read_bytes().split(b"\0")
                except OSError:
                    continue
                if words[:2] == [b"sleep", b"86412"]:
                    found.append(pid)
            return found
        wait_until(lambda: not sleepers(), 20, "nothing of the command is left")
        self.assertEqual(self.pool.job(job)["status"], "RUNNING")
        self.passed = True

    def test_files_are_copied_out_of_the_image_and_into_it(self):
        job = self.idle()
        here = os.path.join(self.pool.folder, "copied")
        told = self.pool.run("cp", f"{job}:/etc/made-by", here)
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertEqual(Path(here).read_text(), "image_test\n")
        told = self.pool.run("cp", here, f"{job}:/tmp/back")
        self.assertEqual(told.returncode, 0, told.stderr)
        told = self.pool.run("exec", job, "--", "cat", "/tmp/back")
        self.assertEqual(told.stdout, "image_test\n")
        self.assertFalse(os.path.exists("/tmp/back"))
        told = self.pool.run("cp", here, f"{job}:/etc/other")
        self.assertNotEqual(told.returncode, 0)
        self.assertIn("Read-only", told.stderr)
        self.passed = True


if __name__ == "__main__":
    run_tests()
