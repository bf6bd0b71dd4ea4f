// Names for the events of one glob: letters, digits and `_`, 63 at most; a name that comes again gets a number.
//
//   p:a_* …   a_malloc, a_calloc      p libc:*alloc   the kernel's own      p /lib/libc.so.6:*alloc   malloc, calloc
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace kevt::pipeline {

class GlobbedNames {
 public:
  explicit GlobbedNames(std::string_view head) : head_(head) {}  // "p", "p:ev", "p:a_*"

  // The first word of a function's line: with its name for a `*`, or where the kernel's own name would be too long.
  std::string head_for(std::string_view module, std::string_view function);
  // The same in a file of which the path is written: an event without a name is called as the function.
  std::string head_in_file(std::string_view function, bool returns);

 private:
  bool has_name() const { return head_.contains(':'); }
  std::string with_star_replaced(std::size_t star, std::string_view function);
  std::string unique(std::string_view front, std::string_view function, std::string_view behind);

  std::string_view head_;
  std::set<std::string> taken_;
};

}  // namespace kevt::pipeline
