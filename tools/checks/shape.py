"""A small reader of C++ shapes: functions, types and their public methods, by matching braces.

A heuristic, not a parser: it is right for code in our style, and a wrong reading shows as a strange
name in a complaint. Works on code whose comments and strings are blanked.
"""
import re
from dataclasses import dataclass

from .source import line_of

TYPE_HEAD = re.compile(
    r"(?:^|[;{}\s>])(class|struct|union|enum(?:\s+(?:class|struct))?)\s+(?:\[\[\w+\]\]\s*)?"
                       r"(?:alignas\([^)]*\)\s*)?([A-Za-z_]\w*(?:::\w+)*)"
                       r"(?:<[^{}]*>)?\s*(?:final\s*)?(?::[^:].*)?$", re.S)
NAMESPACE = re.compile(r"\b(namespace|extern)\b[^()=]*$")
INIT_LIST = re.compile(r"\)\s*(?:noexcept\s*)?:(?!:)")
FUNCTION_TAIL = re.compile(
    r"\)\s*(const|noexcept(\([^)]*\))?|override|final|&&?|mutable|try|requires.*|->.*|\s)*$", re.S)
CONTROL = {"if", "for", "while", "switch", "catch", "return", "sizeof", "alignas", "decltype"}


@dataclass
class Function:
    name: str
    line: int
    last: int
    params: int
    nesting: int
    head: str

    @property
    def length(self):
        return self.last - self.line + 1


@dataclass
class Type:
    kind: str
    name: str
    line: int
    body: tuple       # offsets of the braces
    methods: int = 0


def top_level_params(text):
    depth, count, any_text = 0, 0, False
    for character in text:
        if character in "([{<":
            depth += 1
        elif character in ")]}>":
            depth -= 1
        elif character == "," and depth == 0:
            count += 1
        any_text = any_text or not character.isspace()
    return count + 1 if any_text and text.strip() != "void" else 0


def function_name(head):
    """RETURNS: (name, parameter text) of a function head, or None."""
    head = re.sub(r"^(\s*(public|private|protected)\s*:)+", "", head)
    plain = re.sub(r"\[\[[^\]]*\]\]", lambda m: " " * len(m[0]), head)
    plain = re.sub(r"\btemplate\s*<", lambda m: " " * (len(m[0]) - 1) + "<", plain)
    match = re.search(r"(operator\s*(?:\(\)|[^\s\w(]+|[\w:]+)|~?[A-Za-z_]\w*)\s*\(", plain)
    while match and match[1] in ("decltype", "noexcept", "alignas", "requires", "__attribute__",
                                 "explicit"):
        match = re.compile(r"(operator\s*[^\s\w(]+|~?[A-Za-z_]\w*)\s*\(").search(plain, match.end())
    if not match or match[1] in CONTROL:
        return None
    depth, start = 0, match.end() - 1
    for at in range(start, len(plain)):
        depth += {"(": 1, ")": -1}.get(plain[at], 0)
        if depth == 0:
            return match[1], plain[start + 1:at]
    return None


def is_function(head):
    if INIT_LIST.search(head):
        return function_name(head) is not None
    before = re.sub(r"operator\s*[^\s\w(]+", "operator", head).split("(")[0]
    return "=" not in before and bool(FUNCTION_TAIL.search(head)) and bool(function_name(head))


def read_shapes(code):
    """RETURNS: (functions, types) of one file's code."""
    code = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: re.sub(r"[^\n]", " ", m[0]), code,
                  flags=re.M)
    functions, types, stack = [], [], []
    head_start, at, parens = 0, 0, 0
    while at < len(code):
        character = code[at]
        if character == "(":
            parens += 1
        elif character == ")":
            parens -= 1
        elif character == ";" and parens == 0:
            head_start = at + 1
        elif character == "{":
            head = code[head_start:at]
            kind = classify(head, stack, code, at)
            if kind == "init":
                at = matching(code, at)
            else:
                stack.append((kind, head, head_start, at, parens))
                parens = 0
                head_start = at + 1
        elif character == "}" and stack:
            kind, head, start, opened, parens = stack.pop()
            start += len(head) - len(head.lstrip())
            if kind == "function":
                functions.append(make_function(code, head, start, opened, at))
            elif kind == "type":
                types.append(make_type(code, head, start, opened, at))
            if kind in ("function", "type", "namespace") or parens == 0:
                head_start = at + 1
        at += 1
    return functions, types


def classify(head, stack, code, at):
    inside_code = any(kind in ("function", "block") for kind, *_ in stack)
    if NAMESPACE.search(head):
        return "namespace"
    if not INIT_LIST.search(head) and TYPE_HEAD.search(head):
        return "type"
    if inside_code:
        return "block"
    if INIT_LIST.search(head) and re.search(r"[\w>]\s*$", head) and not FUNCTION_TAIL.search(head):
        return "init"
    if INIT_LIST.search(head) and re.search(r"[\w>]$",
                                            head.rstrip()) and not head.rstrip().endswith(")"):
        return "init"
    return "function" if is_function(head) else "block"


def matching(code, at):
    depth = 0
    while at < len(code):
        depth += {"{": 1, "}": -1}.get(code[at], 0)
        if depth == 0:
            return at
        at += 1
    return at


def make_function(code, head, start, opened, closed):
    name, params = function_name(head)
    if name.startswith("TEST") or name.startswith("TYPED_TEST"):
        name = re.sub(r"\s+", " ", f"{name}({params.strip()})")
        params = ""
    return Function(name, line_of(code, start), line_of(code, closed), top_level_params(params),
                    nesting(code[opened + 1:closed]), head)


def nesting(body):
    """Deepest nesting of control blocks; an initialiser's braces and a lambda do not count."""
    deepest, stack = 0, []
    for match in re.finditer(r"[{}]", body):
        if match[0] == "{":
            before = body[max(0, match.start() - 200):match.start()].rstrip()
            control = before.endswith((")", "else", "do", "try")) and not re.search(
                r"\[[^\]]*\]\s*\([^()]*\)$", before)
            control = control and not before.endswith("__extension__ (")
            stack.append(control)
            deepest = max(deepest, sum(stack))
        elif stack:
            stack.pop()
    return deepest


def make_type(code, head, start, opened, closed):
    match = TYPE_HEAD.search(head)
    # The head may begin with attributes or a template line; the name's own line is the useful one.
    line = line_of(code, start + head.lstrip().rfind(match[2]))
    made = Type(match[1].split()[0], match[2], line, (opened, closed))
    if made.kind in ("class", "struct"):
        made.methods = count_public_methods(code[opened + 1:closed], made)
    return made


def count_public_methods(body, made):
    flat, depth = [], 0
    for character in body:
        depth -= character == "}"
        flat.append(character if depth == 0 or character == "\n" else " ")
        depth += character == "{"
    public, count = made.kind == "struct", 0
    for piece in re.split(r"(\b(?:public|private|protected)\s*:(?!:)|;|\})", "".join(flat)):
        label = re.match(r"(public|private|protected)\s*:", piece)
        if label:
            public = label[1] == "public"
            continue
        if not public or re.match(r"\s*(using|friend|typedef|static_assert)\b", piece):
            continue
        named = function_name(piece)
        if named and named[0] != made.name.split("::")[-1] and not named[
            0].startswith(("~", "operator")) \
                and "=" not in piece.split("(")[0]:
            count += 1
    return count
