"""One scenario file against real processes: steps at their times, expectations, facts."""
import json
import re
import subprocess
import threading
import time
from pathlib import Path

from harness import KEIKO, PATIENCE, PYTHON, ROOT
from scenario_facts import difference, facts_of
from scenario_pool import ScenarioPool

PROGRAM = Path(__file__).with_name("scenario_program.py")
FINAL = ("COMPLETED", "FAILED", "CANCELLED")
PATIENCE_S = 5 * PATIENCE  # real processes are a little late, and the machine may be busy
STARTING = threading.Semaphore(2)  # pools that start at once; running ones cost next to nothing


def read_scenario(path):
    """RETURNS: the file as the simulator's own parser reads it."""
    done = subprocess.run([KEIKO, "sim", "scenario", str(path), "--json"], text=True,
                          capture_output=True, timeout=60)
    if done.returncode != 0:
        raise AssertionError(f"{path}: {done.stderr.strip()}")
    return json.loads(done.stdout)


class Problem(Exception):
    pass


class ScenarioRun:
    def __init__(self, scenario):
        self.scenario = scenario
        path = Path(scenario["file"]).resolve()
        self.path = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
        self.ids, self.refused = {}, {}
        self.pool, self.began = None, 0

    def run(self):
        """RETURNS: what did not hold, as texts; empty if all did."""
        with STARTING:
            self.pool = ScenarioPool(self.scenario["machines"])
            try:
                self.pool.start()
            except BaseException:
                self.pool.show_logs()
                self.pool.close(check=False)
                raise
        problems = []
        try:
            self.began = time.monotonic()
            self.carry_out()
            problems += self.refusals() + self.facts() + self.duplicates()
        except Problem as problem:
            problems.append(str(problem))
        finally:
            if problems:
                problems.append(self.pool.tails())
            self.pool.close(check=not problems)
        return problems

    def fail(self, step, text):
        raise Problem(f"{self.path}:{step['line']}: {text}")

    # ---- steps ----

    def carry_out(self):
        for step in self.scenario["steps"]:
            time.sleep(max(0, self.began + step["at_ms"] / 1000 - time.monotonic()))
            verb, *rest = step["words"]
            action = getattr(self, "do_" + verb.replace("-", "_"), None)
            if action is None:
                self.fail(step, f"'{verb}' is not an action")
            action(step, *rest)

    def keiko(self, *words):
        return self.pool.run(*words)

    def do_submit(self, step, name):
        path = Path(self.pool.folder, name + ".json")
        path.write_text(json.dumps(self.job_file(self.scenario["jobs"][name])))
        done = self.keiko("submit", path)
        found = re.search(r"\bj\d+\b", done.stdout)
        if not self.ids and not self.refused:  # nothing runs yet: the clock may wait
            self.began = max(self.began, time.monotonic() - step["at_ms"] / 1000)
        if done.returncode == 0 and found:
            self.ids[name] = found.group()
        else:
            self.refused[name] = done.stderr

    def job_file(self, job):
        command = [PYTHON, "-S", "-E", str(PROGRAM), self.pool.folder, json.dumps(job["program"])]
        if job["program"]["cannot_start"]:
            command = ["sim"]
        same = ("name", "kind", "workers", "priority", "infra_restarts", "one_node", "restarts")
        return {**{key: job[key] for key in same if key in job},
                "command": command,
                "workdir": self.pool.folder,
                "grace": "%dms" % job["grace_ms"],
                "time_limit": "%dms" % job["time_limit_ms"],
                "resources": {"devices": job["devices"], "cpu": job["cpu_milli"] / 1000,
                              "memory": "%dB" % job["memory_bytes"]}}

    def act(self, step, name):
        done = self.keiko(step["words"][0], "--reason", "scenario", self.ids.get(name, name))
        if done.returncode != 0:
            self.fail(step, f"{' '.join(step['words'])}: {done.stderr.strip()}")

    do_cancel = do_hold = do_release = do_requeue = act
    do_cordon = do_drain = do_uncordon = do_forget = act

    def do_kill(self, step, name, rank="rank=0"):
        rank = int(rank.partition("=")[2])
        workers = self.pool.job(self.ids[name]).get("workers", [])
        pids = [int(worker.get("pid", 0)) for worker in workers
                if int(worker.get("rank", 0)) == rank and worker["status"] == "running"]
        if not pids or not pids[0]:
            self.fail(step, f"no such worker runs: {workers}")
        self.pool.kill_now(pids[0])

    def do_crash(self, step, what, name=""):
        if what == "server":
            self.pool.crash_server()
        elif what == "agent":
            self.pool.crash_agent(name)
        else:
            self.pool.crash_machine(name)

    def do_start(self, step, what, name=""):
        if what == "server":
            self.pool.start_server()
        else:
            self.pool.start_agent(name)

    def do_partition(self, step, name):
        self.pool.links[name].cut()

    def do_reconnect(self, step, name):
        self.pool.links[name].mend()

    # ---- expectations ----

    def do_expect(self, step, name, status="", *more):
        if status == "REFUSED":
            if name not in self.refused:
                self.fail(step, f"expected: {name} REFUSED\n  seen:     it is {self.ids[name]}")
            return
        if name not in self.ids:
            self.fail(step, f"expected: {name} {status}\n  seen:     refused: {self.refused[name]}")
        wanted = {"status": status, **dict(word.split("=", 1) for word in more)}
        self.poll(step, wanted, lambda: self.told(self.pool.job(self.ids[name])))

    def told(self, job):
        if not job:
            return {}
        return {"status": job["status"], "attempts": str(job.get("attempt", 0)),
                "reason": job.get("reason", ""), "exit": str(job.get("exit_code", 0)),
                "message": job.get("message", "")}

    def do_expect_node(self, step, name, status):
        self.poll(step, {"status": status},
                  lambda: {"status": self.pool.node(name).get("status", "")})

    def poll(self, step, wanted, look):
        end = time.monotonic() + PATIENCE_S
        while True:
            seen = look()
            if all(seen.get(key) == value for key, value in wanted.items()):
                return
            if time.monotonic() > end:
                break
            time.sleep(0.05)
        show = " ".join(f"{key}={value}" for key, value in seen.items()) or "no answer"
        self.fail(step, f"within {PATIENCE_S} s of {step['at_ms'] / 1000:g} s\n"
                        f"  expected: {' '.join(step['words'][1:])}\n  seen:     {show}")

    # ---- what has to be so at the end ----

    def refusals(self):
        """The words of a refusal are the same; the command line only wraps them."""
        problems = []
        for row in self.scenario["trace"]:
            name, refused, why = row["name"], *row["text"].partition("refused: ")[1:]
            if row["who"] == "client" and refused and why not in self.refused.get(name, ""):
                problems.append(f"{self.path}:{row['line']}: {name} was to be refused\n"
                                f"  expected: {why}\n  seen:     {self.refused.get(name)}")
        return problems

    def facts(self):
        rows = [row for row in self.scenario["trace"] if row["who"] == "server"]
        expected = facts_of((row["name"], row["text"], row["line"]) for row in rows)
        deadline = max(time.monotonic(), self.began + self.scenario["end_ms"] / 1000) + PATIENCE_S
        while True:
            events = self.pool.events()
            seen = facts_of((event["name"], event.get("text", ""), event["at"])
                            for event in events)
            problems = [difference(self.path, expected.get(about, []), seen.get(about, []))
                        for about in sorted(expected.keys() | seen.keys())]
            problems = [problem for problem in problems if problem]
            if not problems and self.all_ended():
                return []
            if time.monotonic() > deadline:
                return problems
            time.sleep(0.2)

    def all_ended(self):
        return all(self.pool.job(job).get("status") in FINAL for job in self.ids.values())

    def duplicates(self):
        path = Path(self.pool.folder, "duplicates")
        return [f"{self.path}: ran twice at once: {path.read_text()}"] if path.exists() else []
