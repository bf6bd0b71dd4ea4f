// While a function with a return probe runs, its return slot holds an address of the detour. A C++
// exception, pthread_exit or backtrace() would find no frame description there: the exception would end
// the program (std::terminate), the cleanups of a thread would not run, a backtrace would be short.
//
//   throw → __cxa_throw → _Unwind_RaiseException      ← stopped here, while every frame is still there
//
// Found by name in every loaded file: libgcc_s and libunwind have them, so do programs that link them statically.
// pthread_exit and backtrace are there too, since libc loads libgcc_s only when it first needs it.
#include "runtime-user/runtime/inproc/code/unwinders.h"

#include <algorithm>

#include "common/error.h"

namespace kevt::inproc {

namespace {

constexpr const char* kNames[] = {"_Unwind_RaiseException", "_Unwind_Resume_or_Rethrow",
                                  "_Unwind_ForcedUnwind",   "_Unwind_Backtrace",
                                  "pthread_exit",           "backtrace"};

}  // namespace

Result<std::vector<RemoteAddr>> find_unwinders(ProbePoints& points) {
  auto objects = KEVT_TRY(points.objects());
  std::vector<RemoteAddr> found;
  for (const ProbedObject* object : objects)
    for (const char* name : kNames)
      for (const target::ElfSymbol& symbol : object->image->find_functions(name)) {
        const RemoteAddr at{symbol.address.value + object->bias};
        if (symbol.address.value && points.at(at)) found.push_back(at);
      }
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace kevt::inproc
