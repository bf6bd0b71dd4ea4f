#!/usr/bin/env bash
# hooks.sh KERNEL KEVTRACE COLD MARKED: in one guest what the bpf runtime traces: `f`, `t`, `w` and `e` probes (in_guest.py,
# static_in_guest.py), the kernel's own events in `run` (enabled_in_guest.py), memory of programs that is not resident
# (resident_in_guest.py), stacks of hits (stacks_in_guest.py), markers of programs
# (usdt_in_guest.py), lines of the source (lines_in_guest.py), floating point (floats_in_guest.py), texts and lists of a given length
# (counted_in_guest.py), a program and the kernel together (both_in_guest.py), a tracer that is killed (keeper_in_guest.py), and what a mount answers beside the kernel's own directory
# (answers_in_guest.py). With KEVT_SAMPLE (../on_kernels) a third of them. 77: there is no guest.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
status=0
parts=(in static_in enabled_in resident_in stacks_in usdt_in lines_in floats_in counted_in both_in keeper_in answers_in)
chosen=()
for i in "${!parts[@]}"; do
  [ -n "${KEVT_SAMPLE:-}" ] && [ $(((i + KEVT_SAMPLE) % 3)) -ne 0 ] || chosen+=("${parts[i]}")
done
echo "of ${parts[*]}: ${chosen[*]}"
tests='status=0
for each in '"${chosen[*]}"'; do python3 -B "$0/${each}_guest.py" "$@" || status=1; done
exit $status'
# In process a hit's clock is the time-stamp counter, of which the emulated CPU promises nothing.
"$here/../../../scripts/guest" --kernel "$1" --boot "tsc=reliable clocksource=tsc" -- sh -c "$tests" "$here" "$(readlink -f "$2")" "$(readlink -f "$3")" "$(readlink -f "$4")" || status=$?
[ $status -ne 4 ] || exit 77
exit $status
