// The other side of runtime-user/agent/libraries.c: any thread counts its report; we alone count answers, on a futex
// word.
#include "runtime-user/runtime/inproc/process/library_watch.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

#include "common/proc.h"

namespace kevt::inproc {

Result<std::optional<LibraryReport>> find_library_report(ProbePoints& points) {
  auto objects = KEVT_TRY(points.objects());
  for (const ProbedObject* object : objects) {
    const auto functions = object->image->find_functions("_dl_debug_state");
    if (functions.size() != 1) continue;
    LibraryReport report{.function = {functions.front().address.value + object->bias}, .r_debug = {}};
    if (const auto data = object->image->find_objects("_r_debug"); data.size() == 1)
      report.r_debug = {data.front().address.value + object->bias};
    return report;
  }
  return std::nullopt;
}

void LibraryWatch::begin(const LibraryReport& report) {
  kevt_tables& tables = memory_.tables();
  tables.r_debug = report.r_debug.value;
  begun_ = true;
  __atomic_store_n(&tables.answerer, answerer_of(target_), __ATOMIC_RELEASE);
}

bool LibraryWatch::is_asked() {
  seen_ = __atomic_load_n(&memory_.session().library_reports, __ATOMIC_ACQUIRE);
  if (!begun_ || seen_ == __atomic_load_n(&memory_.tables().library_answers, __ATOMIC_RELAXED)) return false;
  began_ = Clock::now();
  return began_ >= not_yet_;
}

void LibraryWatch::wake(std::uint64_t answers) {
  std::uint64_t& word = memory_.tables().library_answers;
  __atomic_store_n(&word, answers, __ATOMIC_RELEASE);
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void LibraryWatch::answer() {
  const Clock::time_point now = Clock::now();
  not_yet_ = now + (now - began_);
  wake(seen_);
}

void LibraryWatch::end() {
  if (!begun_) return;
  begun_ = false;
  __atomic_store_n(&memory_.tables().answerer, 0, __ATOMIC_RELEASE);
  wake(~0ull);
}

}  // namespace kevt::inproc
