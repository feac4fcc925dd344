"""Sizes as a ratchet: what is too big today stands in tools/sizes.txt and may shrink, never grow.

A new excess is a complaint: divide the thing. A line in tools/sizes.txt that is larger than the
truth is a complaint too; `./dev fix` lowers it or takes it out, and never adds or raises one.
"""
import os
import re
from collections import Counter

from .docs import unsaid_options
from .floors import TEST_FILE
from .shape import read_shapes
from .source import Complaint

LIMITS = {"function": 70, "params": 4, "nesting": 3, "file": 500, "test": 800, "header": 200,
          "main": 100, "folder": 20, "methods": 12, "unsaid": 0}
ADVICE = {
    "function": "divide it: a part with a name reads better than a part with a comment",
    "params": "take a struct",
    "nesting": "return early, or give the inner part a name",
    "file": "divide it by event or by noun, not by role",
    "test": "divide it by the behaviour under test",
    "header": "move bodies to the .cc, or divide it",
    "main": "a main only brings parts together",
    "folder": "divide the folder",
    "unsaid": "say unit and why of each option, in a comment above or behind it",
    "methods": "it became a role object: split it by event",
}
ALLOWED = "tools/sizes.txt"


def measure(tree):
    """Yields (kind, path, name, line, size) of everything that has a limit."""
    for path in tree.cpp("src/") + tree.cpp("apps/") + tree.cpp("bench/") + tree.cpp("tests/"):
        lines = len(tree.lines(path))
        if path.startswith("apps/") and re.search(r"^int main\(", tree.code(path), re.M):
            yield "main", path, "-", 1, lines
        elif path.endswith(".h") and not path.endswith("_conformance.h"):
            yield "header", path, "-", 1, lines
        elif path.endswith("_test.cc") or path.endswith("_conformance.h"):
            yield "test", path, "-", 1, lines
        else:
            yield "file", path, "-", 1, lines
        functions, types = read_shapes(tree.code(path))
        for function in functions:
            yield "function", path, function.name, function.line, function.length
            yield "params", path, function.name, function.line, function.params
            yield "nesting", path, function.name, function.line, function.nesting
        for made in types if not TEST_FILE.search(path) else []:  # a fixture is no role object
            yield "methods", path, made.name, made.line, made.methods
    for path, struct, line, count in unsaid_options(tree):
        yield "unsaid", path, struct, line, count
    for path in tree.select("tools/", ".py") + tree.select("tests/", ".py"):
        yield "file", path, "-", 1, len(tree.lines(path))
    # Tests and headers come in pairs with their file, so a folder is counted by its stems.
    stems = {re.sub(r"(_test|_prop_test|_bench)?\.(h|cc)$", "", path) for path in tree.cpp("src/")}
    for folder, count in Counter(os.path.dirname(s) for s in stems).items():
        yield "folder", folder, "-", 1, count


def excesses(tree):
    """RETURNS: {(kind, path, name): (size, line)}, the largest where a name occurs twice."""
    found = {}
    for kind, path, name, line, size in measure(tree):
        key = (kind, path, name)
        if size > LIMITS[kind] and size > found.get(key, (0, 0))[0]:
            found[key] = (size, line)
    return found


def read_allowed(tree):
    allowed = {}
    if not tree.has(ALLOWED):
        return allowed
    for number, line in enumerate(tree.lines(ALLOWED), 1):
        if line.strip() and not line.startswith("#"):
            kind, path, rest = line.split(None, 2)
            name, size = rest.rsplit(None, 1)
            allowed[(kind, path, name)] = (int(size), number)
    return allowed


def check_sizes(tree):
    found, allowed = excesses(tree), read_allowed(tree)
    for (kind, path, name), (size, line) in sorted(found.items()):
        limit, _ = allowed.get((kind, path, name), (LIMITS[kind], 0))
        if size > limit:
            what = path if name == "-" else name
            yield Complaint(path, line, "sizes",
                            f"{kind} {what}: {size}, at most {limit}; {ADVICE[kind]}")
    for key, (limit, number) in allowed.items():
        size, _ = found.get(key, (0, 0))
        if size < limit:
            yield Complaint(ALLOWED, number, "sizes",
                            f"{key[0]} {key[1]} {key[2]} shrank from {limit} to "
                            f"{size or 'within the limit'}; "
                            "./dev fix lowers the line")


def mend_sizes(tree):
    if not tree.has(ALLOWED):
        return
    found, kept = excesses(tree), []
    for line in tree.lines(ALLOWED):
        if line.strip() and not line.startswith("#"):
            kind, path, rest = line.split(None, 2)
            name, limit = rest.rsplit(None, 1)
            size, _ = found.get((kind, path, name), (0, 0))
            if size == 0:
                continue
            line = f"{kind} {path} {name} {min(size, int(limit))}"
        kept.append(line)
    text = "\n".join(kept) + "\n"
    if text != tree.text(ALLOWED):
        tree.write(ALLOWED, text)
