// The fetch program of an eprobe on a synthetic event. No code in a target makes that event, so none makes the eprobe's
// records either: the reader does, with the interpreter (ir/interpreter.h).
#pragma once

#include "common/error.h"
#include "compiler/ir/program.h"
#include "compiler/pipeline/compile.h"

namespace kevt::pipeline {

// A program with one sink, whose condition is the eprobe's `if`. ProbeAddress is where the record of the synthetic
// event lies. EOPNOTSUPP: the eprobe reads memory outside that record, which may hold something else by the time it is
// read; or it records a text that only a hit's code leaves to be made (`symstr`).
Result<ir::Program> reader_program(const CheckedEvent& event);

}  // namespace kevt::pipeline
