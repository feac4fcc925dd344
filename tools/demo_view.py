"""How ./dev demo shows a training job: a picture that is redrawn in place on a terminal, and one
line for each thing that happens elsewhere. Text only; who fetches what is shown is demo.py."""
import shutil
import sys
import time

BLOCKS = " ▁▂▃▄▅▆▇█"
COLOURS = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
CHART_ROWS = 7


def bar(part, width):
    """RETURNS: a bar of `width` columns that is filled for `part` (0 to 1)."""
    filled = round(max(0.0, min(1.0, part)) * width)
    return "━" * filled + "─" * (width - filled)


def chart(points, total, width, marks=()):
    """RETURNS: lines of a curve of (step, loss) over steps 0 to total; `marks` are steps to point
    at below. A column shows the mean loss of its steps; between known columns runs a line."""
    if not points:
        return ["waiting for the first steps"] + [""] * (CHART_ROWS + 1)
    found = [[] for _ in range(width)]
    for step, loss in points:
        found[min(width - 1, int(step * width / max(1, total)))].append(loss)
    columns = [sum(losses) / len(losses) if losses else None for losses in found]
    seen = [column for column in columns if column is not None]
    high, low = max(seen), min(seen)
    span = max(high - low, 1e-9)
    known = [i for i, column in enumerate(columns) if column is not None]
    heights = []
    for i in range(known[-1] + 1):
        before = max((k for k in known if k <= i), default=known[0])
        after = min(k for k in known if k >= i)
        part = (i - before) / (after - before) if after > before else 0
        loss = columns[before] + part * (columns[after] - columns[before])
        heights.append(1 + round((loss - low) / span * (CHART_ROWS * 8 - 1)))
    lines = []
    for row in range(CHART_ROWS - 1, -1, -1):
        label = f"{high:6.2f} ┤" if row == CHART_ROWS - 1 else f"{low:6.2f} ┤" if row == 0 \
            else "       │"
        cells = [BLOCKS[max(0, min(8, height - row * 8))] for height in heights]
        lines.append(label + "".join(cells).ljust(width))
    axis = [" "] * width
    for step in marks:
        axis[min(width - 1, int(step * width / max(1, total)))] = "✗"
    lines.append("       └" + "".join(axis))
    return lines


class View:
    """`update` is told the newest state a few times a second; `note` what happened."""

    def __init__(self, out=sys.stdout, terminal=None, colour=True):
        self.out = out
        self.terminal = out.isatty() if terminal is None else terminal
        self.colour = self.terminal and colour
        self.started = time.monotonic()
        self.drawn = 0
        self.told_tenth = -1
        self.notes = []

    def paint(self, colour, text):
        return f"\x1b[{COLOURS[colour]}m{text}\x1b[0m" if self.colour else text

    def clock(self):
        seconds = int(time.monotonic() - self.started)
        return f"{seconds // 60}:{seconds % 60:02d}"

    def say(self, text=""):
        """A line that stays, below what was drawn."""
        self.drawn = 0
        self.out.write(text + "\n")
        self.out.flush()

    def title(self, text):
        self.say(self.paint("bold", self.paint("cyan", f"\n▌ {text}") if self.colour
                            else f"\n== {text}"))

    def note(self, text, colour="dim"):
        self.notes.append((self.clock(), text, colour))
        if not self.terminal:
            self.say(f"[{self.clock()}] {text}")

    def update(self, job, points, nodes, marks=()):
        if self.terminal:
            self.draw(self.lines(job, points, nodes, marks))
            return
        progress = job.get("progress") or {}
        tenth = progress.get("step", 0) * 10 // max(1, progress.get("total_steps", 1))
        if progress.get("step", 0) > 0 and tenth != self.told_tenth:
            self.told_tenth = tenth
            self.say(f"[{self.clock()}] {self.progress_text(progress)}")

    @staticmethod
    def progress_text(progress):
        return (f"step {progress.get('step', 0)}/{progress.get('total_steps', 0)}  "
                f"loss {progress.get('loss', 0):.3f}  "
                f"{progress.get('tokens_per_s', 0) / 1000:.1f}k tokens/s")

    def lines(self, job, points, nodes, marks):
        width = max(60, min(100, shutil.get_terminal_size().columns)) - 2
        progress = job.get("progress") or {}
        total = progress.get("total_steps", 0) or 1
        status = job.get("status", "")
        colour = {"RUNNING": "green", "COMPLETED": "green", "FAILED": "red"}.get(status, "yellow")
        head = f"{job.get('id', '')} {job.get('spec', {}).get('name', '')}"
        out = ["", f"  {self.paint('bold', head)}  {self.paint(colour, status)}  attempt "
               f"{job.get('attempt', 0)}  {self.paint('dim', self.clock())}"]
        text = self.progress_text(progress)
        out.append(f"  {self.paint('green', bar(progress.get('step', 0) / total, width - 46))}  "
                   f"{text}")
        out.append("")
        curve = chart(points, total, width - 10, marks)
        out += ["  " + self.paint("red" if "✗" in line else "cyan", line) for line in curve]
        out.append("")
        out += [self.node_line(node, job) for node in nodes]
        out.append("")
        shown = self.notes[-6:] + [("", "", "dim")] * (6 - len(self.notes[-6:]))
        out += [f"  {self.paint('dim', at.rjust(5))}  {self.paint(colour, text[:width - 8])}"
                for at, text, colour in shown]
        return out

    def node_line(self, node, job):
        here = [w for w in job.get("workers", []) if w.get("node") == node.get("name")
                and w.get("status") != "ended"]
        status = node.get("status", "")
        ranks = "  ".join(f"rank {w.get('rank', 0)} (pid {w.get('pid', 0)})" for w in here)
        squares = "".join("■" if d.get("worker") else "□" for d in node.get("devices", []))
        text = f"  {node.get('name', ''):8} {status:9} {squares:6} {ranks or 'free'}"
        return text if here else self.paint("dim", text)

    def draw(self, lines):
        columns = shutil.get_terminal_size().columns
        up = f"\x1b[{self.drawn}A" if self.drawn else ""
        body = "".join(f"\x1b[2K{line}\n" for line in lines) if columns >= 60 else ""
        self.out.write(up + body)
        self.out.flush()
        self.drawn = len(lines) if body else 0
