#!/usr/bin/env bash
# Tokens per second of keiko-train with one rank and with two, beside the same model in PyTorch DDP
# (Debian's python3-torch) where that is installed. Runs take turns, so that the ratios hold on a
# noisy machine; the median of ROUNDS counts.
#
#   bench/ddp.sh [FILE]        KEIKO_TRAIN, ROUNDS (5), STEPS (100), DTYPES ("f32 bf16")
set -euo pipefail
cd "$(dirname "$0")/.."
program=${KEIKO_TRAIN:-build/release/bin/keiko-train}
data=${1:-../shared/data/tinyshakespeare.txt}
rounds=${ROUNDS:-5}
steps=${STEPS:-100}
read -ra dtypes <<<"${DTYPES:-f32 bf16}"
if [ ! -x "$program" ] || [ ! -f "$data" ]; then
  echo "SKIPPED ddp: needs $program and a text at $data"
  exit 0
fi
peer=yes
if ! /usr/bin/python3 -c 'import torch' 2>/dev/null; then
  echo "SKIPPED peer: no python3-torch; only keiko-train is measured"
  peer=no
fi
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MASTER_ADDR=127.0.0.1
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

on_ranks() {  # on_ranks WORLD COMMAND...: rank 0's output
  local world=$1 rank pids=()
  shift
  export WORLD_SIZE=$world MASTER_PORT=$((20000 + RANDOM % 10000))
  for ((rank = 1; rank < world; rank++)); do RANK=$rank "$@" >/dev/null & pids+=($!); done
  RANK=0 "$@"
  for pid in "${pids[@]}"; do wait "$pid"; done
}

keiko() {  # keiko WORLD DTYPE: tokens/s of the steps after the first 20
  on_ranks "$1" "$program" gpt --data "$data" --steps $((steps + 20)) --dtype "$2" --log-every 20 |
    awk '/^step/ {s = $(NF-1)
                  if (s ~ /k$/) s = substr(s, 1, length(s) - 1) * 1000
                  if (n++) {t += 1 / s; c++}}
         END {printf "%.0f\n", c / t}'
}

median() { sort -n "$1" | awk '{a[NR] = $1} END {print a[int((NR + 1) / 2)]}'; }

for ((round = 0; round < rounds; round++)); do
  for world in 1 2; do
    for dtype in "${dtypes[@]}"; do keiko "$world" "$dtype" >>"$out/keiko-$dtype-$world"; done
    if [ $peer = yes ]; then
      on_ranks "$world" /usr/bin/python3 bench/ddp_peer.py --data "$data" --steps "$steps" |
        sed 's/.*tokens_per_s=\([0-9]*\).*/\1/' >>"$out/peer-$world"
    fi
  done
done
for world in 1 2; do
  for dtype in "${dtypes[@]}"; do
    ours=$(median "$out/keiko-$dtype-$world")
    line="ddp ranks=$world dtype=$dtype keiko_tokens_per_s=$ours"
    if [ $peer = yes ]; then
      theirs=$(median "$out/peer-$world")
      ratio=$(awk -v a="$ours" -v b="$theirs" 'BEGIN {printf "%.2f", a / b}')
      line+=" pytorch_f32_tokens_per_s=$theirs ratio=$ratio"
    fi
    echo "$line"
  done
done
