"""What of a trace is the same under both clocks, and how two traces are compared.

Compared are the durable facts: for each job and for each node the events of JOB_FACTS and
NODE_FACTS, in their order and with their whole text, which `keiko events` and the simulator's trace
write alike: attempt, rank, nodes, cause, signal, exit code, reason, outcome, intent, the
checkpoint's step and ref, the sentence why. Left out of the text is what a clock or an operating
system chooses (CHANCE): times, ports, what a worker cost, where a program was looked for.

Order is strict within a rank, and between a rank's facts and those of the whole job. The ranks of
an attempt are processes that know nothing of each other: their starts, checkpoints and ends may
change places as long as no fact of the whole job stands between them. No order is compared between
two jobs, nor between jobs and nodes. Notes that are not durable (job_waits, node_seen,
agent_disconnected) depend on which report came first and are not compared; expectations cover those
states.
"""
import difflib
import re

JOB_FACTS = {"job_submitted", "job_placed", "rendezvous_ready", "worker_started", "worker_ended",
             "job_stopping", "attempt_ended", "job_cancelled", "job_held", "job_released",
             "checkpoint_committed"}
NODE_FACTS = {"node_joined", "node_lost", "node_duty", "node_forgotten"}
RANK_FACTS = {"worker_started", "worker_ended", "checkpoint_committed"}
CHANCE = re.compile(r' ?\b(port|ran|not_before|user_cpu|max_rss)=[^ }]+| \(looked in PATH=[^)]*\)')
ABOUT = re.compile(r"\b(job|node)=([a-z]*\d+)")


class Fact:
    """`where`: the line of the file that expects it, or the time at which it was seen."""

    def __init__(self, name, text, where):
        self.name, self.text, self.where = name, CHANCE.sub("", text), where
        kind, self.about = ABOUT.search(text).groups()
        self.about = f"{kind} {self.about}"
        # Rank 0, who announces the checkpoints, is left out of a key's text.
        rank = re.search(r"\brank=(\d+)", text.partition("end=")[0])
        self.rank = int(rank.group(1)) if rank else 0

    def __str__(self):
        return f"{self.name} {self.text}"


def facts_of(events):
    """`events`: (name, text, where). RETURNS: {"job j1": [Fact, ...]} in canonical order."""
    lanes = {}
    for name, text, where in events:
        if name in JOB_FACTS | NODE_FACTS:
            fact = Fact(name, text, where)
            lanes.setdefault(fact.about, []).append(fact)
    return {about: canonical(facts) for about, facts in lanes.items()}


def canonical(facts):
    """Ranks change places freely until a fact of the whole job stands between them."""
    ordered, run = [], []
    for fact in facts:
        if fact.name in RANK_FACTS:
            run.append(fact)
            continue
        ordered += sorted(run, key=lambda one: one.rank) + [fact]
        run = []
    return ordered + sorted(run, key=lambda one: one.rank)


def difference(path, expected, seen):
    """RETURNS: "" if the same, else a text that names the file, the line, both facts."""
    for index in range(max(len(expected), len(seen))):
        wanted = expected[index] if index < len(expected) else None
        got = seen[index] if index < len(seen) else None
        if str(wanted) == str(got):
            continue
        line = (wanted or expected[-1]).where if expected else 0
        diff = difflib.unified_diff([str(fact) for fact in expected], [str(fact) for fact in seen],
                                    "expected", "seen", lineterm="", n=2)
        return (f"{path}:{line}: the facts differ\n"
                f"  expected: {wanted or '(no more facts)'}\n"
                f"  seen:     {f'{got}   at {got.where}' if got else '(no more facts)'}\n    "
                + "\n    ".join(diff))
    return ""
