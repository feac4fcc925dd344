#!/usr/bin/env bash
# Runs the benches: every bench_<room> program of the build and every script bench/*.sh.
#
# usage: bench/run.sh [NAME]     NAME is part of a bench's name; without it all run.
# ./dev bench calls it with KEIKO_BUILD_DIR (programs) and KEIKO_BIN_DIR (keiko, keiko-train) set.
# A script that exits 77 skipped itself and said why. Figures go to docs/BENCH.md by hand,
# with the machine they were measured on.
set -uo pipefail
cd "$(dirname "$0")/.."
: "${KEIKO_BUILD_DIR:=$PWD/build/release}"
export KEIKO_BUILD_DIR KEIKO_BIN_DIR=${KEIKO_BIN_DIR:-$KEIKO_BUILD_DIR/bin}
wanted=${1:-}
ran=0
failed=0

echo "machine: $(nproc) cores, $(awk -F': ' '/model name/ { print $2; exit }' /proc/cpuinfo)"
run() { # NAME COMMAND...
  local name=$1 status=0
  shift
  case "$name" in *"$wanted"*) ;; *) return ;; esac
  ran=$((ran + 1))
  echo
  echo "== $name"
  "$@" </dev/null || status=$?
  case $status in
    0) ;;
    77) echo "bench: $name skipped itself" ;;
    *) echo "bench: $name FAILED with status $status"; failed=1 ;;
  esac
}

for program in "$KEIKO_BUILD_DIR"/bench_*; do
  [ -x "$program" ] && [ -f "$program" ] || continue
  # A script that wraps the program speaks for it.
  grep -qw "$(basename "$program")" bench/*.sh && continue
  run "$(basename "$program")" "$program"
done
for script in bench/*.sh; do
  [ "$script" = bench/run.sh ] || run "$(basename "$script" .sh)" bash "$script"
done
if [ "$ran" = 0 ]; then
  echo "bench: nothing is named '$wanted'; there are:" \
    "$(ls "$KEIKO_BUILD_DIR" bench | grep -E '^bench_|\.sh$' | tr '\n' ' ')" >&2
  exit 2
fi
exit "$failed"
