#!/usr/bin/env bash
# hooks.sh KERNEL KEVTRACE: in_guest.py in a guest: `f`, `t`, `w` and `e` probes by the bpf runtime. 77: there is no guest.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
status=0
"$here/../../../scripts/guest" --kernel "$1" --limit 800 -- python3 -B "$here/in_guest.py" "$(readlink -f "$2")" || status=$?
[ $status -ne 4 ] || exit 77
exit $status
