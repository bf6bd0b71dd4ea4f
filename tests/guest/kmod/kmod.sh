#!/usr/bin/env bash
# kmod.sh KERNEL KEVTRACE SLEEPERS [SECONDS [PROBES]]: builds kevtrace.ko for the guest's kernel and tests it there, in one
# boot: by who may do what, by requests, at the entries of functions and in a module that goes, by clients at random for SECONDS (30), with PROBES (300) at once beside the kernel's own. With KEVT_SAMPLE (../on_kernels)
# 10 s and 100 probes. Status 77: no guest or no headers here.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
status=0
module=$("$root/scripts/module" --kernel "$1") || status=$?
[ $status -ne 4 ] || { echo "SKIPPED: no headers of kernel $1 here" && exit 77; }
[ $status -eq 0 ] || exit 1
target=$("$root/scripts/guest.d/kbuild" --kernel "$1" "$here/target" kevt_target)
short=${KEVT_SAMPLE:+10} few=${KEVT_SAMPLE:+100}
seconds=${4:-${short:-30}} probes=${5:-${few:-300}}
tests='cd "$0" && python3 -B guards.py "$1" && python3 -B in_guest.py "$1" "$2" "$3" && python3 -B entries.py "$1" "$6" "$2" \
  && python3 -B swarm.py "$1" "$2" "$4" && python3 -B many.py "$1" "$5"'
"$root/scripts/guest" --kernel "$1" --limit $((1800 + 2 * seconds)) -- sh -c "$tests" \
  "$here" "$module" "$(readlink -f "$2")" "$(readlink -f "$3")" "$seconds" "$probes" "$target" || status=$?
[ $status -ne 4 ] || { echo "SKIPPED: no guest with kernel $1 here" && exit 77; }
exit $status
