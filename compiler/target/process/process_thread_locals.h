// Where a process has a file's thread-local variables.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <expected>
#include <string>

#include "compiler/model/thread_local.h"
#include "compiler/target/elf/elf_image.h"

namespace kevt::target {

// The place of the variable that lies at `offset` in the image's thread-local block. `bias`: the address of the image
// in the process, `pid` 0: no process, then only a program's own variables have a place. The error says what is
// missing.
std::expected<model::ThreadLocalPlace, std::string> thread_local_place(const ElfImage& image, std::uint64_t bias,
                                                                       pid_t pid, std::uint64_t offset);

}  // namespace kevt::target
