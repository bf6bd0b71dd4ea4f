#!/usr/bin/env bash
# kept.sh KERNEL KEVTRACE: in_guest.py with the bpf runtime and with kevtrace.ko, in one boot. 77: no guest or no headers.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
status=0
module=$("$root/scripts/module" --kernel "$1") || status=$?
[ $status -ne 4 ] || { echo "SKIPPED: no headers of kernel $1 here" && exit 77; }
[ $status -eq 0 ] || exit 1
"$root/scripts/guest" --kernel "$1" -- python3 -B "$here/in_guest.py" "$(readlink -f "$2")" "$module" || status=$?
[ $status -ne 4 ] || { echo "SKIPPED: no guest with kernel $1 here" && exit 77; }
exit $status
