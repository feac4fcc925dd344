"""Includes against FLOORS: a room sees only what it names, and what those may see.

Also the walls around heavy libraries: a header of torch, gRPC, JSON ... may only be included by a
room that names the library in FLOORS, or that names a room which does.
"""
import re
from dataclasses import dataclass, field

from .source import Complaint

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
WALLS = {
    "torch": re.compile(r"^(torch|c10|ATen)/"),
    "grpc": re.compile(r"^(grpcpp|grpc|google/protobuf|keiko/v[0-9]+)/"),
    "hwloc": re.compile(r"^hwloc(/|\.h$)"),
    "sqlite3": re.compile(r"^sqlite3\.h$"),
    "beast": re.compile(r"^boost/"),
    "json": re.compile(r"^nlohmann/"),
    "cli11": re.compile(r"^CLI/"),
    "yaml": re.compile(r"^yaml-cpp/"),
    "fmt": re.compile(r"^fmt/"),
    "gloo": re.compile(r"^gloo/"),
    "spdlog": re.compile(r"^spdlog/"),
}
TEST_LIBRARY = re.compile(r"^(gtest|gmock|benchmark)/")
TEST_FILE = re.compile(
    r"(_test|_bench)\.cc$|(_conformance[a-z_]*|_harness|_fixture|_testing)\.h$|"
    r"(^|/)test_[a-z_]*\.(h|cc)$")
# base, model and core include the standard library only: core compiles in a second a file.
STD_ONLY = re.compile(r"^(base|model|core)(/|$)")
STD_HEADER = re.compile(r"^[a-z_0-9]+$")


@dataclass
class Room:
    name: str
    floor: int
    uses: list
    externals: list
    line: int
    sees: set = field(default_factory=set)


def parse_floors(tree):
    """RETURNS: rooms by name, with `sees` filled in; complaints about the file itself."""
    rooms, complaints = {}, []
    for number, line in enumerate(tree.lines("FLOORS"), 1):
        if not re.match(r"^\d", line):
            continue
        match = re.match(r"^(\d+)\s+([a-z0-9_/]+)\s+([^|]*)\|?(.*)$", line)
        if not match:
            complaints.append(Complaint("FLOORS", number, "floors",
                                        "line is not: floor room uses | libraries"))
            continue
        uses = [u for u in match[3].split() if u != "-"]
        rooms[match[2]] = Room(match[2], int(match[1]), uses, match[4].split(), number)
    for room in rooms.values():
        for use in room.uses:
            if use == "*":
                continue
            if use not in rooms:
                complaints.append(Complaint("FLOORS", room.line, "floors",
                                            f"{room.name} uses unknown room {use}"))
            elif rooms[use].floor > room.floor:
                complaints.append(Complaint("FLOORS", room.line, "floors",
                                            f"{room.name} (floor {room.floor}) uses {use} "
                                            f"(floor {rooms[use].floor}); "
                                            "arrows point down"))
    for room in rooms.values():
        room.sees = reach(rooms, room.name)
        for use in room.uses:
            if use in rooms and room.name in reach(rooms, use):
                complaints.append(Complaint("FLOORS", room.line, "floors",
                                            f"{room.name} and {use} use each other"))
    return rooms, complaints


def reach(rooms, name):
    seen, open_names = set(), [name]
    while open_names:
        current = open_names.pop()
        if current in seen or current not in rooms:
            continue
        seen.add(current)
        open_names += rooms if "*" in rooms[current].uses else rooms[current].uses
    return seen


def room_of(rooms, path):
    """The room that holds `path` (relative to src/): the longest name that is a folder of it."""
    parts = path.split("/")[:-1]
    while parts:
        if "/".join(parts) in rooms:
            return "/".join(parts)
        parts.pop()
    return None


def externals_of(rooms, room):
    names = set(room.externals)
    for use in room.uses:
        names |= set(rooms[use].externals) if use in rooms else set()
    return names


def check_includes(tree):
    rooms, complaints = parse_floors(tree)
    yield from complaints
    for path in tree.cpp():
        name = room_of(rooms, path[4:])
        if name is None:
            yield Complaint(path, 1, "floors",
                            "is in no room of FLOORS; add the room there or move the file")
            continue
        yield from includes_of_file(tree, rooms, rooms[name], path)


def includes_of_file(tree, rooms, room, path):
    for number, line in enumerate(tree.lines(path), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        text = check_one(tree, rooms, room, path, match[1], match[2])
        if text:
            yield Complaint(path, number, "floors", text)


def check_one(tree, rooms, room, path, quote, header):
    for wall, pattern in WALLS.items():
        if pattern.match(header):
            if wall in externals_of(rooms, room):
                return None
            return (f"{room.name} may not include <{header}>: "
                    f"only rooms that name {wall} in FLOORS do")
    if TEST_LIBRARY.match(header):
        return None if TEST_FILE.search(
            path) else f"<{header}> belongs in *_test.cc, *_bench.cc or *_conformance.h"
    if quote == "<":
        if STD_ONLY.match(room.name) and not STD_HEADER.match(header):
            return f"{room.name} includes the standard library only, not <{header}>"
        return None
    target = room_of(rooms, header)
    if target is None or not tree.has("src/" + header):
        return f'"{header}" is no file under src/; write the path from there'
    if target not in room.sees:
        return (f"{room.name} may not use {target}; "
                f"FLOORS gives it: {', '.join(room.uses) or 'nothing'}")
    return None


def check_dead_headers(tree):
    """A header that nobody includes is dead."""
    included = set()
    for path in tree.cpp("src/") + tree.cpp("apps/") + tree.cpp("tests/") + tree.cpp("bench/"):
        included |= {m[2] for m in map(INCLUDE.match, tree.lines(path)) if m}
    for path in tree.select("src/", ".h"):
        if path[4:] not in included:
            yield Complaint(path, 1, "dead", "no file includes this header; delete it")
