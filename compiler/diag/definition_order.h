// The order in which 6.1 checks a definition: values of Diagnostic::order.
//
// The kernel stops at its first mistake; kevtrace reports all mistakes, and the kernel's first one first. Parser and
// sema both report, so the steps of both are numbered here. (trace_kprobe.c, trace_uprobe.c,
// trace_eprobe.c, trace_probe.c of 6.1)
#pragma once

#include <cstddef>
#include <cstdint>

namespace kevt::diag {

enum DefinitionStep : std::uint32_t {
  kStepHead = 10,           // maxactive; an eprobe's own name
  kStepFile = 20,           // does the file exist
  kStepPlace = 30,          // text of the place
  kStepSymbol = 40,         // does the symbol exist exactly once; is it a function's entry
  kStepName = 50,           // group and event name
  kStepAttach = 60,         // the event an eprobe attaches to
  kStepFilter = 70,         // its filter
  kStepArgumentWords = 80,  // words that begin with `$arg`, and how many words there are (6.5)
  kStepArguments = 1000,    // 100 for each argument
  kStepCounter = 19900,     // does the semaphore agree with other probes of the same place
  kStepExisting = 20000,    // does the probe fit the event of the same name
  kStepRegister = 20100,    // arming: data symbols, instruction boundary
};

// Within one argument.
enum ArgumentStep : std::uint32_t {
  kArgName = 0,
  kArgLength = 10,
  kArgArray = 20,
  kArgType = 30,
  kArgSize = 40,
  kArgBase = 50,
  kArgOps = 60,
  kArgStoreSize = 65,
  kArgStore = 70,
  kArgBitfield = 80,
  kArgLoop = 85,
  kArgAttach = 90,
};
inline constexpr std::uint32_t kStepsPerArgument = 100;

constexpr std::uint32_t argument_order(std::size_t argument, ArgumentStep step) {
  return kStepArguments + kStepsPerArgument * static_cast<std::uint32_t>(argument) + step;
}

}  // namespace kevt::diag
