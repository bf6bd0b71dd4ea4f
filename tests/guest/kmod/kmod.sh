#!/usr/bin/env bash
# kmod.sh KERNEL KEVTRACE SLEEPERS: builds kevtrace.ko for the guest's kernel and tests it there. Status 77: no guest or
# no headers here.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
status=0
module=$("$root/scripts/module" --kernel "$1") || status=$?
[ $status -ne 4 ] || { echo "SKIPPED: no headers of kernel $1 here" && exit 77; }
[ $status -eq 0 ] || exit 1
"$root/scripts/guest" --kernel "$1" -- python3 "$here/in_guest.py" "$module" "$(readlink -f "$2")" "$(readlink -f "$3")" || status=$?
[ $status -ne 4 ] || { echo "SKIPPED: no guest with kernel $1 here" && exit 77; }
exit $status
