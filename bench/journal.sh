#!/usr/bin/env bash
# Durable appends beside the disk's own limit, in one run: bench/journal.sh [benchmark flags].
# KEIKO_BENCH_DIR names the disk to measure, KEIKO_BUILD_DIR the build; see the bench's head for the
# columns. `of_in_place` is the part of the raw write+fdatasync rate that the journal reaches.
set -euo pipefail
cd "$(dirname "$0")/.."
bench=${KEIKO_BUILD_DIR:-build/release}/bench_drivers_journal_sqlite
if [ ! -x "$bench" ]; then
  echo "$bench is not built: ./dev build bench_drivers_journal_sqlite" >&2
  exit 2
fi
exec "$bench" --benchmark_counters_tabular=true --benchmark_min_time="${MIN_TIME:-1}" "$@"
