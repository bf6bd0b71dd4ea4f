#!/usr/bin/env bash
# typed.sh KERNEL KEVTRACE: in_guest.py with the bpf runtime in a guest. 77: there is no guest.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
status=0
"$here/../../../scripts/guest" --kernel "$1" -- python3 -B "$here/in_guest.py" "$(readlink -f "$2")" bpf || status=$?
[ $status -ne 4 ] || exit 77
exit $status
