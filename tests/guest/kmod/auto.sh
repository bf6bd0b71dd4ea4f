#!/usr/bin/env bash
# auto.sh KERNEL KEVTRACE: `--runtime auto` in the guest with kevtrace.ko loaded: each event by the runtime that has it; then a
# tracer by the module that is killed (../hooks/keeper_in_guest.py). Status
# 77: no guest or no headers here.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
status=0
module=$("$root/scripts/module" --kernel "$1") || status=$?
[ $status -ne 4 ] || { echo "SKIPPED: no headers of kernel $1 here" && exit 77; }
[ $status -eq 0 ] || exit 1
tests='python3 -B "$0/auto_in_guest.py" "$1" "$2" && { lsmod | grep -q ^kevtrace || insmod "$1"; } && python3 -B "$0/../hooks/keeper_in_guest.py" "$2" kmod'
"$root/scripts/guest" --kernel "$1" --boot "tsc=reliable clocksource=tsc" -- sh -c "$tests" "$here" "$module" "$(readlink -f "$2")" || status=$?
[ $status -ne 4 ] || { echo "SKIPPED: no guest with kernel $1 here" && exit 77; }
exit $status
