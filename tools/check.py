#!/usr/bin/env python3
"""The cheap checks of ./dev check, and their mending twins of ./dev fix.

usage: tools/check.py [--fix] [--root FOLDER] [NAME ...]

Without a name every check runs. Exit status 1 if anything is left to complain about.
"""
import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from checks import bans, complaints, docs, floors, names, sizes, text  # noqa: E402
from checks.source import Tree  # noqa: E402

# name: (what finds, what mends or None)
CHECKS = {
    "white": (text.check_white, text.mend_white),
    "columns": (text.check_columns, text.mend_columns),
    "pragma": (text.check_pragma, text.mend_pragma),
    "heads": (text.check_heads, None),
    "includes": (text.check_include_order, text.mend_include_order),
    "todo": (text.check_todo, None),
    "floors": (floors.check_includes, None),
    "dead": (floors.check_dead_headers, None),
    "bans": (bans.check_bans, None),
    "names": (names.check_names, None),
    "sizes": (sizes.check_sizes, sizes.mend_sizes),
    "invariants": (docs.check_invariants, None),
    "complaints": (complaints.check_complaints, complaints.mend_complaints),
    "words": (docs.check_words, None),
    "links": (docs.check_links, None),
    "rooms": (docs.check_room_table, docs.mend_room_table),
    "options": (docs.check_options, docs.mend_options),
}


def main():
    parser = argparse.ArgumentParser(description="Cheap checks of the tree.")
    parser.add_argument("--fix", action="store_true", help="mend what can be mended first")
    parser.add_argument("--root", default=str(Path(__file__).resolve().parent.parent),
                        help="the tree")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {' '.join(CHECKS)}")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(CHECKS)
    if unknown:
        parser.error(f"no check named {', '.join(sorted(unknown))}; there are: {' '.join(CHECKS)}")
    chosen = {name: CHECKS[name] for name in arguments.names or CHECKS}

    started = time.monotonic()
    tree = Tree(arguments.root)
    if arguments.fix:
        for _, mend in chosen.values():
            if mend is not None:
                mend(tree)
    complaints = [c for find, _ in chosen.values() for c in find(tree)]
    for complaint in sorted(complaints, key=lambda c: (c.path, c.line)):
        print(complaint)
    mendable = sorted({c.rule for c in complaints if CHECKS[c.rule][1] is not None})
    seconds = time.monotonic() - started
    if complaints:
        hint = f"; ./dev fix mends {', '.join(mendable)}" if mendable and not arguments.fix else ""
        print(f"check: {len(complaints)} complaints in {seconds:.1f} s{hint}")
        return 1
    print(
        f"check: {len(chosen)} checks over {len(tree.files)} files, nothing to complain about "
        f"({seconds:.1f} s)")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:  # the reader, `head` perhaps, had enough
        sys.exit(1)
