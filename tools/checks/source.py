"""The tree that the checks read: files, their text, and their C++ code without comments.

Tree lists the files once and caches their text, so that all checks together read each file once.
A check yields Complaints; a Complaint names the file, the line, the rule and what to do.
"""
import os
import re
from dataclasses import dataclass
from pathlib import Path

SKIPPED_FOLDERS = {".git", "build", "node_modules", "__pycache__", ".cache"}
TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(?P<mark>[^\s()\\]{0,16})\(.*?\)(?P=mark)"|"""
    r""""(?:\\.|[^"\\\n])*"|\b[0-9][0-9A-Za-z_.']*|'(?:\\.|[^'\\\n])+'""", re.S)


@dataclass(frozen=True)
class Complaint:
    path: str
    line: int
    rule: str
    text: str

    def __str__(self):
        return f"{self.path}:{self.line}: [{self.rule}] {self.text}"


def blank(text):
    """The same length and lines, with everything else a space."""
    return re.sub(r"[^\n]", " ", text)


def strip_code(text, keep_strings=False):
    """Text with comments (and the insides of strings and characters) blanked, lengths kept."""
    def replace(match):
        token = match.group(0)
        if token.startswith(("//", "/*")):
            return blank(token)
        if keep_strings or token[0].isdigit():
            return token
        return token[0] + blank(token[1:-1]) + token[-1]
    return TOKEN.sub(replace, text)


class Tree:
    def __init__(self, root):
        self.root = Path(root)
        self._text = {}
        self._code = {}
        self.files = sorted(self._list())

    def _list(self):
        for folder, folders, names in os.walk(self.root):
            folders[:] = [f for f in folders if f not in SKIPPED_FOLDERS]
            base = os.path.relpath(folder, self.root)
            for name in names:
                yield name if base == "." else f"{base}/{name}"

    def select(self, prefix="", *endings):
        return [f for f in self.files if f.startswith(prefix) and f.endswith(endings or ("",))]

    def cpp(self, prefix="src/"):
        return self.select(prefix, ".h", ".cc")

    def has(self, path):
        return (self.root / path).exists()

    def text(self, path):
        if path not in self._text:
            self._text[path] = (self.root / path).read_text(encoding="utf-8", errors="replace")
        return self._text[path]

    def lines(self, path):
        return self.text(path).splitlines()

    def code(self, path):
        if path not in self._code:
            self._code[path] = strip_code(self.text(path))
        return self._code[path]

    def code_lines(self, path):
        return self.code(path).splitlines()

    def write(self, path, text):
        """Replaces a file in one step; a reader sees the old text or the new."""
        target = self.root / path
        fresh = target.with_name(target.name + ".fix")
        fresh.write_text(text, encoding="utf-8")
        if target.exists():
            os.chmod(fresh, target.stat().st_mode & 0o777)
        os.replace(fresh, target)
        self._text[path] = text
        self._code.pop(path, None)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1
