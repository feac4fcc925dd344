#!/usr/bin/env bash
# Trains a small GPT on one text with several ranks on this machine, without a pool: what an agent
# does for each worker is here in a few lines of shell. A second start resumes from the checkpoints.
#
#   examples/gpt/train.sh FILE [RANKS]      KEIKO_TRAIN, CHECKPOINTS (./gpt-checkpoints)
set -euo pipefail
data=${1:?usage: examples/gpt/train.sh FILE [RANKS]}
ranks=${2:-2}
program=${KEIKO_TRAIN:-$(dirname "$0")/../../build/release/bin/keiko-train}
checkpoints=${CHECKPOINTS:-./gpt-checkpoints}
export WORLD_SIZE=$ranks MASTER_ADDR=127.0.0.1 MASTER_PORT=${MASTER_PORT:-29500}

pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true' INT TERM
for ((rank = 0; rank < ranks; rank++)); do
  RANK=$rank "$program" gpt --data "$data" --tokenizer char --steps 2000 --eval-every 250 \
    --checkpoint-dir "$checkpoints" --checkpoint-every 100 --sample 300 &
  pids+=($!)
done
code=0
for pid in "${pids[@]}"; do wait "$pid" || code=$?; done
exit "$code"
