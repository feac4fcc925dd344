#!/usr/bin/env bash
# From a line in the kernel log to a GPU that takes no work; see bench/cordon.py.
set -euo pipefail
cd "$(dirname "$0")/.."
export KEIKO_BIN_DIR=${KEIKO_BIN_DIR:-${KEIKO_BUILD_DIR:-$PWD/build/release}/bin}
[ -x "$KEIKO_BIN_DIR/keiko" ] || { echo "SKIPPED cordon: ./dev build keiko first"; exit 77; }
exec /usr/bin/python3 -B bench/cordon.py
