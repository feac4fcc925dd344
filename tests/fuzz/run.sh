#!/usr/bin/env bash
# Fuzzes one target: tests/fuzz/run.sh TARGET SECONDS, as in tests/fuzz/run.sh journal 60.
#
# tests/fuzz/TARGET_fuzz.cc is compiled with clang's libFuzzer, AddressSanitizer and UBSan. Its head
# names what it needs, paths and patterns relative to the repository, flags for the linker:
#
#   // sources: src/base/*.cc src/model/*.cc
#   // protos: job cluster            (of proto/keiko/v1, if it needs the contract's messages)
#   // flags: -lyaml-cpp
#
# Files named *_test.cc and *_bench.cc are left out of patterns. The corpus grows under
# build/fuzz/TARGET; tests/fuzz/seeds/TARGET and tests/fuzz/dictionaries/TARGET.dict, where they
# exist, are read too. A failing input is kept under build/fuzz/TARGET/found, and the line that runs
# it again is printed.
set -euo pipefail
cd "$(dirname "$0")/../.."

if [ $# -ne 2 ]; then
  echo "usage: tests/fuzz/run.sh TARGET SECONDS; targets: $(ls tests/fuzz/*_fuzz.cc |
    sed 's|.*/||; s|_fuzz.cc||' | tr '\n' ' ')" >&2
  exit 2
fi
target=$1
seconds=$2
main=tests/fuzz/${target}_fuzz.cc
[ -f "$main" ] || { echo "there is no $main" >&2; exit 2; }
compiler=$(command -v clang++-14 || command -v clang++) ||
  { echo "fuzzing needs clang with libFuzzer: apt-get install clang-14" >&2; exit 3; }

head_line() { sed -n "s|^// $1: *||p" "$main"; }
sources=$(for pattern in $(head_line sources); do ls -d $pattern; done |
  { grep -v -E '_(test|bench)\.cc$' || true; } | sort -u)

out=build/fuzz/$target
mkdir -p "$out/objects" "$out/corpus" "$out/found"
options=(-std=c++20 -O1 -g -Isrc -I"$out/proto" -fsanitize=address,undefined
  -fno-sanitize-recover=undefined)
if command -v ccache >/dev/null; then compiler="ccache $compiler"; fi

mkdir -p "$out/proto"
for name in $(head_line protos); do
  protoc -Iproto --cpp_out="$out/proto" "proto/keiko/v1/$name.proto"
  sources+=" $out/proto/keiko/v1/$name.pb.cc"
done

objects=()
for source in $sources $main; do
  object=$out/objects/${source//\//_}.o
  coverage=-fsanitize=fuzzer-no-link
  $compiler "${options[@]}" "$coverage" -c "$source" -o "$object"
  objects+=("$object")
done
$compiler "${options[@]}" -fsanitize=fuzzer "${objects[@]}" $(head_line flags) -o "$out/fuzz"

# A target's files lie in memory where that is possible, and go with the run.
scratch=$(mktemp -d /dev/shm/keiko_fuzz_XXXXXX 2>/dev/null || mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR=$scratch

more=()
[ -f "tests/fuzz/dictionaries/$target.dict" ] && more=("-dict=tests/fuzz/dictionaries/$target.dict")
seeds=()
[ -d "tests/fuzz/seeds/$target" ] && seeds=("tests/fuzz/seeds/$target")
status=0
"$out/fuzz" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
  -artifact_prefix="$out/found/" "${more[@]}" "$out/corpus" "${seeds[@]}" 2>"$out/log" || status=$?
grep -E '^stat::|^Done|ERROR|SUMMARY|Test unit' "$out/log" || true
if [ $status -ne 0 ]; then
  tail -40 "$out/log"
  echo "$target failed; again: $out/fuzz $(ls -t "$out"/found/* | head -1)" >&2
fi
exit $status
