"""Every check bites: a violation planted in a small clean tree is found, and its twin mends it.

Each test copies nothing of the real tree: it writes a house of two rooms, plants one thing, and
runs tools/check.py on it as ./dev check does.
"""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[2] / "tools"
sys.path.insert(0, str(TOOLS))
from check import CHECKS  # noqa: E402
from checks.shape import read_shapes  # noqa: E402
from checks.source import Tree, strip_code  # noqa: E402

FLOORS = """# floor room uses | libraries
1  base          -
2  model         base
3  core/state    model
3  ports         model
3  wire          model  | grpc
6  train         ports  | torch
6  sim           core/state ports
"""
HEADER = """// A noun: what it is, who owns it, in one or two lines.
#pragma once

#include <string>

namespace keiko {
struct Noun {
  std::string name;
};
}  // namespace keiko
"""
USER = """#include "{own}"

#include <string>

#include "base/noun.h"

namespace keiko {{
int count_of(const Noun& noun) {{ return static_cast<int>(noun.name.size()); }}
}}  // namespace keiko
"""
USER_HEADER = """// Counts nouns. Pure function, any thread.
#pragma once

#include "base/noun.h"

namespace keiko {
int count_of(const Noun& noun);
}  // namespace keiko
"""
CHECKER = """// The invariants that a run is held to.
#include "core/state/count.h"

namespace keiko {
class OnlyOnceChecker {
 public:
  const char* name() const { return "only_once"; }
};
}  // namespace keiko
"""
OPTIONS_HEADER = """// What a user may set in the state room.
#pragma once

namespace keiko {
struct CountOptions {
  int limit = 3;  ///< nouns; more would not fit on a screen
};
}  // namespace keiko
"""
CLEAN = {
    "FLOORS": FLOORS,
    "src/base/noun.h": HEADER,
    "src/core/state/count.h": USER_HEADER,
    "src/core/state/count.cc": USER.format(own="core/state/count.h"),
    "src/core/state/options.h": OPTIONS_HEADER,
    "src/core/state/options.cc": '#include "core/state/options.h"\n',
    "src/sim/checkers.cc": CHECKER,
    "docs/INVARIANTS.md": "| name | means |\n|---|---|\n| `only_once` | once |\n",
    "docs/COMPLAINTS.md": "| # | complaint | tests |\n|---|---|---|\n| 3 | it is lost |  |\n",
    "tests/e2e/lost_test.py": '"""What is lost."""\n# Complaint 3: it is lost.\n',
    "docs/WORDS.md": "| word | meaning | never |\n|---|---|---|\n"
                     "| job | what a user submits | task |\n",
    "docs/OPTIONS.md": "# Options\n<!-- generated: options -->\n<!-- end: options -->\n",
    "ARCHITECTURE.md": "# Rooms\n<!-- generated: rooms -->\n<!-- end: rooms -->\n",
    "README.md": "See [words](docs/WORDS.md) and `docs/WORDS.md`.\n",
    "tools/sizes.txt": "# may shrink, never grow\n",
}


class House:
    """A small tree in a temporary folder, removed with the object."""

    template = None

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="keiko_house_")
        self.root = Path(self.folder.name)
        if House.template is None:
            House.template = self.first_files()
        for path, text in House.template.items():
            self.write(path, text)

    def __del__(self):
        self.folder.cleanup()

    def first_files(self):
        for path, text in CLEAN.items():
            self.write(path, text)
        self.run("--fix")  # writes the generated tables
        page = self.read("ARCHITECTURE.md").replace("| ? |", "| something |")
        written = {path: self.read(path) for path in ("docs/OPTIONS.md", "docs/COMPLAINTS.md")}
        return {**CLEAN, **written, "ARCHITECTURE.md": page}

    def write(self, path, text):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def read(self, path):
        return (self.root / path).read_text()

    def append(self, path, text):
        self.write(path, self.read(path) + text)

    def complaints(self, check):
        """What one check says, in this process: the many small plants need no program each."""
        return "\n".join(str(complaint) for complaint in CHECKS[check][0](Tree(self.root)))

    def run(self, *arguments):
        return subprocess.run(
            [sys.executable, "-B", str(TOOLS / "check.py"), "--root", str(self.root), *arguments],
            capture_output=True, text=True, check=False)


STATE = "src/core/state/count.cc"


def plant_line(line, path=STATE):
    return lambda house: house.append(path, line + "\n")


def plant_include(line, path=STATE):
    return lambda house: house.write(path, house.read(path).replace("#include <string>", line, 1))


def big_function(lines):
    body = "\n".join(f"  total += {i};" for i in range(lines))
    return f"int add_all(int total) {{\n{body}\n  return total;\n}}\n"


# (check, what is planted, how, text that the complaint must contain)
PLANTS = [
    ("white", "a trailing space", plant_line("int a;  "), "space at the end"),
    ("white", "a tab", plant_line("\tint a;"), "tab"),
    ("columns", "a long line", plant_line("// " + "word " * 25), "columns"),
    ("pragma", "a header without pragma once",
     lambda h: h.write("src/base/noun.h", HEADER.replace("#pragma once\n", "")), "#pragma once"),
    ("pragma", "an include guard", plant_line("#ifndef NOUN_H_", "src/base/noun.h"), "guard"),
    ("heads", "a header without a head",
     lambda h: h.write("src/base/noun.h", HEADER.split("\n", 1)[1]), "head"),
    ("heads", "a lone .cc without a head",
     lambda h: h.write("src/base/lone.cc", "int lone() { return 1; }\n"), "begins without"),
    ("includes", "includes out of order",
     plant_include("#include <vector>\n#include <string>"), "sorted"),
    ("todo", "a TODO of nobody", plant_line("// TODO: later"), "TODO(issue"),
    ("todo", "unfinished work", plant_line("// FIX" + "ME"), "finish it"),
    ("floors", "an arrow that FLOORS does not have",
     lambda h: (h.write("src/ports/port.h", HEADER), plant_include('#include "ports/port.h"')(h)),
     "core/state may not use ports"),
    ("floors", "an arrow up", lambda h: h.write("FLOORS", FLOORS + "1  deep  sim\n"), "point down"),
    ("floors", "a circle",
     lambda h: h.write("FLOORS", FLOORS + "3  left  right\n3  right  left\n"), "use each other"),
    ("floors", "a room that FLOORS does not know",
     lambda h: h.write("src/attic/box.h", HEADER), "in no room"),
    ("floors", "torch outside train", plant_include("#include <torch/torch.h>"), "name torch"),
    ("floors", "torch through ports", plant_include("#include <torch/torch.h>", "src/base/noun.h"),
     "name torch"),
    ("floors", "grpc outside the wire's users", plant_include("#include <grpcpp/grpcpp.h>"),
     "grpc"),
    ("floors", "generated protobuf in core", plant_include('#include "keiko/v1/jobs.pb.h"'),
     "grpc"),
    ("floors", "a system header in core", plant_include("#include <sys/socket.h>"),
     "standard library"),
    ("floors", "gtest in a library file", plant_include("#include <gtest/gtest.h>"), "belongs in"),
    ("floors", "an include of nothing", plant_include('#include "base/gone.h"'), "no file"),
    ("dead", "a header that nobody includes", lambda h: h.write("src/base/dead.h", HEADER),
     "delete it"),
    ("sizes", "a long function", plant_line(big_function(80)), "function add_all"),
    ("sizes", "a long file", plant_line("// line\n" * 501), "file"),
    ("sizes", "a long header", plant_line("// line\n" * 201, "src/base/noun.h"), "header"),
    ("sizes", "many parameters",
     plant_line("int f(int a, int b, int c, int d, int e) { return a; }"),
     "params f"),
    ("sizes", "deep nesting", plant_line(
        "int g(int a) {\n  if (a) {\n    for (;;) {\n      while (a) {\n        if (a) {\n"
        "          return 1;\n        }\n      }\n    }\n  }\n  return 0;\n}"), "nesting g"),
    ("sizes", "many methods", plant_line(
        "class Many {\n public:\n" + "".join(f"  int get{i}();\n" for i in range(13)) + "};"),
     "methods"),
    ("sizes", "a full folder",
     lambda h: [h.write(f"src/base/noun{i}.cc", "// A noun of many.\n") for i in range(25)],
     "folder"),
    ("sizes", "a long main", lambda h: h.write("apps/main.cc",
                                               "// line\n" * 100 + "int main() {\n}\n"), "main"),
    ("sizes", "an option without a why",
     lambda h: h.write("src/core/state/options.h",
                       OPTIONS_HEADER.replace("  ///< nouns; more would "
                                                                          "not fit on a screen",
                                              "")),
     "unsaid CountOptions"),
    ("sizes", "an allowance beyond the truth",
     plant_line("function src/base/noun.h gone 90", "tools/sizes.txt"), "shrank"),
    ("names", "a banned part", plant_line("class JobManager {\n};"), "Manager"),
    ("names", "a banned file name",
     lambda h: h.write("src/base/text_util.cc", "// Small things.\n"), "'util'"),
    ("names", "a role in the wrong room", plant_line("class DiskDriver {\n};"), "lives in"),
    ("names", "a type in snake case", plant_line("struct job_row {\n};"), "PascalCase"),
    ("names", "a function in camel case", plant_line("int countAll() { return 1; }"), "snake_case"),
    ("names", "a constant in upper case", plant_line("constexpr int LIMIT = 3;"), "kPascalCase"),
    ("names", "a test that is no sentence",
     lambda h: h.write("src/base/noun_test.cc", "TEST(Noun, Works) {\n}\n"), "sentence"),
    ("names", "a disabled test",
     lambda h: h.write("src/base/noun_test.cc", "TEST(Noun, DISABLED_it_works_well) {\n}\n"),
     "mend it"),
    ("invariants", "a checker without a row",
     lambda h: h.write("src/sim/checkers.cc", CHECKER.replace("only_once", "never_twice")),
     "no row"),
    ("invariants", "a row without a checker",
     plant_line("| `all_or_none` | gang |", "docs/INVARIANTS.md"), "no checker"),
    ("complaints", "a complaint that no test names",
     plant_line("| 4 | it is stuck |  |", "docs/COMPLAINTS.md"), "no test names"),
    ("complaints", "a complaint without a row",
     plant_line("# complaints 3 and 5: it is slow", "tests/e2e/lost_test.py"), "no row"),
    ("complaints", "a complaint that another test names as well",
     lambda h: h.write("tests/e2e/found_test.py", '"""Found."""\n# Complaint 3: it is lost.\n'),
     "other files"),
    ("words", "a word with two meanings", plant_line("| job | again | |", "docs/WORDS.md"),
     "meaning"),
    ("words", "a type with the wrong word", plant_line("struct TaskRow {\n};"), "we say 'job'"),
    ("links", "a dead link", plant_line("[gone](docs/GONE.md)", "README.md"), "not there"),
    ("links", "a path that is gone", plant_line("`src/base/gone.h`", "README.md"), "not there"),
    ("rooms", "a room that the table lacks",
     lambda h: h.write("FLOORS", FLOORS + "4  cli  wire\n"), "not what FLOORS says"),
    ("options", "a default that the page lacks",
     lambda h: h.write("src/core/state/options.h", OPTIONS_HEADER.replace("3;", "4;")), "not what"),
]
BANNED_LINES = [
    ("#include <thread>", "<thread>"), ("#include <mutex>", "<mutex>"),
                ("#include <atomic>", "<atomic>"),
    ("#include <chrono>", "<chrono>"), ("#include <random>", "<random>"),
    ("#include <filesystem>", "<filesystem>"), ("#include <iostream>", "<iostream>"),
    ("#include <fstream>", "<fstream>"), ("#include <unordered_map>", "<unordered_map>"),
    ("auto now() { return std::chrono::steady_clock::now(); }", "time comes from the event"),
    ("long now() { return time(nullptr); }", "time comes from the event"),
    ("std::unordered_set<int> ids;", "order would differ"),
    ('const char* home() { return std::getenv("HOME"); }', "environment"),
    ("int chance() { return rand(); }", "prng"),
    ("std::map<const Noun*, int> seen;", "pointer as a key"),
    ("std::set<Noun*> nouns;", "pointer as a key"),
    ("static int counter = 0;", "mutable static"),
    ("thread_local int depth = 0;", "state"),
    ("double ratio(int a) { return a; }", "law counts in integers"),
    ("float third = 0;", "law counts in integers"),
]
INNOCENT_LINES = [
    "// a thread, a mutex, rand() and std::chrono in a comment",
    'const char* text() { return "time(nullptr) rand() double"; }',
    "static constexpr int kLimit = 3;",
    "static const int kOther = 3;",
    "static int helper_of(int a) { return a; }",
    "std::map<int, Noun*> by_id;",
]
MENDED = {"white", "columns", "pragma", "includes", "sizes", "rooms", "options", "complaints"}


class ChecksBite(unittest.TestCase):
    def test_a_clean_house_has_nothing_to_complain_about(self):
        result = House().run()
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_every_planted_violation_is_found_by_its_check(self):
        for check, what, plant, text in PLANTS:
            with self.subTest(check=check, what=what):
                house = House()
                plant(house)
                found = house.complaints(check)
                self.assertIn(f"[{check}]", found, f"{what} passed")
                self.assertIn(text, found)

    def test_a_complaint_ends_the_program_with_one_and_names_the_file(self):
        house = House()
        house.append(STATE, "int a;  \n")
        result = house.run()
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"{STATE}:", result.stdout)
        self.assertIn("./dev fix mends white", result.stdout)

    def test_every_line_of_the_ban_list_is_found(self):
        for line, text in BANNED_LINES:
            with self.subTest(line=line):
                house = House()
                house.append(STATE, line + "\n")
                self.assertIn(text, house.complaints("bans"), f"passed: {line}")

    def test_comments_strings_and_constants_are_not_banned(self):
        house = House()
        for line in INNOCENT_LINES:
            house.append(STATE, line + "\n")
        result = house.run("bans")
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_every_check_has_a_planted_violation(self):
        planted = {check for check, *_ in PLANTS} | {"bans"}
        self.assertEqual(planted, set(CHECKS))


class ChecksMend(unittest.TestCase):
    def test_what_is_mechanical_is_mended_and_then_passes(self):
        mendable = ("a trailing space", "a tab", "a long line", "a header without pragma once",
                    "includes out of order", "an allowance beyond the truth",
                    "a default that the page lacks", "a complaint that another test names as well")
        for check, what, plant, _ in PLANTS:
            if what not in mendable:
                continue
            with self.subTest(what=what):
                house = House()
                plant(house)
                self.assertEqual(house.run("--fix", check).returncode, 0, house.run(check).stdout)
                self.assertEqual(house.run(check).returncode, 0)

    def test_the_mending_twins_are_the_ones_we_name(self):
        self.assertEqual({name for name, (_, mend) in CHECKS.items() if mend}, MENDED)

    def test_the_room_table_keeps_what_a_room_owns(self):
        house = House()
        house.write("FLOORS", FLOORS + "4  cli  wire\n")
        self.assertEqual(house.run("--fix", "rooms").returncode, 1)  # what cli owns needs a thought
        table = house.read("ARCHITECTURE.md")
        self.assertIn("| `cli` | ? | wire |", table)
        self.assertIn("| `base` | something |", table)

    def test_the_ratchet_lets_an_old_excess_shrink_but_not_grow(self):
        house = House()
        house.append(STATE, big_function(80))
        house.append("tools/sizes.txt", f"function {STATE} add_all 90\n")
        self.assertIn("shrank", house.run("sizes").stdout)
        self.assertEqual(house.run("--fix", "sizes").returncode, 0)
        self.assertIn("add_all 83", house.read("tools/sizes.txt"))
        house.write(STATE, house.read(STATE).replace("  total += 0;",
                                                     "  total += 0;\n  total += 0;"))
        self.assertIn("84, at most 83", house.run("--fix", "sizes").stdout)


class Shapes(unittest.TestCase):
    def names(self, code):
        return [function.name for function in read_shapes(strip_code(code))[0]]

    def test_functions_are_found_behind_initialisers_lambdas_and_macros(self):
        self.assertEqual(self.names("A::A(int x) : a_(x), b_{x} { run(); }"), ["A"])
        self.assertEqual(
            self.names("int f() {\n  auto g = [](int a) { return a; };\n  return g(1);\n}"), ["f"])
        self.assertEqual(self.names("TEST(Suite, says_a_thing) { f(); }"),
                         ["TEST(Suite, says_a_thing)"])
        self.assertEqual(self.names(
            "std::vector<int> f(const std::map<int, int>& m) const { return {}; }"), ["f"])
        self.assertEqual(self.names("bool operator==(const A& a, const A& b) { return true; }"),
                         ["operator=="])
        self.assertEqual(self.names("const std::array<int, 2> kTable = {1, 2};"), [])
        self.assertEqual(
            self.names("namespace a { struct B { int c() const { return 1'000; } }; }"), ["c"])

    def test_braces_in_strings_and_comments_do_not_count(self):
        self.assertEqual(self.names(
            'int f() { return size("{{{"); /* } */ }\nint g() { return 1; }'), ["f", "g"])


if __name__ == "__main__":
    unittest.main()
