#!/usr/bin/env bash
# Holds the nvml driver against a real NVIDIA GPU: its devices against nvidia-smi's list, its
# readings against what is physical, and what CUDA sees against what the driver makes visible.
#
# Usage: tests/device/run.sh. Needs a GPU, nvidia-smi and g++; with nvcc it also runs CUDA. Exit
# status 0 passes, 77 is a skip, 1 fails. KEIKO_NVML_LIBRARY is another library to load.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
library=${KEIKO_NVML_LIBRARY:-libnvidia-ml.so.1}
work=$(mktemp -d "${TMPDIR:-/tmp}/keiko-device-XXXXXX")
busy=
failures=0
# shellcheck disable=SC2317  # called by the trap
leave() {
  if [ -n "$busy" ]; then kill "$busy" 2>/dev/null; fi
  rm -rf "$work"
}
trap leave EXIT

skip() { echo "SKIPPED: device checks: $*" >&2; exit 77; }
pass() { echo "ok      $*"; }
fail() { echo "FAILED  $*"; failures=$((failures + 1)); }
expect() { # WHAT WANTED FOUND
  if [ "$2" = "$3" ]; then
    pass "$1"
  else
    fail "$1"
    printf '  wanted: %s\n  found:  %s\n' "$2" "$3"
  fi
}
# stat UUID NAME: the reading, empty if there is none. FACTS is the report.
stat() { awk -v u="$1" -v n="$2" '$1 == "stat" && $2 == u && $3 == n { print $4 }' "$facts"; }
# within WHAT VALUE LEAST MOST: an absent value is fine, since not every GPU tells all.
within() {
  if [ -z "$2" ]; then echo "absent  $1"
  elif awk -v v="$2" -v l="$3" -v m="$4" 'BEGIN { exit !(v >= l && v <= m) }'; then pass "$1 $2"
  else fail "$1 is $2, not within $3 to $4"; fi
}

command -v nvidia-smi >/dev/null || skip "no nvidia-smi here, so no NVIDIA driver"
nvidia-smi -L >"$work/list" 2>&1 || skip "nvidia-smi does not find a GPU: $(head -1 "$work/list")"
grep -q '^GPU ' "$work/list" || skip "nvidia-smi lists no GPU"
command -v g++ >/dev/null || skip "no g++ to build the report with"

shopt -s extglob nullglob
sources=(src/base/!(*_test).cc src/model/!(*_test).cc src/ports/devices.cc
  src/drivers/devices/nvml/!(*_test).cc)
g++ -std=c++20 -O1 -Isrc -o "$work/device_report" tests/device/device_report.cc \
  "${sources[@]}" -ldl ||
  { echo "FAILED  device_report does not compile"; exit 1; }
facts=$work/facts
"$work/device_report" "$library" >"$facts" || { echo "FAILED  device_report"; exit 1; }

# ---- the same devices as nvidia-smi ----
expect "devices are nvidia-smi's, in PCI order" \
  "$(nvidia-smi --query-gpu=pci.bus_id,uuid,mig.mode.current --format=csv,noheader |
    tr 'A-F' 'a-f' | sort | awk -F', ' '$3 != "enabled" { print $2 }' | tr '\n' ' ')" \
  "$(awk '$1 == "device" && $7 == "" { print $3 }' "$facts" | tr 'A-F' 'a-f' | tr '\n' ' ')"
expect "MIG slices are nvidia-smi's" \
  "$(grep -o 'MIG-[0-9a-fA-F-]*' "$work/list" | sort | tr '\n' ' ')" \
  "$(awk '$1 == "device" && $3 ~ /^MIG-/ { print $3 }' "$facts" | sort | tr '\n' ' ')"
nvidia-smi --query-gpu=uuid,memory.total,memory.reserved --format=csv,noheader,nounits |
  sed 's/, / /g' >"$work/memory"
while read -r uuid total reserved; do
  found=$(awk -v u="$uuid" '$1 == "device" && $3 == u { print $5 }' "$facts")
  case "$found:$reserved" in
    :*) ;; # split into slices
    *:*[!0-9]*) within "memory of $uuid (MiB)" "$found" 1 "$total" ;;
    *) within "memory of $uuid (MiB), less the reserve" "$found" \
      $((total - reserved - 1)) $((total - reserved + 1)) ;;
  esac
done <"$work/memory"

# ---- readings that can be true ----
mapfile -t uuids < <(awk '$1 == "device" { print $3 }' "$facts")
for uuid in "${uuids[@]}"; do
  within "temperature of $uuid" "$(stat "$uuid" temperature_celsius)" 5 110
  within "power of $uuid" "$(stat "$uuid" power_watts)" 1 2000
  within "utilisation of $uuid" "$(stat "$uuid" utilisation_ratio)" 0 1
  within "SM activity of $uuid" "$(stat "$uuid" sm_active_ratio)" 0 1
  within "SM clock of $uuid" "$(stat "$uuid" sm_clock_mhz)" 50 5000
  within "memory in use of $uuid" "$(stat "$uuid" memory_used_bytes)" 0 \
    "$(stat "$uuid" memory_total_bytes)"
done
expect "no faults on a machine at rest" "" "$(grep '^fault' "$facts")"

# ---- what CUDA sees ----
nvcc=$(PATH=$PATH:/usr/local/cuda/bin command -v nvcc)
if [ -z "$nvcc" ]; then
  echo "absent  nvcc, so visibility is not checked"
elif ! "$nvcc" -o "$work/visible_devices" tests/device/visible_devices.cu; then
  fail "visible_devices.cu does not compile"
else
  first=$(awk '$1 == "device" && $3 ~ /^GPU-/ { print $3; exit }' "$facts")
  mapfile -t shown < <(awk -v u="$first" '$1 == "visible" && $2 == u { print $3 }' "$facts")
  mapfile -t hidden < <(awk '$1 == "hidden" { print $2 }' "$facts")
  if [ -n "$first" ]; then
    expect "CUDA sees the one device it was given" "$first" \
      "$(env "${shown[@]}" "$work/visible_devices")"
    before=$(stat "$first" memory_used_bytes)
    env "${shown[@]}" "$work/visible_devices" busy >"$work/busy" &
    busy=$!
    for _ in $(seq 100); do
      if grep -q busy "$work/busy" || ! kill -0 "$busy" 2>/dev/null; then break; fi
      command sleep 0.1
    done
    "$work/device_report" "$library" >"$facts" || fail "device_report beside a busy process"
    within "memory in use grew by 512 MiB or more" \
      $(($(printf '%.0f' "$(stat "$first" memory_used_bytes)") - $(printf '%.0f' "$before"))) \
      536870912 100000000000
    within "SM activity of a busy GPU" "$(stat "$first" sm_active_ratio)" 0.5 1
    if grep -q "^process $first $busy " "$facts"; then pass "the busy process is named"
    else echo "absent  the busy process (a container hides the pids of the machine)"; fi
    kill "$busy" 2>/dev/null
    wait "$busy" 2>/dev/null
    busy=
  fi
  expect "CUDA sees nothing without a device" "" "$(env "${hidden[@]}" "$work/visible_devices")"
fi
cat "$facts"
[ "$failures" = 0 ] || { echo "$failures device checks FAILED"; exit 1; }
echo "device checks passed"
