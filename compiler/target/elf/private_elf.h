// An ELF file as elfutils may see it. Private to what uses elfutils: users see it nowhere.
#pragma once

#include <libelf.h>

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

// libelf over `contents`, which outlives it. Only the sections that `wants` says, and those with names, are there; of
// others libelf is told that they take no room in the file. The same contents may be opened again with the same
// `wants`.
Result<OpenElf> open_private_elf(FileContents& contents, const std::function<bool(std::string_view)>& wants);

}  // namespace kevt::target
