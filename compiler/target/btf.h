// BTF, the types of a Linux kernel: of /sys/kernel/btf/vmlinux, a file with the same bytes, or the .BTF section of an
// ELF file (vmlinux).
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "common/error.h"
#include "compiler/target/type_table.h"

namespace kevt::target {

// TypeIds are BTF's own. Refuses what is not whole: sections outside the file, names that do not end, ids out of range.
Result<TypeTable> read_btf(std::span<const std::uint8_t> bytes);
Result<TypeTable> read_btf_file(const std::string& path);

}  // namespace kevt::target
