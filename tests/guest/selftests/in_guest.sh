#!/usr/bin/env bash
# in_guest.sh TESTS KEVTRACE LOGS TEST…: runs ftracetest on the kernel's tracefs, then on a mount of kevtrace.
#
# ftracetest takes the first tracefs of /proc/mounts: in a copy of it that one line is another. ONLY=kernel or
# ONLY=kevtrace runs one of them (KEV_ONLY on the outside).
set -u
tests=$1 kevtrace=$2 logs=$3
shift 3
copy=$(mktemp -d)
cp -r "$tests/." "$copy"
cd "$copy" || exit 1
grep -q '^TRACING_DIR=`grep tracefs' ftracetest || { echo "ftracetest looks for its directory in another way"; exit 1; }
sed -i 's|^TRACING_DIR=`grep tracefs.*|TRACING_DIR=$SELFTEST_DIR|' ftracetest

run() { # DIRECTORY NAME TEST…
  local directory=$1 name=$2
  shift 2
  SELFTEST_DIR=$directory ./ftracetest --keep --logdir "$copy/logs-$name/" "$@" </dev/null 2>&1
  mkdir -p "$logs/$name" && cp "$copy/logs-$name"/* "$logs/$name/"
  cp "$copy/logs-$name/ftracetest.log" "$logs/$name.log"
}

case ${KEV_ONLY:-both} in kernel | both) run /sys/kernel/tracing kernel "$@" ;; esac
case ${KEV_ONLY:-both} in kevtrace | both) ;; *) exit 0 ;; esac
mkdir "$copy/mount"
"$kevtrace" mount "$copy/mount" --runtime bpf >"$logs/mount.log" 2>&1 &
daemon=$!
until [ -e "$copy/mount/trace" ]; do
  kill -0 $daemon 2>/dev/null || { cat "$logs/mount.log"; exit 1; }
  sleep 0.1
done
# Some tests name /sys/kernel/tracing: for them our directory lies there, and the kernel's does not.
export -f run
export copy logs
unshare -m --propagation private bash -c \
  'mount --bind "$copy/mount" /sys/kernel/tracing && run /sys/kernel/tracing kevtrace "$@"' run "$@"
umount "$copy/mount"
wait $daemon
echo "kevtrace mount ended with status $?"
