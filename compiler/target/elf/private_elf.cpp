// elfutils maps files, believes their counts, and unpacks what they say is packed.
//
//   private copy:  header | segments | .text NOBITS | .debug_info read | .debug_loc NOBITS | … | section table
//
// Here elfutils gets memory instead of a file: the copy that FileContents makes. Sections that nobody needs are made
// SHT_NOBITS in the copy, and are never read. The same happens to implausible sections: a section that is mostly a
// hole, or one that unpacks to more than 64 times its size. A table of headers that is not whole is removed.
#include "compiler/target/elf/private_elf.h"

#include <fmt/format.h>

#include <cstring>

namespace kevt::target {
namespace {

constexpr std::uint64_t kMostPacked = 64;  // debug information shrinks to a third, zeros to a thousandth
constexpr unsigned kMostSegmentHeaders = 1024;

bool is_packed(const Elf64_Shdr& header, std::string_view name) {
  return (header.sh_flags & SHF_COMPRESSED) != 0 || name.starts_with(".zdebug_");
}

// Bytes that libelf will allocate for a packed section; 0: it is not packed.
std::uint64_t unpacked_bytes(const Elf64_Shdr& header, std::string_view name, CheckedBytes bytes) {
  if (!is_packed(header, name)) return 0;
  if (header.sh_flags & SHF_COMPRESSED) {
    const auto packed = bytes.read<Elf64_Chdr>(0);
    return packed ? packed->ch_size : ~std::uint64_t{0};
  }
  const auto size = bytes.read<std::uint64_t>(4);  // behind "ZLIB", the highest byte first
  return size ? __builtin_bswap64(*size) : ~std::uint64_t{0};
}

bool is_there(const Elf64_Shdr& header, CheckedBytes bytes) {
  constexpr std::uint64_t kSmallHoles = 1 << 20;  // zeros that a copying program left out
  return bytes.size() == header.sh_size && bytes.size() - bytes.data_bytes() <= bytes.data_bytes() + kSmallHoles;
}

class Preparation {
 public:
  Preparation(FileContents& contents, const Elf64_Ehdr& header)
      : contents_(contents), file_(contents), header_(header), sections_(read_sections(file_, header)) {}

  // Reads the sections that stay.
  void keep_sections(const std::function<SectionUse(std::string_view)>& use_of) {
    for (std::size_t i = 0; i < sections_.headers.size(); ++i) {
      Elf64_Shdr& section = sections_.headers[i];
      const std::string_view name = sections_.name_of(section);
      const CheckedBytes bytes = sections_.contents(section);
      const SectionUse use = i == sections_.names_index ? SectionUse::Read : use_of(name);
      if (use == SectionUse::None || !is_there(section, bytes) || !can_unpack(section, name, bytes) ||
          (!may_wait(use, section, name) && bytes.span().size() != bytes.size())) {
        section.sh_type = SHT_NOBITS;
        section.sh_flags &= ~std::uint64_t{SHF_COMPRESSED};
      }
      put(header_.e_shoff + i * sizeof section, section);
    }
    if (!sections_.headers.empty()) return;
    header_.e_shoff = 0;
    header_.e_shnum = header_.e_shstrndx = 0;
  }
  // Segments are kept because they tell where the frames of a file without section headers are.
  void keep_segments() {
    const std::uint64_t bytes = std::uint64_t{header_.e_phnum} * sizeof(Elf64_Phdr);
    const auto table = file_.part(header_.e_phoff, bytes);
    const bool is_whole = table && header_.e_phnum <= kMostSegmentHeaders &&
                          header_.e_phentsize == sizeof(Elf64_Phdr) && table->unbroken().size() == bytes &&
                          table->span().size() == bytes;
    if (is_whole) return;
    header_.e_phoff = 0;
    header_.e_phnum = 0;
  }
  void put_header() { put(0, header_); }

 private:
  static bool may_wait(SectionUse use, const Elf64_Shdr& section, std::string_view name) {
    return use == SectionUse::ReadLater && !is_packed(section, name);
  }
  bool can_unpack(const Elf64_Shdr& section, std::string_view name, CheckedBytes bytes) {
    const std::uint64_t unpacked = unpacked_bytes(section, name, bytes);
    if (unpacked / kMostPacked > bytes.data_bytes() || unpacked > left_) return false;
    left_ -= unpacked;
    return true;
  }
  template <class T>
  void put(std::uint64_t at, const T& value) {
    std::memcpy(contents_.changeable().data() + at, &value, sizeof value);
  }

  FileContents& contents_;
  CheckedBytes file_;
  Elf64_Ehdr header_;
  ElfSections sections_;
  std::uint64_t left_ = FileContents::default_limits().read_bytes;  // bytes that libelf may still allocate
};

}  // namespace

Result<OpenElf> open_private_elf(FileContents& contents, const std::function<SectionUse(std::string_view)>& use_of) {
  const auto header = read_elf_header(CheckedBytes(contents));
  if (!header) return std::unexpected(Error(header.error()).while_doing("reading `" + contents.name() + "`"));
  Preparation preparation(contents, *header);
  preparation.keep_sections(use_of);
  preparation.keep_segments();
  preparation.put_header();
  if (auto problem = contents.problem()) return std::unexpected(std::move(*problem));
  elf_version(EV_CURRENT);
  const std::span<std::uint8_t> bytes = contents.changeable();
  OpenElf elf(elf_memory(reinterpret_cast<char*>(bytes.data()), bytes.size()));
  if (!elf || elf_kind(elf.get()) != ELF_K_ELF)
    return std::unexpected(Error(fmt::format("`{}` is damaged: {}", contents.name(), elf_errmsg(-1))));
  return elf;
}

}  // namespace kevt::target
