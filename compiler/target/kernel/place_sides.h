// PlaceSides: whose a definition is where programs and the kernel are traced together (docs/adr/0040).
//
//   libc:write, /bin/app:0x4710, app:file.c:42, app:PROVIDER:MARKER       a program's
//   vfs_write, vfs_*, an address; f, t, w and e probes                    the kernel's
//   ext4:ext4_readdir                                                     the kernel's, which has loaded this module
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

namespace kevt::target {

class PlaceSides {
 public:
  using Modules = std::set<std::string, std::less<>>;
  // `modules`: names of the kernel's modules, as /proc/modules has them.
  explicit PlaceSides(Modules modules) : modules_(std::move(modules)) {}
  static PlaceSides of_running_kernel();

  enum class Side { Program, Kernel, Both };
  // `definition`: as it was written. Both: a synthetic event, which has no place; or what is no definition.
  Side of(std::string_view definition) const;

 private:
  Modules modules_;
};

}  // namespace kevt::target
