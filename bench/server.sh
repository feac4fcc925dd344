#!/usr/bin/env bash
# Durable submits and pages of a long list, through gRPC, by a server process on SQLite:
# bench/server.sh [flags of bench_server]. KEIKO_BENCH_DIR names the disk (default: the build's),
# KEIKO_BUILD_DIR the build.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${KEIKO_BUILD_DIR:-build/release}
bench=$build/bench_server
keiko=${KEIKO_BIN_DIR:-$build/bin}/keiko
for program in "$bench" "$keiko"; do
  [ -x "$program" ] || { echo "$program is not built: ./dev build keiko bench_server" >&2; exit 2; }
done

state=$(mktemp -d "${KEIKO_BENCH_DIR:-$build}/bench_server_XXXXXX")
server=
finish() {
  [ -z "$server" ] || { kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; }
  rm -rf "$state"
}
trap finish EXIT

"$keiko" server --state "$state" --grpc-port 0 --http-port 0 >"$state/out" 2>"$state/log" &
server=$!
for _ in $(seq 100); do
  [ -f "$state/server.json" ] && break
  kill -0 "$server" 2>/dev/null || { cat "$state/log" >&2; exit 1; }
  sleep 0.1
done
address=$(sed -n 's/.*"grpc":"\([^"]*\)".*/\1/p' "$state/server.json")
echo "load when it began: $(cut -d' ' -f1-3 /proc/loadavg)"
KEIKO_BENCH_SERVER=$address "$bench" "$@"
echo "journal: $(du -h "$state/journal.db" | cut -f1)"
echo "load at the end: $(cut -d' ' -f1-3 /proc/loadavg)"
