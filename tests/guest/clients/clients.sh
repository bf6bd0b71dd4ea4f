#!/usr/bin/env bash
# clients.sh KERNEL KEVTRACE [TRACEFS_CLIENT]: in_guest.sh in a guest. 77: there is no guest, or no trace-cmd.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
command -v trace-cmd >/dev/null || { echo "skipped: no trace-cmd" && exit 77; }
status=0
"$here/../../../scripts/guest" --kernel "$1" -- bash "$here/in_guest.sh" "${@:2}" || status=$?
[ $status -ne 4 ] || exit 77
exit $status
