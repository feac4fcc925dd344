"""What a scaffold will write: new files, rows in old ones, and the boxes left for a person."""
import re


class ScaffoldError(Exception):
    """The tree is not as the scaffold needs it; the message says what is missing where."""


def pascal(snake):
    return "".join(word.capitalize() for word in snake.split("_"))


class Draft:
    def __init__(self, tree):
        self.tree = tree
        self.texts = {}
        self.notes = []
        self.boxes = []

    def text(self, path):
        if path in self.texts:
            return self.texts[path]
        if not self.tree.has(path):
            raise ScaffoldError(f"{path} is not there")
        return self.tree.text(path)

    def new_file(self, path, text):
        if self.tree.has(path) or path in self.texts:
            raise ScaffoldError(f"{path} exists already")
        self.texts[path] = text
        self.notes.append(f"made  {path}")

    def row_before(self, path, pattern, row):
        """Puts `row` before the first line that `pattern` (a regular expression) finds."""
        text = self.text(path)
        match = re.search(pattern, text, re.M)
        if not match:
            raise ScaffoldError(f"{path} has no line like /{pattern}/ to put a row before")
        start = text.rfind("\n", 0, match.start()) + 1
        self.texts[path] = text[:start] + row + text[start:]
        self.notes.append(f"row   {path}: {row.strip().splitlines()[0]}")

    def replace(self, path, pattern, change, what):
        text = self.text(path)
        fresh, count = re.subn(pattern, change, text, count=1, flags=re.M | re.S)
        if count == 0:
            raise ScaffoldError(f"{path} has no {what} (/{pattern}/)")
        self.texts[path] = fresh
        self.notes.append(f"row   {path}: {what}")

    def box(self, text):
        self.boxes.append(text)

    def write(self):
        for path, text in self.texts.items():
            (self.tree.root / path).parent.mkdir(parents=True, exist_ok=True)
            self.tree.write(path, text)
        print("\n".join(self.notes))
        for box in self.boxes:
            print(f"[ ] {box}")
