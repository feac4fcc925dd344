#!/usr/bin/env bash
# The CMake proofs bite: a room that links what FLOORS does not give it, and a header that does not
# compile alone, both fail to build; the clean house builds both proofs.
set -euo pipefail
source_root=$(cd "$(dirname "$0")/../.." && pwd)
house=$(mktemp -d "${TMPDIR:-/tmp}/keiko_alone.XXXXXX")
trap 'rm -rf "$house"' EXIT
cp -r "$source_root/CMakeLists.txt" "$source_root/cmake" "$house"
mkdir -p "$house/src/base" "$house/src/model"
printf '1 base -\n1 model -\n' >"$house/FLOORS"
cat >"$house/src/base/sum.h" <<'TEXT'
// A sum.
#pragma once
namespace keiko { int sum(int a, int b); }
TEXT
printf '#include "base/sum.h"\nint keiko::sum(int a, int b) { return a + b; }\n' \
  >"$house/src/base/sum.cc"
printf '// Twice.\n#pragma once\nint twice(int a);\n' >"$house/src/model/twice.h"
printf '#include "model/twice.h"\nint twice(int a) { return 2 * a; }\n' >"$house/src/model/twice.cc"

say() { echo "alone_test: $*"; }
cd "$house"
cmake -G Ninja -B build -DCMAKE_BUILD_TYPE=Debug -DWITH_TORCH=OFF >cmake.log 2>&1 ||
  { cat cmake.log; exit 1; }
ninja -C build check_headers link_alone >build.log 2>&1 ||
  { cat build.log; say "the clean house fails"; exit 1; }
say "a clean house proves itself"

# model reaches into base, which FLOORS does not give it.
printf '#include "base/sum.h"\nint twice(int a) { return keiko::sum(a, a); }\n' >src/model/twice.cc
if ninja -C build link_alone >build.log 2>&1; then
  say "an arrow that FLOORS lacks linked"
  exit 1
fi
grep -q 'sum' build.log || { cat build.log; say "failed for another reason"; exit 1; }
say "an undeclared arrow does not link"

# A header that leans on what its reader included before.
printf '// Length.\n#pragma once\nint length(const std::string& text);\n' >src/model/twice.h
printf 'int twice(int a) { return 2 * a; }\n' >src/model/twice.cc
if ninja -C build check_headers >build.log 2>&1; then
  say "a header that cannot stand alone compiled"
  exit 1
fi
grep -q 'twice.h' build.log || { cat build.log; say "failed for another reason"; exit 1; }
say "a header that cannot stand alone does not compile"
