#!/usr/bin/env python3
"""What a test run skipped and why, and where its seconds went, from ctest's junit.xml.

usage: tools/test_report.py BUILD_FOLDER
"""
import re
import sys
import xml.etree.ElementTree as xml
from collections import defaultdict
from pathlib import Path


def read_cases(build):
    """RETURNS: (name, seconds, status, output) of every test of the last run."""
    report = Path(build) / "junit.xml"
    if not report.exists():
        return []
    cases = []
    for case in xml.parse(report).getroot().iter("testcase"):
        output = case.findtext("system-out") or ""
        cases.append((case.get("name"), float(case.get("time") or 0), case.get("status"), output))
    return cases


def skip_reason(output):
    """The sentence behind GTEST_SKIP() or the last line of a script that ended with 77."""
    match = re.search(r": Skipped\n(.+?)(?:\n\s*\n|\n\[)", output, re.S)
    if match:
        return " ".join(match[1].split())
    lines = [line for line in output.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no reason given"


def seconds_by_room(cases):
    rooms = defaultdict(lambda: [0, 0.0])
    for name, seconds, _, _ in cases:
        room = name.rsplit("/", 1)[0] if name.startswith(("e2e/", "house/")) else \
            re.sub(r"/[A-Z].*$|/[^/]*\.[^/]*$", "", name)
        rooms[room][0] += 1
        rooms[room][1] += seconds
    return sorted(rooms.items(), key=lambda item: -item[1][1])


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    cases = read_cases(sys.argv[1])
    reasons = defaultdict(list)
    for name, _, status, output in cases:
        if status in ("notrun", "disabled"):
            reasons[skip_reason(output)].append(name)
    if cases:
        print("\ntest seconds by room (sum over processes):")
        for room, (count, seconds) in seconds_by_room(cases)[:12]:
            print(f"  {seconds:7.1f} s  {count:4d} tests  {room}")
    skipped = sum(len(names) for names in reasons.values())
    print(f"\nskipped: {skipped or 'nothing'}")
    for reason, names in sorted(reasons.items()):
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        print(f"  {names[0]}{more}: {reason}")


if __name__ == "__main__":
    main()
