#!/usr/bin/env bash
# in_guest.sh KEVTRACE: a compiled script traces the kernel by a kevtrace that has no LLVM beside it.
set -euo pipefail
kevtrace=$1
folder=$(mktemp -d)
cd "$folder"
mkdir bin
cp "$kevtrace" bin/kevtrace # libkevt-llvm.so stays behind
bare=$folder/bin/kevtrace

fail() {
  echo "FAILED: $*" >&2
  exit 1
}
# says TEXT COMMAND…: it fails, and says so.
says() {
  local text=$1
  shift
  ! "$@" >out 2>&1 || fail "taken: $*"
  grep -q -- "$text" out || { cat out >&2 && fail "not said: $text"; }
}

cat >opened.kev <<'K'
target kernel
p:opened do_sys_openat2 path=+0(%si):string flags=+0(%dx):x64
  filter path == "/etc/hostname"
r:fd do_sys_openat2 fd=$retval:s32
p:also do_sys_openat2 path=+0(%si):string flags=+0(%dx):x64
  filter path == "/etc/hostname"
K
"$kevtrace" compile opened.kev -o opened.kevo
"$bare" run opened.kevo -- cat /etc/hostname >out 2>err || { cat err >&2 && fail "the compiled script does not run"; }
grep -q 'opened: (do_sys_openat2.*path="/etc/hostname"' out || { cat out err >&2 && fail "opened is missing"; }
grep -q 'also: (do_sys_openat2.*path="/etc/hostname"' out || fail "its twin is missing"
grep -q 'fd: (.* <- do_sys_openat2.*fd=3' out || fail "fd is missing"
! grep -q 'path="/etc/passwd"' out || fail "the filter passes what it should not"

says 'LLVM cannot be loaded' "$bare" run --runtime bpf -e 'p:x do_sys_openat2' -- true
says 'the compiled script has no code for' "$bare" run opened.kevo --filter 'fd: fd > 2' -- true

# Without a target: for programs and for the kernel.
echo 'p:opened do_sys_openat2 path=+0(%si):string' >both.kev
"$kevtrace" compile both.kev -o both.kevo
"$bare" run both.kevo --runtime bpf -- cat /etc/hostname >out 2>err || { cat err >&2 && fail "both.kevo does not run"; }
grep -q 'opened: (do_sys_openat2.*path="/etc/hostname"' out || fail "opened is missing in the second run"

cp opened.kevo damaged.kevo
printf X | dd of=damaged.kevo bs=1 seek=900 conv=notrunc 2>/dev/null
says 'damaged' "$bare" run damaged.kevo -- true

# Names: with the types of the kernel that is here (guest_portable has those of others).
printf 'target kernel\nr:typed vfs_read name=file:%%pD $arg3\n' >typed.kev
"$kevtrace" compile typed.kev -o typed.kevo
"$bare" run typed.kevo -- cat /etc/hostname >out 2>err || { cat err >&2 && fail "typed.kevo does not run"; }
grep -q 'typed: (.* <- vfs_read.*name="hostname"' out || fail "typed is missing"
says 'is for scripts with `target kernel`' "$kevtrace" compile both.kev -o no.kevo --btf /sys/kernel/btf
says "a kernel's types" "$kevtrace" compile typed.kev -o no.kevo --btf /etc/hostname
printf 'target kernel\np:x vfs_read file->f_nobody\n' >nobody.kev
says 'no such member' "$kevtrace" compile nobody.kev -o no.kevo
[ ! -e no.kevo ] || fail "a refused script is written"
echo "compiled scripts trace the kernel"
