// An ELF file as elfutils may see it. Only code that uses elfutils includes this header.
#pragma once

#include <libelf.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "common/error.h"
#include "compiler/target/elf/elf_sections.h"
#include "compiler/target/elf/file_contents.h"

namespace kevt::target {

struct EndElf {
  void operator()(Elf* elf) const { elf_end(elf); }
};
using OpenElf = std::unique_ptr<Elf, EndElf>;

enum class SectionUse : std::uint8_t {
  None,
  Read,
  ReadLater,  // by the caller, who knows what is asked for; a packed section is read at once
};

// Opens `contents`, which must outlive the result, with libelf. Libelf sees the sections that are of use and the one
// that holds the section names; of all others it is told that they take no room in the file. `contents` is changed for
// that; it may be opened again with the same `use_of`.
Result<OpenElf> open_private_elf(FileContents& contents, const std::function<SectionUse(std::string_view)>& use_of);

}  // namespace kevt::target
