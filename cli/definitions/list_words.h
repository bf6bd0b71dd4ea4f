// Prints words of the language for `kevtrace list`: how each is written, where it runs, what it means.
#pragma once

namespace kevt::cli {

void print_event_kinds();
void print_registers();
void print_types();

}  // namespace kevt::cli
