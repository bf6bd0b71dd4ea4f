#!/usr/bin/env bash
# gui.sh KERNEL WINDOW_TEST: the window on a guest's own tracing directory. 77: there is no guest.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
status=0
"$here/../../../scripts/guest" --kernel "$1" -- "$(readlink -f "$2")" || status=$?
[ $status -ne 4 ] || { echo "SKIPPED: no guest with kernel $1 here" && exit 77; }
exit $status
