"""What core/ and model/ may not contain: whatever would make two runs of one journal differ.

STYLE's list: threads, clocks, randomness, files, streams, hash tables, the environment, pointers as
keys, mutable statics; in core/state floating point as well. Benches are exempt: they measure time.
"""
import re

from .source import Complaint

HEADERS = {"thread", "mutex", "shared_mutex", "atomic", "condition_variable", "future",
           "stop_token",
           "semaphore", "latch", "barrier", "chrono", "ctime", "random", "filesystem", "iostream",
           "fstream", "unordered_map", "unordered_set"}
TOKENS = [
    (r"\bstd::(this_)?thread\b|\bstd::(jthread|mutex|atomic\w*|async)\b",
     "threads belong to the shells"),
    (
        r"\bstd::chrono\b|\b(system|steady|high_resolution)_clock\b|"
     r"\bclock_gettime\b|\bgettimeofday\b",
     "time comes from the event"),
    (r"(?<![\w.>:])(std::)?(time|clock)\s*\(\s*(nullptr|NULL|0|)\s*\)",
     "time comes from the event"),
    (r"\bunordered_\w+", "order would differ between runs; use std::map or a sorted vector"),
    (r"\b(secure_)?getenv\b", "the environment is no input; take an option"),
    (r"(?<![\w.>])(std::)?s?rand(om)?\s*\(|\brandom_device\b|\bmt19937\w*|\brandom_token\b",
     "randomness comes from base/prng.h"),
    (r"\bstd::(filesystem|ifstream|ofstream|fstream|cout|cerr|cin)\b|\bwrite_all\s*\(|\bFd\b",
     "I/O belongs to drivers"),
    (r"\b(map|set|multimap|multiset)<\s*(const\s+)?[\w:]+(<[^<>]*>)?\s*(const\s*)?\*",
     "a pointer as a key orders by address; use an id"),
    (r"\bthread_local\b", "there is no state outside the state"),
]
FLOATS = (r"\b(float|double)\b", "the law counts in integers; scale them")
MUTABLE_STATIC = re.compile(
    r"^\s*(inline\s+|static\s+){1,2}(?!.*\b(const|constexpr|constinit|consteval|"
                            r"assert|inline\s+namespace)\b)[\w:<>,*&\s\[\]]+\b\w+\s*(=|\{|;)")
FUNCTION_LIKE = re.compile(r"^[^={]*\(")


def check_bans(tree):
    for path in tree.cpp("src/core/") + tree.cpp("src/model/"):
        if path.endswith("_bench.cc"):
            continue
        rules = TOKENS + ([FLOATS] if path.startswith("src/core/state/") else [])
        yield from bans_of_file(tree, path, [(re.compile(p), why) for p, why in rules])


def bans_of_file(tree, path, rules):
    raw = tree.lines(path)
    for number, line in enumerate(tree.code_lines(path), 1):
        include = re.match(r"\s*#\s*include\s*<([^>]+)>", raw[number - 1])
        if include and include[1] in HEADERS:
            yield Complaint(path, number, "bans", f"<{include[1]}> is banned in core/ and model/")
            continue
        for pattern, why in rules:
            found = pattern.search(line)
            if found:
                yield Complaint(path, number, "bans", f"'{found[0].strip()}' is banned here: {why}")
        if MUTABLE_STATIC.match(line) and not FUNCTION_LIKE.match(line):
            yield Complaint(path, number, "bans",
                            "mutable static: there is no state outside the state")
