#!/usr/bin/env bash
# questions.sh KERNEL KEVTRACE [--doc FILE] [--results FILE] [NUMBER…]: asks kevtrace, perf and bpftrace the forty questions of
# questions.py about programs, in one guest, since two of them act on the kernel. Says of each question who answers it, and
# after how many seconds. --doc writes the table into FILE (docs/forty-questions.md), --results keeps all output as JSON.
# 77: there is no guest, no perf or no bpftrace. A question whose compiler is missing is skipped, and that is said. Status 1: another tool
# answers a question that kevtrace does not.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
kernel=${1:?a kernel: 6.1}
kevtrace=$(readlink -f "${2:?the program kevtrace}")
shift 2
doc=()
results=
numbers=()
while [ $# -gt 0 ]; do
  case $1 in
    --doc) doc=(--doc "${2:?--doc needs a file}") && shift ;;
    --results) results=${2:?--results needs a file} && shift ;;
    *) numbers+=("$1") ;;
  esac
  shift
done
for tool in perf bpftrace gcc; do
  command -v "$tool" >/dev/null || { echo "SKIPPED: there is no $tool here" && exit 77; }
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
programs=$work/programs sources=$root/tests/process/programs own=$here/programs
mkdir "$programs" "$work/shared"
gcc -g -O2 -o "$programs/asked" "$own/asked.c"
gcc -g -O0 -o "$programs/lines0" "$sources/lines.c"
gcc -g -O2 -o "$programs/lines2" "$sources/lines.c"
gcc -g -O2 -o "$programs/floats" "$sources/floats.c" -lm
gcc -g -O2 -o "$programs/marked" "$sources/marked.c"
cp "$programs/asked" "$programs/firstapp"
cp "$programs/asked" "$programs/otherapp"
printf '#!/bin/sh\n./firstapp library 4\n./otherapp library 7\n' >"$programs/both"
chmod +x "$programs/both"
objcopy --only-keep-debug "$programs/asked" "$programs/stripped.debug"
strip -o "$programs/stripped" "$programs/asked"
if command -v g++ >/dev/null; then
  g++ -g -O2 -o "$programs/texts" "$sources/texts.cpp"
  g++ -g -O2 -o "$programs/named" "$sources/named.cpp"
  g++ -g -O2 -o "$programs/shop2" "$sources/shop.cpp"
  g++ -g -O0 -o "$programs/shop0" "$sources/shop.cpp"
fi
if command -v rustc >/dev/null; then rustc -g -O -o "$programs/rusttexts" "$sources/rust_texts.rs"; fi
if command -v go >/dev/null; then
  HOME=$work GO111MODULE=off GOCACHE=$work/go CGO_ENABLED=0 go build -o "$programs/askedgo" "$own/asked.go"
fi

status=0
# In process a hit's clock is the time-stamp counter, of which the emulated CPU promises nothing.
"$root/scripts/guest" --kernel "$kernel" --limit 5000 --share "$work/shared" --boot "tsc=reliable clocksource=tsc" -- \
  python3 -B "$here/in_guest.py" "$kevtrace" "$programs" "$sources" "$work/shared/results.json" "${numbers[@]}" || status=$?
[ $status -ne 4 ] || { echo "SKIPPED: no guest with kernel $kernel here" && exit 77; }
[ -z "$results" ] || [ ! -f "$work/shared/results.json" ] || cp "$work/shared/results.json" "$results"
[ $status -eq 0 ] || exit $status
python3 -B "$here/table.py" "$work/shared/results.json" "${doc[@]}"
