#!/usr/bin/env bash
# doors.sh KERNEL KEVTRACE: the doors to a kernel in a guest, by bpf and by kevtrace.ko, beside what docs/doors.md says. With
# KEVT_SAMPLE (../guest/on_kernels) a fifth of the rows. Status 77: no guest or no headers here.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
status=0
module=$("$root/scripts/module" --kernel "$1") || status=$?
[ $status -ne 4 ] || { echo "SKIPPED: no headers of kernel $1 here" && exit 77; }
[ $status -eq 0 ] || exit 1
tests='status=0
mount -t tracefs none /sys/kernel/tracing 2>/dev/null || true
insmod "$1"
for runtime in bpf kmod; do python3 -B "$0/doors_test.py" --runtime $runtime --print $KEVT_DOORS || status=1; done
exit $status'
"$root/scripts/guest" --kernel "$1" --boot "tsc=reliable clocksource=tsc" --limit "${KEVT_DOORS_LIMIT:-1800}" -- env "KEVTRACE=$(readlink -f "$2")" "KEVT_GUI_HANDS=${KEVT_GUI_HANDS:-}" \
  "KEVT_DOORS=${KEVT_DOORS:-}" "KEVT_SAMPLE=${KEVT_SAMPLE:-}" sh -c "$tests" "$here" "$module" || status=$?
[ $status -ne 4 ] || { echo "SKIPPED: no guest with kernel $1 here" && exit 77; }
exit $status
