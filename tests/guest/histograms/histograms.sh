#!/usr/bin/env bash
# histograms.sh KERNEL KEVTRACE: generated `hist` triggers of the kernel beside those of mounts over it, on the same hits.
# KEVT_HISTOGRAMS: how many of each runtime (60; 20 with KEVT_SAMPLE, ../on_kernels). Status 77: no guest or no headers here.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
status=0
module=$("$root/scripts/module" --kernel "$1") || status=$?
[ $status -ne 4 ] || { echo "SKIPPED: no headers of kernel $1 here" && exit 77; }
[ $status -eq 0 ] || exit 1
seed=${KEVT_SEED:-$RANDOM$RANDOM}
echo "KEVT_SEED=$seed"
number=${KEVT_SAMPLE:+20}
"$root/scripts/guest" --kernel "$1" --limit 3000 -- python3 -B "$here/in_guest.py" "$module" "$(readlink -f "$2")" "$seed" \
  "${KEVT_HISTOGRAMS:-${number:-60}}" || status=$?
[ $status -ne 4 ] || { echo "SKIPPED: no guest with kernel $1 here" && exit 77; }
exit $status
