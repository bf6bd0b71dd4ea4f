# Sourced: guest_seed, the number that samples of guest tests are drawn by. It is the checkout's commit; KEVT_SEED=N is another.
guest_seed() {
  local commit
  commit=$(git -C "$(dirname "${BASH_SOURCE[0]}")" rev-parse HEAD 2>/dev/null || echo 0)
  echo "${KEVT_SEED:-$((16#${commit:0:7}))}"
}
