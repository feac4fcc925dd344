#!/usr/bin/env bash
# What the way through the server costs a command in a worker; see bench/attach.py.
set -euo pipefail
cd "$(dirname "$0")/.."
export KEIKO_BIN_DIR=${KEIKO_BIN_DIR:-${KEIKO_BUILD_DIR:-$PWD/build/release}/bin}
[ -x "$KEIKO_BIN_DIR/keiko" ] || { echo "SKIPPED attach: ./dev build keiko first"; exit 77; }
exec /usr/bin/python3 -B bench/attach.py
