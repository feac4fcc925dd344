#!/usr/bin/env python3
"""Scaffolds a thing: its file, its test, its row in the table, and says which boxes are left.

usage: tools/new.py event|policy|driver|rpc|verb NAME [--root FOLDER]

Everything is worked out first and written at the end, so that a missing marker leaves the tree
as it was. What it writes builds and its test passes; what it does is for you to fill in.
"""
import argparse
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from checks.source import Tree  # noqa: E402
from scaffold import driver, event, policy, rpc, verb  # noqa: E402
from scaffold.draft import Draft, ScaffoldError  # noqa: E402

KINDS = {
    "event": (event.scaffold, r"[a-z][a-z0-9]*(_[a-z0-9]+)*", "snake_case, as job_paused"),
    "policy": (policy.scaffold, r"[a-z][a-z0-9]*(_[a-z0-9]+)*", "snake_case, as shortest_first"),
    "driver": (driver.scaffold, r"[a-z][a-z0-9_]*/[a-z][a-z0-9_]*", "PORT/NAME, as journal/etcd"),
    "rpc": (rpc.scaffold, r"[A-Z][A-Za-z0-9]+", "PascalCase, as PauseJob"),
    "verb": (verb.scaffold, r"[a-z][a-z0-9]*(_[a-z0-9]+)*", "one word, as pause"),
}


def main():
    parser = argparse.ArgumentParser(prog="./dev new", description="Scaffold a thing.")
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("name")
    parser.add_argument("--root", default=str(Path(__file__).resolve().parent.parent))
    arguments = parser.parse_args()
    make, pattern, example = KINDS[arguments.kind]
    if not re.fullmatch(pattern, arguments.name):
        parser.error(f"the name of a new {arguments.kind} is {example}; got '{arguments.name}'")
    draft = Draft(Tree(arguments.root))
    try:
        make(draft, arguments.name)
    except ScaffoldError as error:
        print(f"new: {error}; nothing was written", file=sys.stderr)
        return 1
    draft.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
