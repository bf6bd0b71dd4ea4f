#!/usr/bin/env bash
# portable.sh KEVTRACE: scripts that name types, compiled here with the types of Linux 6.1, run on three kernels by a
# kevtrace that has no LLVM beside it; with KEVT_SAMPLE (../on_kernels) on one of them. 77: there is no guest.
set -euo pipefail
kevtrace=$(readlink -f "$1")
here=$(cd "$(dirname "$0")" && pwd)
guest=$here/../../../scripts/guest
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# types KERNEL: its BTF, as a file.
types() {
  local status=0
  "$guest" --kernel "$1" -- cat /sys/kernel/btf/vmlinux >"$folder/$1.btf" || status=$?
  [ $status -ne 4 ] || exit 77
  [ $status -eq 0 ] || exit $status
}
types 6.1
types 6.12
mkdir "$folder/bin"
cp "$kevtrace" "$folder/bin/kevtrace" # libkevt-llvm.so stays behind

compile() { # NAME BTF…, its script from standard input
  local name=$1 options=()
  shift
  cat >"$folder/$name.kev"
  for kernel in "$@"; do options+=(--btf "$folder/$kernel.btf"); done
  "$kevtrace" compile "$folder/$name.kev" -o "$folder/$name.kevo" "${options[@]}"
}
compile values 6.1 <<'K'
target kernel
p:inode vfs_read ino=file->f_inode->i_ino size=file->f_inode->i_size count name=file:%pD flags=file->f_flags pos=file->f_pos
  filter size == 4321
p:twin vfs_read ino=file->f_inode->i_ino size=file->f_inode->i_size count name=file:%pD flags=file->f_flags pos=file->f_pos
  filter size == 4321
r:got vfs_read count ino=file->f_inode->i_ino got=$retval:s64
r:opened do_sys_openat2 name=filename:ustring $arg*
p:forked wake_up_new_task child=p->pid comm=p->comm:string execs=p->in_execve bytes=p->comm:x8[6]
t:exec sched_process_exec execs=p->in_execve pid=p->pid name=bprm->filename:string
f:gone vfs_unlink name=dentry:%pd
p:parted detach_pid pid=task->pid
r:parted_too detach_pid pid=task->pid
K
compile state 6.1 <<'K'
target kernel
p:state vfs_read state=file->f_inode->i_state ino=file->f_inode->i_ino
K
compile state_of_both 6.1 6.12 <<'K'
target kernel
p:state vfs_read state=file->f_inode->i_state ino=file->f_inode->i_ino
p:plain vfs_read count=%dx
K
compile count 6.1 <<'K'
target kernel
p:users vfs_read users=file->f_count.counter
K

kernels=(6.1 6.12 7.2)
[ -z "${KEVT_SAMPLE:-}" ] || kernels=("${kernels[KEVT_SAMPLE % 3]}")
failed=0
for kernel in "${kernels[@]}"; do
  echo "== compiled for 6.1, run on $kernel"
  status=0
  "$guest" --kernel "$kernel" -- python3 -B "$here/in_guest.py" "$folder" || status=$?
  if [ $status -eq 4 ]; then
    echo "there is no kernel $kernel here"
  elif [ $status -ne 0 ]; then
    failed=1
  fi
done
exit $failed
