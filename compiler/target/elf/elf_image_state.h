// What ElfImage holds; private to elf_*.cpp. Filled from the file by elf_image.cpp when it is
// opened, by elf_symbols.cpp, elf_go.cpp and elf_pointers.cpp when first asked for.
#pragma once

#include <elf.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/target/elf/checked_bytes.h"
#include "compiler/target/elf/eh_frame.h"
#include "compiler/target/elf/elf_image.h"
#include "compiler/target/elf/elf_sections.h"

namespace kevt::target {

struct ElfImage::State {
  // No list grows above this, whatever a file says.
  static constexpr std::size_t kMostEntries = 8 << 20;

  explicit State(std::shared_ptr<const FileContents> opened) : contents_(std::move(opened)), file(*contents_) {}
  explicit State(std::vector<std::uint8_t> bytes) : bytes_(std::move(bytes)), file(bytes_) {}

 private:
  std::shared_ptr<const FileContents> contents_;  // shared with other images of this file
  std::vector<std::uint8_t> bytes_;

 public:
  CheckedBytes file;
  std::string path;
  Elf64_Ehdr header{};
  std::vector<Elf64_Phdr> segments;  // PT_LOAD only, ascending
  ElfSections sections;
  std::vector<ImageRange> executable;             // what the file holds of it, ascending
  std::map<std::int64_t, std::uint64_t> dynamic;  // first value of each DT_ tag
  std::string_view interpreter;
  std::optional<Elf64_Phdr> frame_header;  // PT_GNU_EH_FRAME

  // Of the dynamic section.
  std::optional<std::uint64_t> tag(std::int64_t wanted) const {
    const auto found = dynamic.find(wanted);
    return found == dynamic.end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<Error> problem() const { return contents_ ? contents_->problem() : std::nullopt; }
  const Elf64_Phdr* segment_at(ImageAddr address) const;  // by its file-backed part
  // Bytes mapped at `address`, to the end of its segment's file-backed part.
  CheckedBytes mapped(ImageAddr address) const;
  const Elf64_Shdr* section_at(ImageAddr address) const;

  void add_symbol(ElfSymbol symbol);  // while there is room
  void load_symbols();
  void append_go_functions();
  void load_frames();
  void load_functions();
  void load_landing_pads();
  void load_pointers();

  std::optional<bool> is_go;  // once it was asked
  bool symbols_loaded = false;
  std::vector<ElfSymbol> symbols;  // ascending by address
  std::uint64_t name_bytes = 0;    // of all symbols: names may overlap, and are compared
  std::vector<std::pair<std::uint64_t, std::uint32_t>> symbols_by_name;  // hash and place, ascending
  std::vector<std::uint64_t> reach;                                      // highest end address among symbols[0..i]

  bool frames_loaded = false;
  std::vector<FrameRange> frames;
  bool landing_pads_loaded = false;
  std::vector<ImageAddr> landing_pads;
  bool functions_loaded = false;
  std::vector<FunctionRange> functions;
  bool pointers_loaded = false;
  std::vector<CodePointer> pointers;
};

// Of several names of one address the one to print: fewest leading underscores, strongest binding,
// shortest, alphabetically first. True where `a` is the better one.
bool plainer_name(const ElfSymbol& a, const ElfSymbol& b);

}  // namespace kevt::target
