"""docs/COMPLAINTS.md: each complaint is named by a test, and each that a test names is there.

A test names a complaint in a comment or message: "complaint 21", "complaints 24, 25 and 30". The
last column, the files of those tests, is written by `./dev fix`.
"""
import re
from pathlib import PurePosixPath

from .source import Complaint

COMPLAINTS = "docs/COMPLAINTS.md"
NAMED = re.compile(r"\b[Cc]omplaints?\s+(\d+(?:(?:,\s*|\s+and\s+)\d+)*)")
ROW = re.compile(r"^\| (\d+) \|.*\|$")
TESTS = re.compile(r"_test\.(cc|py)$|^tests/scenarios/.*\.txt$")


def named_by(tree):
    """RETURNS: {number: [(path, line)]} of all tests that name a complaint."""
    found = {}
    for path in tree.select("", ".cc", ".py", ".txt"):
        if not TESTS.search(path) or path.startswith("tests/house/"):
            continue
        for number, line in enumerate(tree.lines(path), 1):
            for match in NAMED.finditer(line):
                for complaint in re.findall(r"\d+", match[1]):
                    found.setdefault(int(complaint), []).append((path, number))
    return found


def file_list(places):
    paths = sorted({path for path, _ in places})
    return ", ".join(f"[{PurePosixPath(path).name}](../{path})" for path in paths)


def rows_of(tree):
    """Yields (line number, complaint, line) of every row."""
    for number, line in enumerate(tree.lines(COMPLAINTS), 1):
        match = ROW.match(line)
        if match:
            yield number, int(match[1]), line


def with_tests(line, places):
    return line[:-1].rsplit("|", 1)[0] + f"| {file_list(places)} |"


def check_complaints(tree):
    if not tree.has(COMPLAINTS):
        return
    found, listed = named_by(tree), set()
    for number, complaint, line in rows_of(tree):
        if complaint in listed:
            yield Complaint(COMPLAINTS, number, "complaints", f"{complaint} is there twice")
        listed.add(complaint)
        if complaint not in found:
            yield Complaint(COMPLAINTS, number, "complaints",
                            f"no test names complaint {complaint}; write \"complaint {complaint}\" "
                            "at the one that proves that it cannot happen here")
        elif line != with_tests(line, found[complaint]):
            yield Complaint(COMPLAINTS, number, "complaints",
                            f"other files name complaint {complaint}; ./dev fix writes them")
    for complaint, places in sorted(found.items()):
        if complaint not in listed:
            path, line = places[0]
            yield Complaint(path, line, "complaints",
                            f"complaint {complaint} has no row in {COMPLAINTS}")


def mend_complaints(tree):
    if not tree.has(COMPLAINTS):
        return
    found = named_by(tree)
    lines = tree.lines(COMPLAINTS)
    fresh = list(lines)
    for number, complaint, line in rows_of(tree):
        if complaint in found:
            fresh[number - 1] = with_tests(line, found[complaint])
    if fresh != lines:
        tree.write(COMPLAINTS, "\n".join(fresh) + "\n")
