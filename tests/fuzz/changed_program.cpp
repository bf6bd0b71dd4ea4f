#include "tests/fuzz/changed_program.h"

#include <elf.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

namespace kevt::fuzz {

void require(bool promise) {
  if (!promise) std::abort();
}

ChangedProgram::ChangedProgram(const std::string& path, const std::function<bool(std::string_view)>& wants,
                               Headers headers) {
  std::ifstream file(path, std::ios::binary);
  bytes_.assign(std::istreambuf_iterator<char>(file), {});
  require(bytes_.size() > sizeof(Elf64_Ehdr));
  Elf64_Ehdr header;
  std::memcpy(&header, bytes_.data(), sizeof header);
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  std::memcpy(sections.data(), bytes_.data() + header.e_shoff, sections.size() * sizeof(Elf64_Shdr));
  const char* names = bytes_.data() + sections[header.e_shstrndx].sh_offset;
  for (const Elf64_Shdr& section : sections)
    if (section.sh_type != SHT_NOBITS && wants(names + section.sh_name)) may_change(section.sh_offset, section.sh_size);
  if (headers == Headers::Change) {
    may_change(0, sizeof header);
    may_change(header.e_phoff, std::uint64_t{header.e_phnum} * header.e_phentsize);
    may_change(header.e_shoff, std::uint64_t{header.e_shnum} * header.e_shentsize);
  }
  require(!places_.empty());
}

void ChangedProgram::may_change(std::uint64_t at, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) places_.push_back(at + i);
}

std::string ChangedProgram::with(const std::uint8_t* data, std::size_t size) const {
  std::string bytes = bytes_;
  for (std::size_t i = 0; i + 4 <= size && i < 256; i += 4) {
    const std::size_t at = data[i] | data[i + 1] << 8 | data[i + 2] << 16;
    bytes[places_[at % places_.size()]] = static_cast<char>(data[i + 3]);
  }
  return bytes;
}

std::vector<std::string> changes() {
  std::vector<std::string> texts;
  for (unsigned char start = 0; start < 64; ++start) {
    std::string text;
    for (unsigned char i = 0; i < 12; ++i) text += static_cast<char>(37 * start + 91 * i);
    texts.push_back(text);
  }
  return texts;
}

}  // namespace kevt::fuzz
