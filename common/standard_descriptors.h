// Descriptors 0, 1 and 2, which a program may be started without.
#pragma once

namespace kevt {

// Otherwise the next file that is opened would get the number of standard output, and what is printed would be written
// to it. Each of the three that is closed is opened such that reading 0 and writing 1 and 2 go on failing with EBADF; a
// program that is started by exec has it closed again. Called first in main(), before anything is opened.
void reserve_standard_descriptors();

}  // namespace kevt
