#!/usr/bin/env bash
# in_guest.sh KEVTRACE [TRACEFS_CLIENT]: the clients of tracing directories on `kevtrace mount --runtime bpf`, in a guest.
# One line for each thing that must hold: "ok WHAT" or "FAILED WHAT"; status 1 when one failed.
set -u
kevtrace=$1 client=${2:-}
cd "$(mktemp -d)" || exit 1
dir=$PWD/t
mkdir "$dir"
"$kevtrace" mount "$dir" --runtime bpf >mount.log 2>&1 &
daemon=$!
until [ -e "$dir/trace" ]; do
  kill -0 $daemon 2>/dev/null || { cat mount.log; exit 1; }
  sleep 0.1
done

failed=0
check() { # WHAT STATUS
  if [ "$2" -eq 0 ]; then echo "ok $1"; else echo "FAILED $1" && failed=1; fi
}
on() { "$kevtrace" exec "$dir" -- "$@" </dev/null; }
lines() { grep -c "$@" || true; }
opens() { for i in $(seq "$1"); do cat /etc/hostname >/dev/null; done; }
# TASK-PID CPU TIME EVENT and the rest, the same from a trace file and from trace-cmd report.
plain() { sed -n -E 's/^ *(.+)-([0-9]+) +\[([0-9]+)\]( [^ ]{5})? +([0-9]+\.[0-9]+): ([^:]+): *(.*)$/\2 \3 \5 \6: \7/p' | sort; }

echo 'p:op do_sys_openat2 path=+0(%si):ustring dfd=%di:s32' >"$dir/kprobe_events"
check "trace-cmd list" "$(on trace-cmd list -e '^kprobes:op' | lines '^kprobes:op$' | awk '{ print !($1 == 1) }')"

on trace-cmd start -e kprobes:op >start.log 2>&1
check "trace-cmd start" $?
opens 20
on trace-cmd stop
check "trace-cmd stop" $?
on trace-cmd show >show.txt
check "trace-cmd show" $(($(lines 'path="/etc/hostname"' <show.txt) >= 20 ? 0 : 1))
on trace-cmd extract -o x.dat >extract.log 2>&1
check "trace-cmd extract" $?
on trace-cmd report -N x.dat 2>report.log | plain >report.txt
plain <show.txt >wanted.txt
# trace-cmd prints a probe's address in its own way; what the event says is behind it. A string that could not be read is
# (fault) to the kernel and empty to trace-cmd.
sed -i -E 's/: \([^)]*\) */: /; s/=\(fault\)/=""/g' report.txt wanted.txt
cmp -s report.txt wanted.txt && [ -s wanted.txt ]
same=$?
[ $same -eq 0 ] || diff report.txt wanted.txt | head -6
check "trace-cmd report has the lines of trace ($(wc -l <wanted.txt))" $same

on trace-cmd reset >reset.log 2>&1
check "trace-cmd reset" $?
check "trace-cmd reset removed the probe" $(($(lines . <"$dir/kprobe_events") == 0 ? 0 : 1))

echo 'p:op do_sys_openat2 path=+0(%si):ustring' >"$dir/kprobe_events"
on trace-cmd record -q -o r.dat -e kprobes:op -e sched:sched_process_exec cat /etc/hostname >record.log 2>&1
check "trace-cmd record" $?
on trace-cmd report -N r.dat >r.txt 2>/dev/null
check "its report has the program's open" $(($(lines '/etc/hostname' <r.txt) >= 1 ? 0 : 1))
check "and the kernel's own event" $(($(lines 'sched_process_exec' <r.txt) >= 1 ? 0 : 1))
on timeout 90 trace-cmd stream -e kprobes:op cat /etc/hostname >s.txt 2>stream.log
check "trace-cmd stream ends" $?
on trace-cmd reset >reset.log 2>&1

if command -v kprobe-perf >/dev/null; then
  (sleep 3 && opens 30) &
  on kprobe-perf -d 8 'p:myopen do_sys_openat2 dfd=%di' >kprobe.txt 2>kprobe.log
  check "kprobe-perf p:" $(($(lines 'myopen: (do_sys_openat2' <kprobe.txt) >= 30 ? 0 : 1))
  (sleep 3 && opens 30) &
  on kprobe-perf -d 8 'r:myret do_sys_openat2 $retval' >kprobe.txt 2>kprobe.log
  check "kprobe-perf r:" $(($(lines 'myret: (' <kprobe.txt) >= 30 ? 0 : 1))
  check "kprobe-perf left nothing" $(($(lines . <"$dir/kprobe_events") == 0 ? 0 : 1))
fi

if [ -n "$client" ]; then
  (sleep 1 && head -c 1000000 /dev/zero | dd bs=4096 of=/dev/null status=none) &
  "$client" "$dir" kprobes reads ksys_read 'fd=%di:s32 count=%dx:u64' 'count == 4096' count 4 >client.txt
  check "libtracefs client" $?
  check "its records pass its filter" \
    $(($(lines '^count=4096$' <client.txt) >= 50 && $(lines '^count=' <client.txt) == $(lines '^count=4096$' <client.txt) ? 0 : 1))
fi

# The kernel's own events, on and off together and one by one: those that are on are seen, and no others.
seen() { # NAME…: which of these events opening files makes now
  echo 1 >"$dir/tracing_on" && echo >"$dir/trace"
  opens 5
  echo 0 >"$dir/tracing_on" && cat "$dir/trace" >seen.txt
  for name; do grep -q " $name: " seen.txt && printf '%s ' "$name"; done
}
# A switch, sched_waking and sys_enter_openat are made by every `cat` that a shell waits for.
all="sched_switch sched_waking sys_enter_openat"
shows() { # WHAT EXPECTED
  got=$(seen $all)
  [ "$got" = "${2:+$2 }" ]
  check "$1: ${2:-nothing}" $?
}
switch() { echo "$2" >"$dir/events/$1/enable"; }
echo 1 >"$dir/events/enable"
check "all of the kernel's events are on" $?
check "and read so" "$([ "$(cat "$dir/events/enable")" = 1 ]; echo $?)"
shows "all on" "$all"
switch sched 0
shows "sched off" "sys_enter_openat"
switch sched/sched_switch 1
shows "one of them on" "sched_switch sys_enter_openat"
echo 0 >"$dir/events/enable"
shows "all off" ""
switch syscalls 1
shows "one group of those on again" "sys_enter_openat"
switch sched/sched_waking 1
shows "another event" "sched_waking sys_enter_openat"
echo 1 >"$dir/events/enable"
shows "the rest" "$all"
# A pattern with more searches than BPF programs ask.
echo 'e:refused sched/sched_process_exec old=$old_pid if filename ~ "*a*b*c*d*e*f*g*h*i*"' >"$dir/dynamic_events"
echo 0 >"$dir/events/enable"
shows "all off again" ""
echo 1 2>>refused.log >"$dir/events/enable"
check "one that cannot be on is told" $(($? != 0 ? 0 : 1))
check "the others are on" "$([ "$(cat "$dir/events/sched/enable" "$dir/events/eprobes/refused/enable")" = $'1\n0' ]; echo $?)"
shows "the others" "$all"

[ "$failed" -eq 0 ] || for log in *.log; do echo "--- $log" && tail -5 "$log"; done
umount "$dir"
wait $daemon
check "mount ended" $?
check "hits are recorded, filtered, lost or missed" \
  "$(awk '/: hits [0-9]/ { n++; if ($3 != $6 + $9 + $12 + $15) bad++ } END { print !(n > 50 && !bad) }' mount.log)"
exit $failed
