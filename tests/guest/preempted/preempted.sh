#!/usr/bin/env bash
# preempted.sh KERNEL KEVTRACE: uprobes of processes that preempt each other within them (in_guest.py). 77: there is no guest.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
status=0
"$here/../../../scripts/guest" --kernel "$1" -- python3 -B "$here/in_guest.py" "$(readlink -f "$2")" || status=$?
[ $status -ne 4 ] || exit 77
exit $status
