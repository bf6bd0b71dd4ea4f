// BTF, the types of a Linux kernel: from /sys/kernel/btf/vmlinux, a file with the same bytes, or the .BTF section of an
// ELF file (vmlinux).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/error.h"
#include "compiler/target/types/type_table.h"

namespace kevt::target {

// TypeIds are BTF's own. Fails on damaged bytes: sections outside the file, names that do not end, ids out of range.
Result<TypeTable> read_btf(std::span<const std::uint8_t> bytes);
Result<TypeTable> read_btf_file(const std::string& path);

// A kernel with modules: the first file is the kernel's, each other one a module's (/sys/kernel/btf/MODULE), whose
// types go on where the kernel's end. TypeIds of the first module are BTF's own, those of later ones follow.
Result<TypeTable> read_btf_files(std::span<const std::string> paths);
// Adds the types of a module, `bytes`, to `table`, which read_btf() made of `kernel`.
Result<void> add_module_btf(TypeTable& table, std::span<const std::uint8_t> kernel,
                            std::span<const std::uint8_t> bytes);

}  // namespace kevt::target
