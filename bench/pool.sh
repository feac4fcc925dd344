#!/usr/bin/env bash
# What a pool costs a job; see bench/pool.py. RUNS (60) and JOBS (500) change the counts.
set -euo pipefail
cd "$(dirname "$0")/.."
export KEIKO_BIN_DIR=${KEIKO_BIN_DIR:-build/release/bin}
[ -x "$KEIKO_BIN_DIR/keiko" ] || { echo "SKIPPED pool: ./dev build keiko first"; exit 77; }
exec /usr/bin/python3 -B bench/pool.py
