#!/usr/bin/env bash
# hooks.sh KERNEL KEVTRACE: in_guest.py and static_in_guest.py in a guest: `f`, `t`, `w` and `e` probes by the bpf runtime.
# 77: there is no guest.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
status=0
tests='python3 -B "$0/in_guest.py" "$1"; first=$?; python3 -B "$0/static_in_guest.py" "$1" && exit $first'
"$here/../../../scripts/guest" --kernel "$1" --limit 900 -- sh -c "$tests" "$here" "$(readlink -f "$2")" || status=$?
[ $status -ne 4 ] || exit 77
exit $status
