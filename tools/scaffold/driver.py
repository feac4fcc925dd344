"""./dev new driver PORT/NAME: a room in drivers/ with a class that has the port's verbs.

The verbs are read from src/ports/PORT.h; each answers "unimplemented" until it is written.
"""
import re

from checks.source import strip_code

from .draft import ScaffoldError, pascal

VERB = re.compile(r"virtual\s+([^;{}~]+?)\s+(\w+)\s*\(([^;{}]*?)\)\s*(const)?\s*=\s*0\s*;", re.S)


def port_of(draft, port):
    """RETURNS: (class name, [(return type, verb, parameters, const)])."""
    path = f"src/ports/{port}.h"
    if not draft.tree.has(path):
        ports = [p.split("/")[-1][:-2] for p in draft.tree.select("src/ports/", ".h")
                 if not re.search(r"_(fake|conformance)\.h$", p)]
        raise ScaffoldError(f"there is no port {port}; there are: {', '.join(sorted(ports))}")
    code = strip_code(draft.text(path))
    for match in re.finditer(r"class\s+(\w+)\s*\{(.*?)^\};", code, re.S | re.M):
        verbs = VERB.findall(match[2])
        if verbs:
            return match[1], verbs
    raise ScaffoldError(f"{path} has no class with pure virtual verbs")


def squeeze(text):
    return " ".join(text.split())


def unused(parameters):
    """Parameter names as comments: the scaffold does not use them yet."""
    pieces, depth, current = [], 0, ""
    for character in squeeze(parameters) + ",":
        if character == "," and depth == 0:
            pieces.append(re.sub(r"\s(\w+)\s*(=.*)?$", r" /*\1*/", current.strip()))
            current = ""
            continue
        depth += (character in "(<{[") - (character in ")>}]")
        current += character
    return ", ".join(piece for piece in pieces if piece)


def body(returns, what):
    if re.match(r"(Result<|Done$)", returns):
        return f'return Error{{Code::kUnimplemented, "{what} is not written yet", {{}}}};'
    return "" if returns == "void" else "return {};"


def scaffold(draft, name):
    port, driver = name.split("/")
    class_name, verbs = port_of(draft, port)
    type_name, stem = f"{pascal(driver)}{class_name}Driver", f"{driver}_{port}"
    folder = f"drivers/{port}/{driver}"
    declared = "\n".join(f"  {squeeze(r)} {v}({squeeze(p)}){' const' if c else ''} override;"
                         for r, v, p, c in verbs)
    written = "\n\n".join(
        f"{squeeze(r)} {type_name}::{v}({unused(p)}){' const' if c else ''} {{\n"
        f"  {body(squeeze(r), f'{driver}: {v}')}\n}}" for r, v, p, c in verbs)
    draft.new_file(f"src/{folder}/{stem}.h", f"""// {type_name}: {class_name} by {driver}.
//
// Say here what it talks to and from which thread it is called.
#pragma once

#include "ports/{port}.h"

namespace keiko {{

class {type_name} final : public {class_name} {{
 public:
{declared}
}};

}}  // namespace keiko
""")
    draft.new_file(f"src/{folder}/{stem}.cc", f"""#include "{folder}/{stem}.h"

namespace keiko {{

{written}

}}  // namespace keiko
""")
    draft.new_file(f"src/{folder}/{stem}_test.cc", f"""#include "{folder}/{stem}.h"

#include <gtest/gtest.h>

namespace keiko {{
namespace {{

TEST({type_name}, is_a_driver_of_its_port) {{
  {type_name} driver;
  {class_name}& port = driver;
  EXPECT_NE(&port, nullptr);
}}

}}  // namespace
}}  // namespace keiko
""")
    add_rows(draft, port, driver, folder, stem, type_name)


def add_rows(draft, port, driver, folder, stem, type_name):
    draft.row_before("FLOORS", r"^4\s+cli\s|^5\s", f"4  {folder:<23} ports\n")
    registry = "apps/registry.cc"
    if draft.tree.has(registry) and "./dev new driver" in draft.text(registry):
        draft.row_before(registry, r"\./dev new driver",
                         f'      {{"{port}", "{driver}", "say what it is", false}},\n')
    else:
        draft.box(f"add a row to {registry} behind WITH_{driver.upper()}")
    draft.box(f"write the verbs of {type_name} in src/{folder}/{stem}.cc, five at most")
    draft.box(f"pass ports/{port}_conformance.h in {stem}_test.cc, the test that its fake passes")
    draft.box("an outside library? name it in FLOORS, cmake/externals.cmake and tools/packages.txt")
    draft.box("./dev fix writes the room's row in ARCHITECTURE.md; say there what it owns")
