#!/usr/bin/env python3
"""The budget board: slowest files to compile, slowest tests, files and lines of each room.

usage: tools/times.py BUILD_FOLDER [--board]     (--board: CI's, with growth instead of tests)

Compile seconds come from .ninja_log, so a file that ccache had is as fast as its copy; remove the
build folder and set CCACHE_DISABLE=1 for true ones.
"""
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from checks.floors import parse_floors, room_of  # noqa: E402
from checks.source import Tree  # noqa: E402
from test_report import read_cases  # noqa: E402

SHOWN = 10


def compile_seconds(build):
    """RETURNS: {object: seconds}, the last time each object was made."""
    log = Path(build) / ".ninja_log"
    made = {}
    if not log.exists():
        return made
    for line in log.read_text().splitlines()[1:]:
        start, end, _, output = line.split("\t")[:4]
        if output.endswith(".o"):
            made[output] = (int(end) - int(start)) / 1000
    return made


def short_name(output):
    parts = output.split(".dir/", 1)[-1].removesuffix(".o")
    return parts.removesuffix(".cc") + ".cc" if parts.endswith(".cc") else parts


def print_slowest(title, rows, unit):
    print(f"{title}:")
    for name, value in sorted(rows, key=lambda row: -row[1])[:SHOWN]:
        print(f"  {value:7.1f} {unit}  {name}")
    if not rows:
        print("  nothing measured yet")


def print_rooms(tree):
    rooms, _ = parse_floors(tree)
    table = {}
    for path in tree.cpp():
        name = room_of(rooms, path[4:]) or "?"
        row = table.setdefault(name, [0, 0, 0])
        lines = len(tree.lines(path))
        row[0] += 1
        row[2 if path.endswith(("_test.cc", "_conformance.h", "_bench.cc")) else 1] += lines
    print("rooms (files, lines, test lines):")
    for name, (files, lines, tests) in table.items():
        print(f"  {files:4d} {lines:6d} {tests:6d}  {name}")
    total = [sum(row[i] for row in table.values()) for i in range(3)]
    print(f"  {total[0]:4d} {total[1]:6d} {total[2]:6d}  in all")


def print_growth(root):
    """Lines that the last commit added and removed, by room; nothing in a clone without history."""
    diff = subprocess.run(["git", "diff", "--numstat", "HEAD~1", "HEAD", "--", "src"], cwd=root,
                          capture_output=True, text=True, check=False)
    rooms, _ = parse_floors(Tree(root))
    grown = {}
    for line in diff.stdout.splitlines():
        added, removed, path = line.split("\t")
        row = grown.setdefault(room_of(rooms, path[4:]) or "?", [0, 0])
        row[0] += int(added) if added.isdigit() else 0
        row[1] += int(removed) if removed.isdigit() else 0
    print("what the last commit changed (lines added, removed):")
    for name, (added, removed) in sorted(grown.items(), key=lambda item: -item[1][0]):
        print(f"  {added:6d} {removed:6d}  {name}")
    if not grown:
        print("  no line of src/")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    build = sys.argv[1]
    objects = [(short_name(o), s) for o, s in compile_seconds(build).items()]
    print_slowest(f"slowest files to compile ({build})", objects, "s")
    if "--board" not in sys.argv:
        tests = [case[:2] for case in read_cases(build)]
        print_slowest("slowest tests of the last ./dev test", tests, "s")
    root = Path(__file__).resolve().parent.parent
    print_rooms(Tree(root))
    if "--board" in sys.argv:
        print_growth(root)


if __name__ == "__main__":
    try:
        main()
    except BrokenPipeError:  # the reader, `head` perhaps, had enough
        sys.exit(1)
