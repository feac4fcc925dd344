"""Documents that a check can catch lying: invariants, words, links, the room table, option tables.

Generated parts stand between `<!-- generated: NAME -->` and `<!-- end: NAME -->`; `./dev fix`
writes them, the check compares.
"""
import re
from pathlib import PurePosixPath

from .floors import parse_floors
from .names import words_of
from .shape import read_shapes
from .source import Complaint, line_of, strip_code

INVARIANTS = "docs/INVARIANTS.md"
WORDS = "docs/WORDS.md"
ARCHITECTURE = "ARCHITECTURE.md"
OPTIONS = "docs/OPTIONS.md"
ROW = re.compile(r"^\|\s*(.+?)\s*\|\s*$")


def table_rows(tree, path):
    """Yields (line number, cells) of every body row of the tables in a Markdown file."""
    for number, line in enumerate(tree.lines(path), 1):
        match = ROW.match(line)
        if match and not re.match(r"^\|[\s:|-]+\|$", line):
            cells = [c.strip() for c in re.split(r"(?<!\\)\|", line.strip()[1:-1])]
            yield number, cells


# ---- invariants ----

def checkers(tree):
    """RETURNS: {invariant name: (path, line, class)} of every …Checker in src/sim/checkers*."""
    found = {}
    for path in tree.select("src/sim/checkers", ".h", ".cc"):
        text = strip_code(tree.text(path), keep_strings=True)
        for made in read_shapes(tree.code(path))[1]:
            if not made.name.endswith("Checker") or made.name == "Checker":
                continue
            body = text[made.body[0]:made.body[1]]
            name = re.search(r'\b(?:name\(\)[^"{;]*\{\s*return|kName\s*=)\s*"([^"]+)"', body)
            if name:
                found[name[1]] = (path, made.line, made.name)
        for row in re.finditer(r'Checker\{\s*"([a-z0-9_ ]+)"', text):
            found[row[1]] = (path, line_of(text, row.start()), "")
    return found


def check_invariants(tree):
    if not tree.has(INVARIANTS):
        return
    named = {}
    for number, cells in table_rows(tree, INVARIANTS):
        if cells[0].startswith("`"):
            named[cells[0].strip("`")] = number
    code = checkers(tree)
    for name, number in named.items():
        if name not in code:
            yield Complaint(INVARIANTS, number, "invariants",
                            f"'{name}' has no checker in src/sim/checkers*")
    for name, (path, line, _) in code.items():
        if name not in named:
            yield Complaint(path, line, "invariants",
                            f"checker '{name}' has no row in {INVARIANTS}")


# ---- words ----

def check_words(tree):
    """Each word once; a type may not be named with a word that WORDS.md gives up for another."""
    if not tree.has(WORDS):
        return
    seen, instead = {}, {}
    for number, cells in table_rows(tree, WORDS):
        if cells[0] == "word" or len(cells) < 2:
            continue
        for word in cells[0].split(","):
            if word.strip() in seen:
                yield Complaint(WORDS, number, "words",
                                f"'{word.strip()}' has a meaning in line {seen[word.strip()]}")
            seen[word.strip()] = number
        for never in (cells[2].split(",") if len(cells) > 2 else []):
            if never.strip():
                instead[never.strip().capitalize()] = cells[0]
    for path in tree.cpp():
        for made in read_shapes(tree.code(path))[1]:
            for part in set(words_of(made.name.split("::")[-1])) & set(instead):
                yield Complaint(path, made.line, "words",
                                f"type {made.name}: we say '{instead[part]}', "
                                f"not '{part.lower()}' ({WORDS})")


# ---- links ----

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
PATH = re.compile(
    r"`((?:src|tools|docs|tests|bench|proto|cmake|apps|examples|deploy|\.ci)/[\w./-]*\w)`")


def check_links(tree):
    for path in tree.select("", ".md"):
        folder = PurePosixPath(path).parent
        fenced = False
        for number, line in enumerate(tree.lines(path), 1):
            fenced ^= line.startswith("```")
            for match in LINK.finditer("" if fenced else line):
                target = (match[1] or match[2]).split("#")[0]
                if not target or re.match(r"^[a-z]+:", target):
                    continue
                if not (tree.root / folder / target).exists():
                    yield Complaint(path, number, "links", f"{target} is not there")
            for match in PATH.finditer("" if fenced else line):
                if not tree.has(match[1]):
                    yield Complaint(path, number, "links", f"{match[1]} is not there")


# ---- generated parts ----

def part(name):
    return re.compile(rf"(<!-- generated: {name}[^>]*-->\n)(.*?)(<!-- end: {name} -->)", re.S)


def room_table(tree, current):
    """The table of rooms; what a room owns is prose, kept from the present table."""
    rooms, _ = parse_floors(tree)
    owns = {}
    for line in current.splitlines():
        match = ROW.match(line)
        if match:
            cells = [c.strip() for c in match[1].split("|")]
            if len(cells) == 5:
                owns[cells[1].strip("`")] = cells[2]
    lines = ["| floor | room | owns | may use | libraries |", "|---|---|---|---|---|"]
    for room in sorted(rooms.values(), key=lambda r: (-r.floor, r.line)):
        uses = ", ".join(room.uses) if room.uses else "–"
        uses = "all" if uses == "*" else uses
        lines.append(f"| {room.floor} | `{room.name}` | {owns.get(room.name, '?')} | {uses} "
                     f"| {', '.join(room.externals) or '–'} |")
    return "\n".join(lines) + "\n"


def check_room_table(tree):
    if not tree.has(ARCHITECTURE):
        return
    text = tree.text(ARCHITECTURE)
    match = part("rooms").search(text)
    if not match:
        yield Complaint(ARCHITECTURE, 1, "rooms",
                        "has no part <!-- generated: rooms --> ... <!-- end: rooms -->")
        return
    if match[2] != room_table(tree, match[2]):
        yield Complaint(ARCHITECTURE, line_of(text, match.start()), "rooms",
                        "the room table is not what FLOORS says; ./dev fix writes it")
    for number, line in enumerate(match[2].splitlines(), line_of(text, match.start()) + 1):
        if "| ? |" in line:
            yield Complaint(ARCHITECTURE, number, "rooms",
                            "say what this room owns, in place of the '?'")


def mend_room_table(tree):
    if not tree.has(ARCHITECTURE):
        return
    text = tree.text(ARCHITECTURE)
    fresh = part("rooms").sub(lambda m: m[1] + room_table(tree, m[2]) + m[3], text)
    if fresh != text:
        tree.write(ARCHITECTURE, fresh)


FIELD = re.compile(
    r"^\s+((?:std::)?[A-Za-z_][\w:]*(?:<[^;={}]*>)?)\s+(\w+)\s*(?:=\s*([^;]+?)|\{([^;]*)\})?\s*;"
                   r"\s*(?:///?<?\s*(.*))?$")


def option_fields(tree):
    """Yields (room, struct, path, line, type, field, default, why) of every …Options struct."""
    for path in tree.select("src/", ".h"):
        lines = tree.lines(path)
        code = tree.code(path)
        for made in read_shapes(code)[1]:
            if not made.name.endswith("Options") or made.kind != "struct" or made.name.startswith(
                "Fake"):
                continue
            first, last = line_of(code, made.body[0]), line_of(code, made.body[1])
            yield from fields_between(path, made.name, lines, first, last)


def fields_between(path, struct, lines, first, last):
    why, follow = [], None
    for number in range(first + 1, last):
        line = lines[number - 1]
        comment = re.match(r"^\s*///?<?\s?(.*)$", line)
        if comment and follow is not None and re.match(r"^\s{8,}///?<?", line):
            follow[-1] += " " + comment[1]
            continue
        if follow is not None:
            yield tuple(follow)
            follow = None
        if comment:
            why.append(comment[1])
            continue
        match = FIELD.match(line)
        if match and "(" not in line.split("=")[0].split("//")[0]:
            text = " ".join(why + ([match[5]] if match[5] else []))
            follow = [str(PurePosixPath(path[4:]).parent), struct, path, number, match[1], match[2],
                      match[3] or match[4] or "", text]
        why = []
    if follow is not None:
        yield tuple(follow)


def unsaid_options(tree):
    """Yields (path, struct, line, count) of the fields that say neither unit nor why."""
    counts = {}
    for _, struct, path, number, _, _, _, why in option_fields(tree):
        if len(why) < 6:
            line, count = counts.get((path, struct), (number, 0))
            counts[(path, struct)] = (line, count + 1)
    for (path, struct), (line, count) in counts.items():
        yield path, struct, line, count


def check_options(tree):
    if tree.has(OPTIONS):
        text = tree.text(OPTIONS)
        match = part("options").search(text)
        if not match or match[2] != options_table(tree):
            yield Complaint(OPTIONS, 1, "options",
                            "the table is not what the structs say; ./dev fix writes it")


def options_table(tree):
    out, current = [], None
    for room, struct, path, _, kind, name, default, why in option_fields(tree):
        if (path, struct) != current:
            current = (path, struct)
            out += ["", f"### {struct} (`{path}`)", "",
                    "| option | type | default | unit and why |", "|---|---|---|---|"]
        cells = [f"`{name}`", f"`{kind}`", f"`{default}`" if default else "–",
                 why.replace("|", "\\|")]
        out.append("| " + " | ".join(cells) + " |")
    return "\n".join(out + [""]) + "\n"


def mend_options(tree):
    if not tree.has(OPTIONS):
        return
    text = tree.text(OPTIONS)
    fresh = part("options").sub(lambda m: m[1] + options_table(tree) + m[3], text)
    if fresh != text:
        tree.write(OPTIONS, fresh)
