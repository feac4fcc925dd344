#!/usr/bin/env bash
# Parity with nanoGPT's CPU setting: 4 layers, 4 heads, width 128, context 64, batch 12, 2,000
# steps, no dropout, on tinyshakespeare. The loss over the whole held-out tenth must be at most
# 1.92, with one rank and with two. Takes a few minutes; prints one line per world size.
#
#   bench/parity.sh [FILE]     exit code: 0 both good or skipped, 1 worse than the bar
#
# KEIKO_TRAIN names the program (default: build/release/bin/keiko-train), STEPS shortens the run.
set -euo pipefail
cd "$(dirname "$0")/.."
program=${KEIKO_TRAIN:-build/release/bin/keiko-train}
data=${1:-../shared/data/tinyshakespeare.txt}
steps=${STEPS:-2000}
bar=1.92
if [ ! -x "$program" ]; then
  echo "SKIPPED parity: $program is not there; build it, or set KEIKO_TRAIN"
  exit 0
fi
if [ ! -f "$data" ]; then
  echo "SKIPPED parity: no text at $data; usage: bench/parity.sh FILE (tinyshakespeare)"
  exit 0
fi

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
flags=(gpt --data "$data" --tokenizer char --layers 4 --heads 4 --width 128 --context 64 --batch 12
  --steps "$steps" --lr 1e-3 --min-lr 1e-4 --warmup 100 --weight-decay 0.1 --beta2 0.99 --clip 1
  --eval-full --log-every 100)

train() {  # train WORLD: rank 0's output to $out/WORLD
  local world=$1 port=$((20000 + RANDOM % 10000)) pids=() rank
  for ((rank = 1; rank < world; rank++)); do
    RANK=$rank WORLD_SIZE=$world MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
      "$program" "${flags[@]}" >/dev/null & pids+=($!)
  done
  RANK=0 WORLD_SIZE=$world MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
    "$program" "${flags[@]}" >"$out/$world"
  for pid in "${pids[@]}"; do wait "$pid"; done
}

failed=0
for world in 1 2; do
  begin=$(date +%s.%N)
  train "$world"
  seconds=$(echo "$(date +%s.%N) $begin" | awk '{printf "%.1f", $1 - $2}')
  loss=$(awk '/^held-out loss/ {print $3}' "$out/$world")
  verdict="WORSE THAN THE BAR"
  if awk -v l="$loss" -v b="$bar" 'BEGIN {exit !(l != "" && l <= b)}'; then verdict=ok; fi
  [ "$verdict" = ok ] || failed=1
  echo "parity ranks=$world steps=$steps held_out_loss=$loss bar=$bar wall_s=$seconds $verdict"
done
exit $failed
