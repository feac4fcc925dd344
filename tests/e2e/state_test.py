"""State directories that a server or an agent cannot use: of a newer version, damaged, not
writable, not a directory. Each is refused with the place and what to do, and nothing on disk is
changed."""
import contextlib
import hashlib
import os
import sqlite3
import unittest
from pathlib import Path

from harness import KEIKO, need
from parts import PartsTest

NOBODY = 65534


def picture(folder):
    """RETURNS: every path under `folder` with its mode and what it holds."""
    found = {}
    for path in [Path(folder), *Path(folder).rglob("*")]:
        text = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[str(path)] = (path.stat().st_mode, text)
    return found


class StateTest(PartsTest):
    def path(self, *names):
        return os.path.join(self.pool.folder, *names)

    def check_refused(self, daemon, status, *parts):
        self.assertEqual(daemon.wait(), status, daemon.text())
        for part in parts:
            self.assertIn(part, daemon.text())

    @contextlib.contextmanager
    def nothing_changes(self, folder):
        before = picture(folder)
        yield
        self.assertEqual(picture(folder), before)


def run_as_nobody(pool, words):
    """Root may write everywhere, so root tries as somebody else. The open file is what is run: the
    folders on the way to the binary may be closed to others."""
    if os.getuid() != 0:
        return pool.launch("nobody", words)
    with open(KEIKO, "rb") as binary:
        return pool.launch("nobody", words, program=f"/proc/self/fd/{binary.fileno()}",
                           pass_fds=[binary.fileno()], user=NOBODY, group=NOBODY, extra_groups=[])


class ServerState(StateTest):
    """`keiko server --state`."""

    def fill_journal(self):
        """Leaves a journal of some 300 KB that a server has closed."""
        self.pool.serve()
        for _ in range(30):
            status, text = self.pool.ask("/v1/jobs", {"spec": {
                "name": "waits", "command": ["true"], "env": {"FILL": os.urandom(5000).hex()}}})
            self.assertEqual(status, 201, text)
        self.pool.server.stop()
        os.chmod(self.pool.state, 0o755)
        self.assertEqual(sorted(os.listdir(self.pool.state)),
                         ["history.db", "journal.db", "journal.lock", "logs"])
        return Path(self.pool.state, "journal.db")

    def test_one_of_a_newer_version_names_both_formats(self):
        journal = self.fill_journal()
        with contextlib.closing(sqlite3.connect(journal)) as database:
            known = database.execute("PRAGMA user_version").fetchone()[0]
            database.execute(f"PRAGMA user_version={known + 6}")
        with self.nothing_changes(self.pool.state):
            self.check_refused(self.pool.serve(ready=False), 4, str(journal), "newer Keiko",
                               f"its format is {known + 6}, this program knows up to {known}",
                               "run the newer program, or use another state directory")

    def test_another_programs_database_is_left_alone(self):
        os.mkdir(self.pool.state)
        journal = Path(self.pool.state, "journal.db")
        with contextlib.closing(sqlite3.connect(journal)) as database:
            database.execute("CREATE TABLE recipes(name)")
        with self.nothing_changes(self.pool.state):
            self.check_refused(self.pool.serve(ready=False), 4, str(journal),
                               "is not a journal of Keiko; use another state directory")

    def test_a_journal_with_flipped_bytes_is_not_touched(self):
        journal = self.fill_journal()
        sound = journal.read_bytes()
        self.assertGreater(len(sound), 200_000)
        for place in range(9, 60, 10):
            damaged = bytearray(sound)
            start = len(sound) * place // 64
            damaged[start:start + 64] = bytes(byte ^ 0xff for byte in damaged[start:start + 64])
            journal.write_bytes(damaged)
            with self.subTest(at=start), self.nothing_changes(self.pool.state):
                self.check_refused(self.pool.serve(ready=False, name=f"server-{place}"), 1,
                                   str(journal), "restore the state directory from a backup")
        journal.write_bytes(sound)
        self.pool.serve()
        self.assertEqual(self.pool.job("j30")["status"], "PENDING")

    def test_a_journal_that_was_cut_off_is_not_touched(self):
        journal = self.fill_journal()
        os.truncate(journal, journal.stat().st_size // 2)
        with self.nothing_changes(self.pool.state):
            self.check_refused(self.pool.serve(ready=False), 1, str(journal),
                               "restore the state directory from a backup")

    def test_a_file_in_its_place_is_named(self):
        Path(self.pool.state).write_text("precious")
        with self.nothing_changes(self.pool.state):
            self.check_refused(self.pool.serve(ready=False), 4, self.pool.state,
                               "is a file; choose another directory")

    def test_a_folder_in_the_journals_place_is_named(self):
        os.makedirs(os.path.join(self.pool.state, "journal.db"))
        with self.nothing_changes(self.pool.state):
            self.check_refused(self.pool.serve(ready=False), 4,
                               os.path.join(self.pool.state, "journal.db"))

    def test_one_whose_parent_is_missing_is_named_and_not_made(self):
        state = self.path("no", "such")
        self.check_refused(self.pool.launch("server", ["server", "--state", state, "--grpc-port", 0,
                                                       "--http-port", 0]), 3,
                           state, "No such file or directory; its parent must be there")
        self.assertFalse(os.path.exists(self.path("no")))

    def test_one_that_may_not_be_written_is_named(self):
        journal = self.fill_journal()
        os.chmod(self.pool.folder, 0o755)
        for path, mode in [(self.pool.state, 0o555), (str(journal), 0o444)]:
            os.chmod(self.pool.state, 0o777)
            os.chmod(path, mode)
            with self.subTest(path=path), self.nothing_changes(self.pool.state):
                self.check_refused(self.refused_as_nobody("server", self.pool.state), 4, path,
                                   "Permission denied; choose another directory or change its "
                                   "owner")

    def test_one_that_may_not_be_made_is_named(self):
        os.chmod(self.pool.folder, 0o755)
        os.mkdir(self.path("closed"), 0o555)
        state = self.path("closed", "state")
        self.check_refused(self.refused_as_nobody("server", state), 4, state,
                           "Permission denied; its parent must be there and be yours")
        self.assertFalse(os.path.exists(state))

    def refused_as_nobody(self, verb, state):
        return run_as_nobody(self.pool, [verb, "--state", state, "--grpc-port", 0,
                                         "--http-port", 0])


class AgentState(StateTest):
    """`keiko agent --state`."""

    def join(self, state, **more):
        return self.pool.join("n1", state=state, ready=False, **more)

    def test_one_of_a_newer_version_names_both_formats(self):
        state = self.path("newer")
        os.mkdir(state)
        Path(state, "format").write_text("7\n")
        with self.nothing_changes(state):
            self.check_refused(self.join(state), 4,
                               f"{state} has format 7, this version knows up to",
                               "use the newer keiko that wrote it, or another folder")

    def test_a_file_in_its_place_is_named(self):
        state = self.path("precious")
        Path(state).write_text("precious")
        with self.nothing_changes(state):
            self.check_refused(self.join(state), 4, state, "choose another with --state",
                               "Not a directory")

    def test_one_that_may_not_be_written_is_named(self):
        state = self.path("closed")
        os.mkdir(state, 0o555)
        os.chmod(self.pool.folder, 0o755)
        with self.nothing_changes(state):
            self.check_refused(run_as_nobody(self.pool, [
                "agent", "--join", f"127.0.0.1:{self.pool.grpc}", "--name", "n1", "--state", state,
            ]), 4, state, "Permission denied", "--state")


class UpState(StateTest):
    """`keiko up --state` says what its server says."""

    def up(self, state):
        return self.pool.launch("up", ["up", "--state", state, "--grpc-port", 0, "--http-port", 0])

    def test_a_journal_of_a_newer_version_is_named_and_left_alone(self):
        os.mkdir(self.pool.state)
        journal = Path(self.pool.state, "journal.db")
        self.pool.serve().stop()
        with contextlib.closing(sqlite3.connect(journal)) as database:
            database.execute("PRAGMA user_version=99")
        before = journal.read_bytes()
        self.check_refused(self.up(self.pool.state), 4, "newer Keiko", "its format is 99")
        self.assertEqual(journal.read_bytes(), before)

    def test_a_file_in_its_place_is_named(self):
        Path(self.pool.state).write_text("precious")
        self.check_refused(self.up(self.pool.state), 4, self.pool.state, "--state DIR")
        self.assertEqual(Path(self.pool.state).read_text(), "precious")


if __name__ == "__main__":
    need(KEIKO, "build it with ./dev build, or set KEIKO_BIN_DIR")
    unittest.main(verbosity=2)
