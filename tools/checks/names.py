"""Names: closed role suffixes, banned parts, one spelling, tests as sentences.

A suffix tells the role, so it may only stand where that role lives; a name like Manager or Util
tells nothing and is banned.
"""
import re
from pathlib import PurePosixPath

from .shape import read_shapes
from .source import Complaint

BANNED_PARTS = {"Manager", "Helper", "Helpers", "Util", "Utils", "Impl", "Base", "Data", "Info"}
BANNED_STEMS = {part.lower() for part in BANNED_PARTS}
# suffix: (folders below src/ where the role lives, what it means)
ROLES = {
    "Policy": (r"core/sched", "a thought of the scheduler"),
    "Driver": (r"drivers/|ports/", "a hand behind a port"),
    "Loop": (r"server/|agent/|train/|sim/|cli/|drivers/", "owns a thread"),
    "Client": (r"wire/|cli/|agent/|server/|train/|drivers/", "the wire's near end"),
    "Service": (r"wire/|server/|agent/", "the wire's far end"),
    "Probe": (r"server/|agent/|train/|sim/|drivers/", "metrics of a shell"),
    "Checker": (r"sim/", "an invariant of the simulator"),
}
TEST = re.compile(r"^(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+)\s*,\s*(\w+)\s*\)$")
# Functions that a framework names.
FOREIGN = re.compile(r"^(SetUp|TearDown|SetUpTestSuite|TearDownTestSuite|SetUpTestCase|PrintTo|"
                     r"LLVMFuzzer\w+|BENCHMARK\w*|FUZZ\w*|MATCHER\w*|ACTION\w*|MOCK_METHOD|"
                     r"INSTANTIATE\w*|(TYPED_)?TEST\w*|REGISTER\w*)$")
CONSTANT = re.compile(
    r"\bconstexpr\s+(?:const\s+)?[\w:]+(?:<[^<>;=]*>)?(?:\s*[*&])?\s+(\w+)\s*"
    r"(?:\[[^\]]*\]\s*)?[={]")
MEMBER = re.compile(r"\b(m_[a-z]\w*)\b")


def words_of(name):
    return re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z0-9]*|[a-z0-9]+", name)


def check_names(tree):
    for path in tree.cpp("src/") + tree.cpp("apps/"):
        yield from file_name(path)
        functions, types = read_shapes(tree.code(path))
        foreign = overrides_of(tree, path)
        # A test that a parent test starts as another process hides behind DISABLED_.
        if "gtest_also_run_disabled_tests" in tree.text(path):
            foreign.add("DISABLED_")
        for made in types:
            yield from type_name(path, made)
        for function in functions:
            yield from function_name(path, function, types, foreign)
        for number, line in enumerate(tree.code_lines(path), 1):
            yield from line_names(path, number, line)


def file_name(path):
    stem = PurePosixPath(path).stem
    if not re.match(r"^[a-z0-9_]+$", stem):
        yield Complaint(path, 1, "names", "file names are snake_case")
    for part in set(stem.split("_")) & BANNED_STEMS:
        yield Complaint(path, 1, "names",
                        f"'{part}' in a file name tells nothing; name what it owns")


def type_name(path, made):
    name = made.name.split("::")[-1]
    if not re.match(r"^[A-Z][A-Za-z0-9]*$", name):
        yield Complaint(path, made.line, "names", f"type {name}: types are PascalCase")
    for part in set(words_of(name)) & BANNED_PARTS:
        yield Complaint(path, made.line, "names",
                        f"type {name}: '{part}' tells nothing; name its role")
    for suffix, (folders, meaning) in ROLES.items():
        below = path[4:] if path.startswith("src/") else path
        if name.endswith(suffix) and name != suffix and path.startswith("src/") \
                and not name.startswith("Fake") and not re.match(folders,
                                                                 below) and made.kind != "enum":
            yield Complaint(path, made.line, "names",
                            f"type {name}: …{suffix} is {meaning} and lives in {folders}")
    if name.endswith("Options") and made.kind == "class":
        yield Complaint(path, made.line, "names", f"type {name}: …Options is a plain struct")


def function_name(path, function, types, foreign):
    test = TEST.match(function.name)
    if test:
        suite, name = test[1], test[2]
        if name.startswith("DISABLED_") and "DISABLED_" in foreign:
            return
        if name.startswith("DISABLED"):
            yield Complaint(path, function.line, "names", f"test {name}: mend it or delete it")
        elif not re.match(r"^[a-z0-9]+(_[a-z0-9]+)*$", name):
            yield Complaint(path, function.line, "names",
                            f"test {suite}.{name}: a test is a sentence in snake_case")
        return
    name = function.name.split("::")[-1]
    own = {t.name.split("::")[-1] for t in types}
    qualified = re.search(
        r"\b(\w+)(?:<[^<>]*>)?\s*::\s*~?" + re.escape(name.lstrip("~")) + r"\s*\(", function.head)
    if name.startswith(("~", "operator")) or name in own or (qualified and qualified[1] == name):
        return
    if re.search(r"\boverride\b", function.head) or FOREIGN.match(name) or name in foreign:
        return
    if not re.match(r"^[a-z][a-z0-9_]*$", name):
        yield Complaint(path, function.line, "names", f"function {name}: functions are snake_case")


def overrides_of(tree, path):
    """RETURNS: the functions that the header of `path` overrides; their names are not ours."""
    header = path.removesuffix(".cc") + ".h"
    if not tree.has(header):
        return set()
    return set(re.findall(r"\b(\w+)\s*\([^;{}]*\)[^;{}()]*\boverride\b", tree.code(header)))


def line_names(path, number, line):
    constant = CONSTANT.search(line)
    if constant and not re.match(r"^k[A-Z0-9]\w*$",
                                 constant[1]) and "(" not in line[:constant.start(1)]:
        yield Complaint(path, number, "names", f"constant {constant[1]}: constants are kPascalCase")
    member = MEMBER.search(line)
    if member:
        yield Complaint(path, number, "names", f"member {member[1]}: members end in an underscore")
