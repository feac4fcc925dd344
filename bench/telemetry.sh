#!/usr/bin/env bash
# What measuring 8 GPUs once a second costs an agent; see bench/telemetry.py. SECONDS_EACH (30) is
# how long each agent is watched.
set -euo pipefail
cd "$(dirname "$0")/.."
: "${KEIKO_BUILD_DIR:=$PWD/build/release}"
export KEIKO_BUILD_DIR KEIKO_BIN_DIR=${KEIKO_BIN_DIR:-$KEIKO_BUILD_DIR/bin}
[ -x "$KEIKO_BIN_DIR/keiko" ] || { echo "SKIPPED telemetry: ./dev build keiko first"; exit 77; }
exec /usr/bin/python3 -B bench/telemetry.py
