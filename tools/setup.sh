#!/usr/bin/env bash
# Installs the Debian packages of tools/packages.txt that are missing; `./dev setup` calls it.
#
# usage: tools/setup.sh [--quiet] [GROUP ...]     (default: build demo test)
# Idempotent: with nothing missing it asks dpkg once and ends. --quiet is for `./dev build`: where
# there is no dpkg it says nothing and lets CMake name what it cannot find.
set -euo pipefail
cd "$(dirname "$0")/.."

quiet=0
[ "${1:-}" = --quiet ] && { quiet=1; shift; }
groups=("$@")
[ ${#groups[@]} -gt 0 ] || groups=(build demo test)

packages_of() { # GROUP
  awk -v want="[$1]" '
    { sub(/#.*/, "") } NF == 0 { next }
    /^\[/ { in_group = ($1 == want); seen = seen || in_group; next }
    in_group { print $1 }
    END { if (!seen) exit 3 }' tools/packages.txt
}

wanted=()
for group in "${groups[@]}"; do
  if ! list=$(packages_of "$group"); then
    echo "setup: no group '$group' in tools/packages.txt; groups are:" \
      "$(grep -o '^\[[a-z]*\]' tools/packages.txt | tr -d '[]' | tr '\n' ' ')" >&2
    exit 2
  fi
  mapfile -t -O "${#wanted[@]}" wanted <<<"$list"
done

if ! command -v dpkg-query >/dev/null; then
  [ "$quiet" = 1 ] && exit 0
  echo "setup: this is not a Debian system (no dpkg-query). Install the equivalents of:" >&2
  printf '  %s\n' "${wanted[@]}" >&2
  exit 1
fi

installed=$(dpkg-query -W -f='${db:Status-Abbrev} ${Package}\n' 2>/dev/null |
  awk '$1 == "ii" { print $2 }')
missing=()
for package in "${wanted[@]}"; do
  grep -qxF "$package" <<<"$installed" || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  [ "$quiet" = 1 ] || echo "setup: all ${#wanted[@]} packages of ${groups[*]} are installed"
  exit 0
fi

as_root=()
if [ "$(id -u)" != 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "setup: ${#missing[@]} packages are missing and this is not root. As root:" >&2
    echo "  apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 \
    -o DPkg::Lock::Timeout=300 "$@" </dev/null
}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "setup: installing ${missing[*]}"
if ! apt install -y --no-install-recommends "${missing[@]}" >"$log" 2>&1; then
  # Old or absent package lists look the same as a wrong name; fetch them once and try again.
  if ! { apt update && apt install -y --no-install-recommends "${missing[@]}"; } \
      >"$log" 2>&1; then
    tail -20 "$log" >&2
    echo "setup: apt-get failed (above). Debian 12 main has all of these packages; check" \
      "/etc/apt/sources.list and the network, then run ./dev setup again." >&2
    exit 1
  fi
fi
echo "setup: installed ${#missing[@]} packages"
