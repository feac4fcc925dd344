#!/usr/bin/env python3
"""clang-tidy over changed files or given rooms; `./dev check --tidy [PATH ...]` calls it.

usage: tools/tidy.py BUILD_FOLDER [PATH ...]

A PATH is a file or a folder; a header stands for the sources beside it that include it. Without a
PATH: what git says has changed since the last commit. Which rules: .clang-tidy. How a file is
compiled: compile_commands.json of the build folder. Exit status 1 if anything is found; without a
clang-tidy it says so and ends with 0.
"""
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# 14, which is Debian's plain clang-tidy, cannot read some of gcc 12's own headers.
PROGRAMS = ("clang-tidy-19", "clang-tidy")
ENDINGS = (".cc", ".h")
NOISE = re.compile(r"^(\d+ warnings? |Suppressed |Use -(header|system)|\[\d+/\d+\])")


def find_program():
    return next((path for path in map(shutil.which, PROGRAMS) if path), None)


def changed_paths():
    """RETURNS: what differs from the last commit, new files included."""
    tracked = ["git", "diff", "--name-only", "--diff-filter=d", "HEAD"]
    new = ["git", "ls-files", "--others", "--exclude-standard"]
    lines = []
    for command in (tracked, new):
        lines += subprocess.run(command, cwd=ROOT, text=True, capture_output=True,
                                check=True).stdout.splitlines()
    return [path for path in lines if path.endswith(ENDINGS)]


def read_commands(build):
    """RETURNS: {source, relative to the root}, of what the build folder compiles."""
    entries = json.loads((Path(build) / "compile_commands.json").read_text())
    sources = {os.path.relpath(os.path.join(e["directory"], e["file"]), ROOT) for e in entries}
    return {source for source in sources if source.startswith(("src/", "apps/", "tests/"))}


def readers_of(header, sources):
    """RETURNS: the source of the same name, else those of the header's folder that include it."""
    twin = header.removesuffix(".h") + ".cc"
    if twin in sources:
        return {twin}
    line = f'#include "{header.removeprefix("src/")}"'
    beside = {s for s in sources if os.path.dirname(s) == os.path.dirname(header)}
    return {s for s in beside or sources if line in (ROOT / s).read_text(errors="replace")}


def choose(paths, sources):
    """RETURNS: the sources that these paths mean, and the paths that mean none."""
    chosen, unknown = set(), []
    for path in paths:
        path = os.path.relpath(os.path.abspath(path), ROOT)
        if path.endswith(".h"):
            found = readers_of(path, sources)
        else:
            found = {s for s in sources if s == path or s.startswith(path.rstrip("/") + "/")}
        chosen |= found
        if not found:
            unknown.append(path)
    return sorted(chosen), unknown


def read_one(program, build, source):
    """RETURNS: what is wrong in the source and in the headers of ours that it reads."""
    done = subprocess.run(
        [program, "-p", build, "--quiet", "--extra-arg=-Wno-unknown-warning-option",
         "--extra-arg=-Wno-ignored-optimization-argument", source],
        cwd=ROOT, text=True, capture_output=True)
    text = "\n".join(line for line in done.stdout.splitlines() if not NOISE.match(line))
    if done.returncode != 0 and not text.strip():
        text = done.stderr
    return text.replace(f"{ROOT}/", "").strip()


def unseen(text, seen):
    """RETURNS: the findings of `text` that were not in an earlier one: headers are read often."""
    findings = re.split(r"(?m)^(?=\S+:\d+:\d+: (?:warning|error): )", text)
    fresh = [f for f in findings if f.strip() and f.splitlines()[0] not in seen]
    seen.update(f.splitlines()[0] for f in fresh)
    return "".join(f if f.endswith("\n") else f + "\n" for f in fresh)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    build, paths = sys.argv[1], sys.argv[2:]
    program = find_program()
    if program is None:
        print(f"tidy: SKIPPED, nothing was read: there is no {' or '.join(PROGRAMS)}; "
              "run ./dev setup style")
        return 0
    sources, unknown = choose(paths or changed_paths(), read_commands(build))
    for path in unknown:
        print(f"tidy: {path} is not compiled in {build}, so it is not read")
    seen, bad = set(), 0
    with ThreadPoolExecutor(int(os.environ.get("KEIKO_JOBS") or os.cpu_count())) as pool:
        for text in pool.map(lambda source: read_one(program, build, source), sources):
            fresh = unseen(text, seen)
            bad += len(re.findall(r"(?m): (?:warning|error): ", fresh))
            sys.stdout.write(fresh)
            sys.stdout.flush()
    print(f"tidy: {len(sources)} files, {bad or 'no'} findings")
    return 1 if bad or (paths and unknown) else 0


if __name__ == "__main__":
    sys.exit(main())
