// What every reading of a recording promises, whatever the bytes are.
#pragma once

#include <cstddef>
#include <string_view>

namespace kevt::fuzz {

void require(bool promise);  // aborts

// Opens the bytes as a file, as `kevtrace report` does, and prints every record, turns it into JSON and looks at it by
// a filter, twice from the beginning. Promises: no crash, the same number of records both times, no more of them than
// the budget of such a file allows, and few, short problems.
// Returns how many records there are.
std::size_t read_recording(std::string_view bytes);

}  // namespace kevt::fuzz
