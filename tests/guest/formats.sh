#!/usr/bin/env bash
# formats.sh KERNEL TEST: TEST with the formats of all events of a kernel (KEVT_FORMATS). 77: there is no guest.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
status=0
"$here/../../scripts/guest" --kernel "$1" --share "$folder" -- sh -c '
mount -t tracefs none /sys/kernel/tracing 2>/dev/null || true
cp -r /sys/kernel/tracing/events /tmp/formats 2>/dev/null
tar -C /tmp/formats -cf "$0/formats.tar" .' "$folder" || status=$?
[ $status -ne 4 ] || exit 77
mkdir "$folder/events"
tar -C "$folder/events" -xf "$folder/formats.tar"
KEVT_FORMATS=$folder/events "$2" --gtest_filter='*TheKernels*'
