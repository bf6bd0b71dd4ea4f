#!/usr/bin/env bash
# triggers.sh KERNEL KEVTRACE: triggers that hits carry out, in the guest, by BPF and by the module. Status 77: no guest or no
# headers here.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
status=0
module=$("$root/scripts/module" --kernel "$1") || status=$?
[ $status -ne 4 ] || { echo "SKIPPED: no headers of kernel $1 here" && exit 77; }
[ $status -eq 0 ] || exit 1
"$root/scripts/guest" --kernel "$1" -- python3 -B "$here/in_guest.py" "$module" "$(readlink -f "$2")" || status=$?
[ $status -ne 4 ] || { echo "SKIPPED: no guest with kernel $1 here" && exit 77; }
exit $status
