// The section table, and the notes of one section.
//
//   e_shoff → {name, type, flags, address, offset, size, …} × count     count: e_shnum, or the first one's size
//   note      namesz | descsz | type | name, padded to 4 | desc, padded to 4
//
// A table ends where the file has a hole: 4 TiB of zeros are not 64 billion sections.
#include "compiler/target/elf/elf_sections.h"

#include <cstring>

namespace kevt::target {
namespace {

constexpr std::uint64_t kMostSections = 1 << 16;

std::uint64_t padded(std::uint64_t bytes) { return (bytes + 3) & ~std::uint64_t{3}; }

std::vector<std::uint8_t> build_id_in(CheckedBytes notes) {
  for (std::uint64_t at = 0;;) {
    const auto note = notes.read<Elf64_Nhdr>(at);
    if (!note) return {};
    const std::uint64_t name = at + sizeof *note, desc = name + padded(note->n_namesz);
    if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == sizeof ELF_NOTE_GNU && notes.text(name) == ELF_NOTE_GNU &&
        note->n_descsz > 0 && note->n_descsz <= kLongestBuildId) {
      const auto id = notes.part(desc, note->n_descsz);
      const auto bytes = id ? id->span() : std::span<const std::uint8_t>{};
      return {bytes.begin(), bytes.end()};
    }
    at = desc + padded(note->n_descsz);
  }
}

}  // namespace

Result<Elf64_Ehdr> read_elf_header(CheckedBytes file) {
  const auto refuse = [](const char* why) { return std::unexpected(Error(why)); };
  const auto ident = file.part(0, EI_NIDENT);
  const auto bytes = ident ? ident->span() : std::span<const std::uint8_t>{};
  if (bytes.empty() || std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0) return refuse("not an ELF file");
  if (bytes[EI_CLASS] != ELFCLASS64 || bytes[EI_DATA] != ELFDATA2LSB)
    return refuse("not a 64-bit little-endian ELF file");
  const auto header = file.read<Elf64_Ehdr>(0);
  if (!header) return refuse("truncated: the ELF header is not complete");
  return *header;
}

const Elf64_Shdr* ElfSections::find(std::string_view name) const {
  for (const Elf64_Shdr& section : headers) {
    if (name_of(section) == name) return &section;
  }
  return nullptr;
}

CheckedBytes ElfSections::contents(const Elf64_Shdr& section) const {
  if (section.sh_type == SHT_NOBITS) return {};
  return file.part(section.sh_offset, section.sh_size).value_or(CheckedBytes{});
}

ElfSections read_sections(CheckedBytes file, const Elf64_Ehdr& header) {
  ElfSections sections{.file = file, .headers = {}, .names_index = 0, .names = {}};
  if (header.e_shoff == 0 || header.e_shentsize != sizeof(Elf64_Shdr)) return sections;
  const auto first = file.read<Elf64_Shdr>(header.e_shoff);
  if (!first) return sections;
  const std::uint64_t count = header.e_shnum ? header.e_shnum : first->sh_size;
  if (count > kMostSections) return sections;
  const auto table = file.part(header.e_shoff, count * sizeof(Elf64_Shdr));
  if (!table || table->unbroken().size() != table->size()) return sections;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto section = table->read<Elf64_Shdr>(i * sizeof(Elf64_Shdr));
    if (!section) break;
    sections.headers.push_back(*section);
  }
  sections.names_index = header.e_shstrndx == SHN_XINDEX ? first->sh_link : header.e_shstrndx;
  if (sections.names_index < sections.headers.size())
    sections.names = sections.contents(sections.headers[sections.names_index]);
  return sections;
}

std::vector<std::uint8_t> build_id_of(const ElfSections& sections) {
  for (const Elf64_Shdr& section : sections.headers) {
    if (section.sh_type != SHT_NOTE) continue;
    if (auto id = build_id_in(sections.contents(section).unbroken()); !id.empty()) return id;
  }
  return {};
}

}  // namespace kevt::target
