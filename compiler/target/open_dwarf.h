// A file's debug information, as libdw has it open. Private to what reads it: users see elfutils nowhere.
#pragma once

#include <elfutils/libdw.h>

#include <memory>

namespace kevt::target {

struct EndDwarf {
  void operator()(Dwarf* dwarf) const { dwarf_end(dwarf); }
};
using OpenDwarf = std::unique_ptr<Dwarf, EndDwarf>;

}  // namespace kevt::target
