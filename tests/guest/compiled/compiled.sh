#!/usr/bin/env bash
# compiled.sh KERNEL KEVTRACE: in_guest.sh in a guest. 77: there is no guest.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
status=0
"$here/../../../scripts/guest" --kernel "$1" -- bash "$here/in_guest.sh" "${@:2}" || status=$?
[ $status -ne 4 ] || exit 77
exit $status
