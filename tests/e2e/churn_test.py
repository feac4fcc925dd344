"""Churn: a pool of two nodes with four GPUs each, a stream of small jobs, and everything that can
befall a node meanwhile. Every job ends right, no GPU is used twice at once, nothing starts on a GPU
that is known to be ill, and every incident is explained.

KEIKO_CHURN_SECONDS: how long (45); KEIKO_CHURN_SEED: what is done when (drawn, and printed).
KEIKO_CHURN_KEEP: a folder that gets the logs of a run that failed.
"""
import json
import os
import random
import shutil
import sys
import time
import unittest
from collections import Counter
from pathlib import Path

from churn_node import GPUS, Node, Rules
from harness import PYTHON, SANITIZER, alive, wait_until
from parts import PartsTest

SECONDS = float(os.environ.get("KEIKO_CHURN_SECONDS") or 45)
SEED = int(os.environ.get("KEIKO_CHURN_SEED") or random.randrange(1 << 31))
PROGRAM = Path(__file__).resolve().parent / "churn_program.py"
FATAL = (48, 62, 79, 95, 119)   # those that take a GPU out of service, by the vendor's catalogue
HARMLESS = (13, 31, 43, 63)     # those that concern a program, or nobody
DECIDED = 3.0                   # seconds from a fault to the last start that may come after it
MOST_JOBS = 7                   # that wait or run at once
LEASE = 10


class Churn(PartsTest):
    def setUp(self):
        super().setUp()
        print(f"KEIKO_CHURN_SEED={SEED} KEIKO_CHURN_SECONDS={SECONDS:g}", flush=True)
        self.draw = random.Random(SEED)
        self.folder = Path(self.pool.folder)
        for name in ("locks", "gangs"):
            (self.folder / name).mkdir()
        (self.folder / "begun").touch()
        self.pool.serve()
        self.nodes = [Node(self.pool, "n1", "a"), Node(self.pool, "n2", "b")]
        for node in self.nodes:
            node.join()
        self.jobs = {}        # {id: (kind, expected status, expected exit code)}
        self.later = []       # [(when, what)]: the second half of faults that pass
        self.fatal = []       # [(when, node, uuid, xid)]
        self.clears = []      # [(when, node)]
        self.incidents = {}   # {(node, id): as last told}
        self.owners = {}      # {(node, id): (owner, ends_by)} of those seen open
        self.rewritten = []   # [(Rules, when)]
        self.counts = Counter()

    def tear_down(self, failed):
        for node in getattr(self, "nodes", []):
            for index in list(node.holders):
                node.end_orphan(index)
        kept = os.environ.get("KEIKO_CHURN_KEEP")
        if failed and kept:
            shutil.copytree(self.folder, kept, dirs_exist_ok=True, ignore=shutil.ignore_patterns(
                "state", "n1", "n2", "locks", "gangs"))
        super().tear_down(failed)

    # Jobs

    def submit(self):
        kind = self.draw.choices(("ok", "fails", "gang", "long"), (8, 3, 3, 1))[0]
        workers = self.draw.randint(2, 4) if kind == "gang" else 1
        code = 7 if kind == "fails" else 0
        seconds = self.draw.uniform(8, 10) if kind == "long" else self.draw.uniform(0.1, 1.5)
        job = self.pool.submit("--cpu", "0.1", "--devices", "1", "--workers", workers, "--restarts",
                               "0", "--infra-restarts", "1000", "--name", kind, "--", PYTHON, "-SE",
                               PROGRAM, self.folder, f"{seconds:.2f}", code)
        self.jobs[job] = ("FAILED" if code else "COMPLETED", code)
        self.counts["jobs"] += 1

    def told_jobs(self):
        told = json.loads(self.pool.run("jobs", "--all", "-o", "json").stdout)
        return {job["id"]: job for job in told.get("jobs", [])}

    def unfinished(self):
        told = self.told_jobs()
        return [job for job in self.jobs
                if told[job]["status"] not in ("COMPLETED", "FAILED", "CANCELLED")]

    def begun(self):
        return [json.loads(line) for line in (self.folder / "begun").read_text().splitlines()]

    # Faults: each does something now, and some of it undoes later

    def after(self, seconds, what):
        self.later.append((time.monotonic() + seconds, what))

    def note(self, text):
        """A line for whoever looks for the reason of a failure."""
        with (self.folder / "faults").open("a") as file:
            file.write(f"{time.strftime('%H:%M:%S', time.gmtime())} {time.time():.3f} {text}\n")

    def fault(self):
        node, index = self.draw.choice(self.nodes), self.draw.randrange(GPUS)
        kinds = {self.fatal_xid: 5, self.harmless_xid: 3, self.memory_error: 2, self.heat: 1,
                 self.vanishing: 3, self.orphan: 3, self.rule_rewrite: 4, self.agent_kill: 3}
        kind = self.draw.choices(list(kinds), kinds.values())[0]
        self.note(f"{kind.__name__} {node.name}/{index}")
        kind(node, index)
        self.counts[kind.__name__] += 1

    def fatal_xid(self, node, index):
        number = self.draw.choice(FATAL)
        when = node.xid(index, number, self.draw.random() < 0.5)
        self.fatal.append((when, node, node.uuids[index], number))

    def harmless_xid(self, node, index):
        node.xid(index, self.draw.choice(HARMLESS), self.draw.random() < 0.5)

    def memory_error(self, node, index):
        node.memory_error(index)

    def heat(self, node, index):
        node.heat(index, True)
        self.after(3, lambda: node.heat(index, False))

    def vanishing(self, node, index):
        node.vanish(index, True)
        self.after(self.draw.uniform(1, 5), lambda: node.vanish(index, False))

    def orphan(self, node, index):
        node.orphan(index)
        self.after(self.draw.uniform(2, 8), lambda: node.end_orphan(index))

    def rule_rewrite(self, node, index):
        """What a reload of the service manager does to the device rules of all that runs."""
        for row in self.begun()[-12:]:
            rules = Rules(row["pid"]) if alive(row["pid"]) else None
            if rules and rules.rewrite():
                self.rewritten.append((rules, time.monotonic()))
                self.counts["rules_rewritten"] += 1

    def agent_kill(self, node, index):
        """As a rule it is back before its lease ends, now and then only after that."""
        if not node.agent.runs():
            return
        node.agent.kill()
        away = LEASE + 2 if self.draw.random() < 0.2 else self.draw.uniform(0.1, 3)
        self.after(away, lambda: node.join(ready=False))

    def pass_by(self):
        now = time.monotonic()
        due = [what for when, what in self.later if when <= now]
        self.later = [(when, what) for when, what in self.later if when > now]
        for what in due:
            what()

    # The operator, who looks now and then

    def look(self):
        done = self.pool.run("incidents", "-o", "json")
        for node in json.loads(done.stdout or "{}").get("nodes", []):
            for incident in node.get("incidents", []):
                self.incidents[node["name"], incident["id"]] = incident
            for health in node.get("health", []):
                if health["level"] != "healthy":
                    owner = (health.get("owner"), health.get("ends_by"), health.get("evidence"))
                    self.owners[node["name"], health["incident"]] = owner

    def clear_what_waits_for_people(self):
        """A reboot, or a cause that came back too often: somebody has looked at it."""
        for node in self.nodes:
            if not node.agent.runs():
                continue
            waits = [one for one in node.ill() if one.get("quarantined") and
                     ("re-test" not in one["ends_by"] and "reset" not in one["ends_by"])]
            if waits:
                self.clear(node)

    def clear(self, node):
        self.clears.append((time.time(), node))
        self.note(f"clear {node.name}")
        self.pool.run("clear", node.name, "--reason", "somebody looked at it")
        self.counts["clears"] += 1

    # The run

    def churn(self):
        end = time.monotonic() + SECONDS
        next_fault = next_look = next_clear = 0.0
        while (now := time.monotonic()) < end:
            self.pass_by()
            if now >= next_look:
                self.look()
                next_look = now + 2
                room = MOST_JOBS - len(self.unfinished())
                for _ in range(room):
                    self.submit()
            if now >= next_fault:
                self.fault()
                next_fault = now + self.draw.uniform(0.3, 1.6)
            if now >= next_clear:
                self.clear_what_waits_for_people()
                next_clear = now + 4
            time.sleep(0.02)

    def heal(self):
        """Nothing befalls the pool any more; what still waits for a person, a person ends."""
        for _, what in self.later:
            what()
        for node in self.nodes:
            node.heal()
        for node in self.nodes:
            if not node.agent.runs():
                node.join(ready=False)
        for node in self.nodes:
            wait_until(lambda: self.pool.node(node.name).get("connected"), 20, "it is back")

        def is_well():
            self.look()
            self.clear_what_waits_for_people()
            return not self.sentences()
        try:
            wait_until(is_well, 60, "nothing is in quarantine any more")
        except AssertionError as late:
            raise AssertionError(f"{late}: {self.sentences()}") from late

    def sentences(self):
        """RETURNS: what is said of all that is in quarantine."""
        return [f"{node.name}: {one['sentence']}" for node in self.nodes for one in node.ill()
                if one.get("quarantined")]

    def test_every_job_ends_right_and_every_incident_is_explained(self):
        why_not = Rules.why_not()
        if why_not:
            print(f"SKIPPED: rewriting of device rules: {why_not}", flush=True)
        self.churn()
        self.heal()
        wait_until(lambda: not self.unfinished(), 90, "all jobs have ended")
        self.rules_come_back()
        self.all_gpus_work_again()
        self.look()
        print(dict(self.counts), f"incidents={len(self.incidents)}", flush=True)
        self.check_jobs()
        self.check_gpus()
        self.check_incidents()
        self.check_rules()

    def rules_come_back(self):
        """Most workers end before the agent's next look at their rules; this one outlives it."""
        if Rules.why_not():
            return
        job = self.pool.submit("--cpu", "0.1", "--devices", "1", "--name", "rules", "--", PYTHON,
                               "-SE", PROGRAM, self.folder, "600", "0")
        self.jobs[job] = ("CANCELLED", 130)
        row = wait_until(lambda: next((row for row in self.begun() if row["job"] == job), None),
                         30, "the worker whose rules will be rewritten runs")
        rules = Rules(row["pid"])
        self.assertTrue(rules.rewrite(), "its rules are its own and can be rewritten")
        self.rewritten.append((rules, time.monotonic()))
        wait_until(lambda: alive(row["pid"]) and rules.read() == rules.before, 20,
                   "its device rules are put back while it runs")
        self.pool.run("cancel", job)
        wait_until(lambda: not self.unfinished(), 20, "it is cancelled")

    def all_gpus_work_again(self):
        job = self.pool.submit("--cpu", "0.1", "--devices", "1", "--workers", 2 * GPUS, "--name",
                               "all", "--", PYTHON, "-SE", PROGRAM, self.folder, "0.1", "0")
        self.jobs[job] = ("COMPLETED", 0)
        ended = self.pool.wait_job(job)
        self.assertEqual(ended["status"], "COMPLETED", ended)
        used = {gpu for row in self.begun() if row["job"] == job for gpu in row["gpus"]}
        self.assertEqual(used, {uuid for node in self.nodes for uuid in node.uuids})

    def check_jobs(self):
        told = self.told_jobs()
        for job, (status, code) in self.jobs.items():
            with self.subTest(job=job):
                ended = told[job]["status"], told[job].get("exit_code", 0)
                self.assertEqual(ended, (status, code), self.pool.run("job", job).stdout)
        self.assertGreater(len(self.jobs), SECONDS / 4, "the pool worked meanwhile")

    def check_gpus(self):
        twice = self.folder / "twice"
        self.assertFalse(twice.exists(), twice.read_text() if twice.exists() else "")
        for when, node, uuid, number in self.fatal:
            healed = [at for at in node.cured_times(uuid) if at > when - 0.5]
            healed += [at for at, cleared in self.clears if cleared is node and at > when]
            until = min(healed, default=time.time())
            late = [row for row in self.begun()
                    if uuid in row["gpus"] and when + DECIDED < row["at"] < until]
            self.assertEqual(late, [], f"started on {uuid}, which had XID {number} at {when}")

    def check_incidents(self):
        self.assertTrue(self.incidents, "a churn without an incident proves nothing")
        for key, incident in self.incidents.items():
            with self.subTest(incident=key):
                self.assertTrue(incident.get("cause"), incident)
                self.assertTrue(incident.get("story"), incident)
                if incident.get("remedy") not in ("ignore", "restart_app"):
                    self.assertTrue(incident.get("steps"), incident)
                if "recovered_at" in incident:
                    self.assertTrue(incident.get("ended_by"), incident)
                elif incident.get("remedy") not in ("ignore", "restart_app"):
                    owner, ends_by, evidence = self.owners.get(key, (None, None, None))
                    self.assertTrue(owner and ends_by and evidence, incident)

    def check_rules(self):
        late = [rules.pid for rules, _ in self.rewritten if not rules.are_back()]
        self.assertEqual(late, [], "their device rules were not put back")
        if Rules.why_not() is None:
            told = "".join(node.agent.text() for node in self.nodes)
            self.assertIn("device_rules_restored", told)


if __name__ == "__main__":
    if SANITIZER:
        SECONDS = min(SECONDS, 30)
    unittest.main(argv=sys.argv[:1], verbosity=2)
