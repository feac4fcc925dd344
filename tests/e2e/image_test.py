"""Workers in images: a job with `image:` runs in a root file system of its own, and lives, speaks
and ends as any other. The images are built here, of one static program."""
import json
import os
import re
import shutil
import signal
import subprocess
import tarfile
import time
import unittest
from pathlib import Path

from harness import KEIKO, PATIENCE, need, skip_script, wait_until
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


class Inside(ImageTest):
    def test_it_sees_its_own_files_and_not_the_machine_s(self):
        before = snapshot(self.image)
        out = self.output_of(script="cat /etc/made-by; cat /etc/secret; ls /; id -u;"
                                    " head -1 /proc/1/comm; ls -d /proc/[0-9]* | grep -c .")
        lines = out.split("\n")
        self.assertEqual(lines[0], "image_test")
        self.assertEqual(lines[1], "for root alone")  # its root is its files' root
        self.assertIn("opt", lines)
        self.assertNotIn("usr", lines)
        self.assertIn("\n0\n.keiko-init\n", out)
        self.assertLessEqual(int(lines[-2]), 5)  # nobody else's processes
        self.assertEqual(snapshot(self.image), before)
        self.passed = True

    def test_its_root_is_read_only_and_tmp_is_not(self):
        out = self.output_of(script="(touch /opt/place/x; touch /new; rm /etc/made-by) 2>&1;"
                                    " echo kept > /tmp/x && cat /tmp/x;"
                                    " echo s > /dev/shm/x && echo shm")
        self.assertEqual(out.count("Read-only file system"), 3, out)
        self.assertIn("kept\nshm\n", out)
        self.passed = True

    def test_it_has_no_rights_on_the_machine(self):
        out = self.output_of(script="grep -E 'Cap|NoNewPrivs|Seccomp:' /proc/self/status;"
                                    " mount -t tmpfs x /tmp 2>&1; mknod /tmp/m c 1 3 2>&1;"
                                    " cat /proc/self/uid_map;"
                                    " (echo x > /proc/sys/kernel/hostname) 2>&1; true")
        for name in ("CapEff", "CapPrm", "CapBnd"):
            self.assertIn(f"{name}:\t0000000000000000", out)
        self.assertIn("NoNewPrivs:\t1", out)
        self.assertIn("Seccomp:\t2", out)
        for refused in ("mount: permission denied", "mknod: /tmp/m: Operation not permitted",
                        "/proc/sys/kernel/hostname: Read-only", f"0 {FIRST_USER}"):
            self.assertIn(refused, out)
        self.passed = True

    def test_its_environment_is_the_worker_s_and_nobody_else_s(self):
        os.environ["KEIKO_SPY"] = "of the agent"
        try:
            agent = self.pool.join("n2", options=("--label", "spy=yes"),
                                   environment={"KEIKO_SPY": "of the agent", "LD_PRELOAD": ""})
        finally:
            del os.environ["KEIKO_SPY"]
        self.assertTrue(agent.runs())
        out = self.output_of("--node-labels", "spy=yes", "--env", "COLOUR=teal", script="env")
        names = {line.split("=", 1)[0] for line in out.splitlines()}
        self.assertIn("COLOUR=teal\n", out)
        self.assertIn("RANK=0\n", out)
        self.assertIn("HOME=/tmp\n", out)
        self.assertIn("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n", out)
        for name in ("KEIKO_SPY", "LD_PRELOAD", "USER", "LANG", "KEIKO_E2E_POOL", "KEIKO_STATE"):
            self.assertNotIn(name, names)
        self.passed = True

    def test_mounts_are_there_for_writing_or_for_reading(self):
        data, out = os.path.join(self.pool.folder, "data"), os.path.join(self.pool.folder, "out")
        for folder in (data, out):
            os.mkdir(folder)
        Path(data, "in").write_text("given\n")
        text = self.output_of("--mounts", f"{data}:/data:ro", "--mounts", f"{out}:/deep/er/out",
                              script="cat /data/in; touch /data/x 2>&1; echo made > /deep/er/out/x")
        self.assertIn("given\n", text)
        self.assertIn("Read-only file system", text)
        self.assertEqual(Path(out, "x").read_text(), "made\n")
        # Whoever is root inside writes as the folder's root, where its file system can tell.
        self.assertIn(os.stat(os.path.join(out, "x")).st_uid, (0, FIRST_USER))
        self.passed = True

    def test_a_job_file_gives_image_mounts_and_a_working_directory(self):
        data = os.path.join(self.pool.folder, "data")
        os.mkdir(data)
        path = os.path.join(self.pool.folder, "job.yaml")
        Path(path).write_text(f"image: {self.image}\nworkdir: /work\nrestarts: 0\n"
                              f"mounts: [\"{data}:/work\"]\n"
                              "command: [sh, -c, 'readlink /proc/self/cwd']\n")
        job = self.pool.submit(path)
        told = self.pool.wait_job(job)
        self.assertEqual((told["status"], self.logs(job)), ("COMPLETED", "/work\n"))
        self.passed = True


    def test_it_reports_to_its_agent_from_inside(self):
        program = ("import json, os, signal, socket\n"
                   "line = socket.socket(socket.AF_UNIX)\n"
                   "line.connect(os.environ['KEIKO_SOCKET'])\n"
                   "for words in ({'type': 'hello', 'protocol': 1, 'pid': os.getpid()},\n"
                   "              {'type': 'progress', 'step': 41, 'total_steps': 42}):\n"
                   "    line.sendall(json.dumps(words).encode() + b'\\n')\n"
                   "signal.pause()\n")
        # The machine's python, as the image has none: mounts may be of anything.
        libraries = [word for folder in ("/usr", "/lib", "/lib64") if os.path.exists(folder)
                     for word in ("--mounts", f"{folder}:{folder}:ro")]
        job = self.submit(*libraries, command=("/usr/bin/python3", "-c", program))
        wait_until(lambda: re.search(r'"step": "?41\b', json.dumps(self.pool.job(job))), 30,
                   "its progress is known")
        self.pool.run("cancel", job)
        self.pool.wait_job(job)
        self.passed = True


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


class Images(ImageTest):
    def pack(self, name, mode="w"):
        path = os.path.join(self.pool.folder, name)
        with tarfile.open(path, mode) as tar:
            tar.add(self.image, arcname=".")
        return path

    def store(self):
        return os.path.join(self.pool.folder, "n1", "images")

    def test_an_archive_is_unpacked_once_for_all_workers(self):
        path = self.pack("root.tar.gz", "w:gz")
        job, told = self.run_job("--workers", "2", command=("cat", "/etc/made-by"), image=path)
        self.assertEqual(told["status"], "COMPLETED", self.logs(job))
        self.assertEqual(self.logs(job).count("image_test"), 2)
        self.assertEqual(len([name for name in os.listdir(self.store())
                              if not name.endswith(".lock")]), 1)
        self.passed = True

    def test_bad_images_are_told_with_what_and_where(self):
        whole = Path(self.pack("root.tar")).read_bytes()
        cut = os.path.join(self.pool.folder, "cut.tar")
        Path(cut).write_bytes(whole[:len(whole) // 2])
        missing = os.path.join(self.pool.folder, "missing.tar")
        for image, command, wants in (
                (missing, ("true",), (missing, "No such file")),
                (cut, ("true",), (cut, "cut short")),
                (self.image, ("no-such-program",), ("cannot run 'no-such-program'", "PATH=")),
                (self.image, ("/bin/nothing",), ("cannot run '/bin/nothing'",))):
            job, told = self.run_job(command=command, image=image)
            self.assertEqual((told["status"], told["reason"]), ("FAILED", "StartFailed"), told)
            text = json.dumps(told)
            for want in (*wants, "n1"):
                self.assertIn(want, text)
        job, told = self.run_job("--workdir", "/nowhere", command=("true",))
        self.assertIn("working directory '/nowhere'", json.dumps(told))
        job, told = self.run_job("--mounts", "/no/such/folder:/data", command=("true",))
        self.assertIn("/no/such/folder", json.dumps(told))
        # None of it is held against the node or what is in it.
        self.assertEqual(self.pool.run("health", "n1", "-o", "json").stdout.count("quarantine"), 0)
        self.assertEqual(self.output_of(script="echo well"), "well\n")
        self.assertFalse([name for name in os.listdir(self.store())
                          if not name.endswith(".lock")] if os.path.exists(self.store()) else [])
        self.passed = True


class Refusals(unittest.TestCase):
    """A pool that runs no images says so at once, and why."""

    def setUp(self):
        self.pool, self.passed = Parts(), False
        self.pool.serve()

    def tearDown(self):
        if not self.passed:
            self.pool.show_logs()
        self.pool.close(check=self.passed)

    def join(self, name, programs, **more):
        """An agent from a folder that holds copies of `programs` alone."""
        folder = os.path.join(self.pool.folder, "bin-" + name)
        state = os.path.join(self.pool.folder, name)
        for path in (folder, state):
            os.mkdir(path)
            os.chmod(path, 0o777)
        for program in programs:
            shutil.copy(Path(KEIKO).parent / program, folder)
        self.pool.agents[name] = self.pool.launch(
            name, ["agent", "--join", f"127.0.0.1:{self.pool.grpc}", "--name", name, "--state",
                   state, "--address", "127.0.0.1", "--devices", "2"],
            program=os.path.join(folder, "keiko"), **more)
        wait_until(lambda: self.pool.node(name).get("connected"), 20, f"{name} has joined")

    def test_no_node_runs_images(self):
        os.chmod(self.pool.folder, 0o755)
        self.join("n1", ["keiko"])
        self.join("n2", ["keiko", "keiko-init"], user=65534, group=65534, extra_groups=())
        told = self.pool.run("submit", "--image", "/data/image.tar", "--", "true")
        self.assertNotEqual(told.returncode, 0)
        self.assertIn("it would fit without the image; node n1 cannot run one: ", told.stderr)
        self.assertIn("/keiko-init is missing; install it beside keiko", told.stderr)
        for name, why in (("n1", "keiko-init is missing"),
                          ("n2", "its agent does not run as root")):
            page = self.pool.run("node", name).stdout
            self.assertRegex(page, f"Images +none: .*{why}")
        self.assertEqual(self.pool.submit("--", "true")[0], "j")
        self.passed = True

    def test_registries_are_not_asked(self):
        told = self.pool.run("submit", "--image", "docker://debian:12", "--", "true")
        self.assertEqual(told.returncode, 2)
        self.assertIn("skopeo copy docker://debian:12 oci-archive:", told.stderr)
        told = self.pool.run("submit", "--mounts", "/data:/data", "--", "true")
        self.assertEqual(told.returncode, 2)
        self.assertIn("only a job with an image has mounts", told.stderr)
        self.passed = True


def why_not():
    if os.getuid() != 0:
        return "making containers needs root"
    for folder in ("/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin"):
        if os.path.exists(folder + "/runc"):
            return None
    return "runc is not installed; ./dev setup test installs it"


if __name__ == "__main__":
    need(KEIKO, "build it with ./dev build, or set KEIKO_BIN_DIR")
    need(BUSYBOX, "./dev setup test installs busybox-static")
    if reason := why_not():
        skip_script(reason)
    unittest.main(verbosity=2)
