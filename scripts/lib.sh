# Sourced by the scripts of ./kev: messages, elapsed time, the folder of the repository.
# Messages go to stderr; stdout is for what a script is asked for.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
started=$SECONDS

say() { printf '\033[1m%s\033[0m\n' "kev: $*" >&2; }
if [ ! -t 2 ] || [ -n "${NO_COLOR:-}" ]; then
  say() { printf '%s\n' "kev: $*" >&2; }
fi
die() {
  printf 'kev: error: %s\n' "$1" >&2
  exit "${2:-1}"
}
elapsed() {
  local s=$((SECONDS - started))
  printf '%d:%02d min' $((s / 60)) $((s % 60))
}

# How many compilers at once: as many as there are CPUs, and no more than the memory bears (1.5 GB each).
job_count() {
  if [ -n "${KEV_JOBS:-}" ]; then
    echo "$KEV_JOBS"
    return
  fi
  local cpus by_memory
  cpus=$(nproc)
  by_memory=$(awk '/^MemAvailable:/ { n = int($2 / 1572864); print (n < 1 ? 1 : n) }' /proc/meminfo)
  echo $((cpus < by_memory ? cpus : by_memory))
}

# Every file git knows (or would take), one a line; arguments are pathspecs.
sources() { git -C "$root" ls-files --cached --others --exclude-standard -- "$@" | while read -r f; do
  [ -f "$root/$f" ] && echo "$f"
done; }
