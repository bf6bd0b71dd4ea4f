// A file's debug information, as libdw has it open. Private to what reads it: users see elfutils nowhere.
#pragma once

#include <elfutils/libdw.h>

#include <memory>

#include "compiler/target/elf/debug_file.h"
#include "compiler/target/elf/private_elf.h"

namespace kevt::target {

class OpenDwarf {
 public:
  // libdw opens no file by itself. `file` is there.
  static Result<OpenDwarf> of(const DebugFile& file);

  Dwarf* get() const { return dwarf_.get(); }

 private:
  struct EndDwarf {
    void operator()(Dwarf* dwarf) const { dwarf_end(dwarf); }
  };
  OpenDwarf() = default;
  static Result<OpenDwarf> of(std::shared_ptr<FileContents> contents);

  // Ended from the last to the first.
  std::unique_ptr<OpenDwarf> alternate_;
  std::shared_ptr<FileContents> contents_;
  OpenElf elf_;
  std::unique_ptr<Dwarf, EndDwarf> dwarf_;
};

}  // namespace kevt::target
