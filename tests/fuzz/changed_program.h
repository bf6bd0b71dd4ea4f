// ChangedProgram: a real program, of which some bytes are others: so tables lie, in a file that is whole otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace kevt::fuzz {

class ChangedProgram {
 public:
  enum class Headers : std::uint8_t { Stay, Change };
  // Bytes of the sections that `wants` names may change; and those of the ELF file's header, its segments and sections.
  ChangedProgram(const std::string& path, const std::function<bool(std::string_view)>& wants, Headers headers);

  // An input is a list of changes, 4 bytes each: three for the place, one for the new byte. The first 64 count.
  std::string with(const std::uint8_t* data, std::size_t size) const;

 private:
  void may_change(std::uint64_t at, std::uint64_t count);
  std::string bytes_;
  std::vector<std::uint64_t> places_;  // offsets of the bytes that may change
};

// Lists of three changes.
std::vector<std::string> changes();

// Ends the program: what was tried breaks a promise.
void require(bool promise);

}  // namespace kevt::fuzz
