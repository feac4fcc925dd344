"""Text rules: 100 columns, white space, #pragma once, file heads, sorted includes, TODO.

Each has a mending twin except the ones that need a thought (columns, heads, TODO).
"""
import re
import shutil
import subprocess
from pathlib import Path

from .floors import INCLUDE
from .source import Complaint, line_of

COLUMNS = 100
CODE = (".h", ".cc", ".py", ".sh", ".cmake", ".proto", "CMakeLists.txt", "/dev", "/run")
TODO = re.compile(r"\bTODO\b(?!\((issue-)?[0-9]+\))")
UNFINISHED = re.compile(r"\b(FIXME|XXX|HACK)\b")


def source_files(tree):
    """Every text of ours, by ending."""
    chosen = [f for f in tree.files if f.endswith(CODE) or f == "dev"]
    return [f for f in chosen if not f.startswith(("web/", "python/"))]


def check_columns(tree):
    for path in source_files(tree):
        for number, line in enumerate(tree.lines(path), 1):
            if len(line) > COLUMNS:
                yield Complaint(path, number, "columns", f"{len(line)} columns, at most {COLUMNS}")


def mend_columns(tree):
    """Wraps whole-line comments; clang-format, where installed, breaks the lines of code."""
    for path in tree.cpp("src/") + tree.cpp("apps/") + tree.select("proto/", ".proto"):
        fresh = wrap_comments(tree.text(path))
        if fresh != tree.text(path):
            tree.write(path, fresh)
        long_lines = [n for n, line in enumerate(tree.lines(path), 1) if len(line) > COLUMNS]
        if long_lines and path.endswith((".h", ".cc")) and shutil.which("clang-format"):
            # The style is ours, not the tree's, so that a small tree can be mended as well.
            style = Path(__file__).resolve().parents[2] / ".clang-format"
            lines = [f"--lines={n}:{n}" for n in long_lines]
            result = subprocess.run(["clang-format", f"--style=file:{style}", *lines],
                                    input=tree.text(path), capture_output=True, text=True,
                                    check=False)
            if result.returncode == 0:
                tree.write(path, result.stdout)


def wrap_comments(text):
    """Moves the words beyond the last column to the next line of the same comment, or a new one."""
    lines, at = text.split("\n"), 0
    while at < len(lines):
        match = re.match(r"^(\s*///?<? ?)(\S.*)$", lines[at])
        if match and len(lines[at]) > COLUMNS and " " in lines[at][len(match[1]):COLUMNS]:
            cut = lines[at].rindex(" ", len(match[1]), COLUMNS + 1)
            rest = lines[at][cut + 1:]
            lines[at] = lines[at][:cut]
            following = lines[at + 1] if at + 1 < len(lines) else ""
            if following.startswith(match[1]) and re.match(r"^[\w(`'\"]",
                                                           following[len(match[1]):]):
                lines[at + 1] = match[1] + rest + " " + following[len(match[1]):]
            else:
                lines.insert(at + 1, match[1] + rest)
        at += 1
    return "\n".join(lines)


def tidy(text):
    lines = [re.sub(r"[ \t\r]+$", "", line) for line in text.split("\n")]
    return "\n".join(lines).rstrip("\n") + "\n" if text.strip() else text


def white_files(tree):
    return source_files(tree) + tree.select("", ".md") + [
        f for f in ("FLOORS", "CMakePresets.json") if tree.has(f)]


def check_white(tree):
    for path in white_files(tree):
        text = tree.text(path)
        for number, line in enumerate(text.split("\n"), 1):
            if re.search(r"[ \t\r]$", line):
                yield Complaint(path, number, "white", "space at the end of the line")
            if "\t" in line:
                yield Complaint(path, number, "white", "a tab; write spaces")
        if text.strip() and text != text.rstrip("\n") + "\n":
            yield Complaint(path, text.count("\n") + 1, "white", "ends without exactly one newline")


def mend_white(tree):
    for path in white_files(tree):
        fresh = tidy(tree.text(path).replace("\t", "  "))
        if fresh != tree.text(path):
            tree.write(path, fresh)


def headers(tree):
    return [f for f in tree.select("", ".h") if f.startswith(("src/", "apps/", "bench/", "tests/"))]


def check_pragma(tree):
    for path in headers(tree):
        code = tree.code(path)
        if not re.search(r"^#pragma once$", code, re.M):
            yield Complaint(path, 1, "pragma", "a header says #pragma once after its head comment")
        guard = re.search(r"^#ifndef \w+_H_?$", code, re.M)
        if guard:
            yield Complaint(path, line_of(code, guard.start()), "pragma",
                            "write #pragma once, not a guard")


def mend_pragma(tree):
    for path in headers(tree):
        if re.search(r"^#pragma once$", tree.code(path), re.M):
            continue
        lines, at = tree.lines(path), 0
        while at < len(lines) and lines[at].startswith("//"):
            at += 1
        tree.write(path, "\n".join(lines[:at] + ["#pragma once"] + lines[at:]) + "\n")


def needs_head(tree, path):
    """A .cc that includes a header of its folder is introduced by it; a test by its sentences."""
    if not path.endswith(".cc"):
        return True
    if path.endswith("_test.cc"):
        return False
    folder = path[len("src/"):].rpartition("/")[0]
    included = [match[2] for match in map(INCLUDE.match, tree.lines(path)) if match]
    return not any(header.rpartition("/")[0] == folder for header in included)


def check_heads(tree):
    for path in source_files(tree):
        lines = tree.lines(path)
        if not needs_head(tree, path) or not lines:
            continue
        first = lines[1] if lines[0].startswith("#!") and len(lines) > 1 else lines[0]
        if path.endswith((".h", ".cc", ".proto")):
            good = first.startswith("//") and len(first) > 12
        elif path.endswith(".py"):
            good = first.startswith(('"""', "#"))
        else:
            good = first.startswith("#") or path == "CMakeLists.txt"
        if not good:
            yield Complaint(path, 1, "heads",
                            "begins without a comment that says what the file owns and how")


def include_blocks(lines):
    """Yields (first, last) of each run of include lines."""
    start = None
    for at, line in enumerate(lines + [""]):
        if INCLUDE.match(line):
            start = at if start is None else start
        elif start is not None:
            yield start, at
            start = None


def check_include_order(tree):
    for path in tree.cpp("src/") + tree.cpp("apps/"):
        lines = tree.lines(path)
        for start, end in include_blocks(lines):
            block = lines[start:end]
            if block != sorted(block, key=order_key):
                yield Complaint(path, start + 1, "includes",
                                "a block of includes is sorted by name")


def order_key(line):
    match = INCLUDE.match(line)
    return (match[1] == '"', match[2]) if match else (True, line)


def mend_include_order(tree):
    for path in tree.cpp("src/") + tree.cpp("apps/"):
        lines = tree.lines(path)
        for start, end in include_blocks(lines):
            lines[start:end] = sorted(lines[start:end], key=order_key)
        fresh = "\n".join(lines) + "\n"
        if lines and fresh != tree.text(path):
            tree.write(path, fresh)


def check_todo(tree):
    for path in source_files(tree):
        if path.startswith("tools/checks/") or path.startswith("tests/house/"):
            continue  # these speak about the rule
        for number, line in enumerate(tree.lines(path), 1):
            if TODO.search(line):
                yield Complaint(path, number, "todo",
                                "write TODO(issue-12): which issue will do it?")
            if UNFINISHED.search(line):
                yield Complaint(path, number, "todo",
                                f"{UNFINISHED.search(line)[0]}: finish it, or TODO(issue-12)")
