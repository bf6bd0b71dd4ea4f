#!/usr/bin/env bash
# reads.sh KERNEL KEVTRACE [HITS]: how fast a mount over the kernel is read, as ratios to the kernel's own tracefs, in a
# guest. Status 1: below the goals; 77: there is no guest.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
gcc -O2 -o "$work/drain" "$here/drain.c"
status=0
"$here/../../../scripts/guest" --kernel "$1" --cpus 1 -- python3 "$here/in_guest.py" "$(readlink -f "$2")" \
  "$work/drain" "${@:3}" || status=$?
[ $status -ne 4 ] || exit 77
exit $status
