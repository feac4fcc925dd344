"""Workers in images: what they see, what images may be, and what is refused."""
import json
import os
import re
import shutil
import tarfile
import unittest
from pathlib import Path

from harness import KEIKO, wait_until
from image_fixture import FIRST_USER, ImageTest, run_tests, snapshot
from parts import Parts


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


if __name__ == "__main__":
    run_tests()
