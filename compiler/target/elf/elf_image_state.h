// What ElfImage holds; private to elf_*.cpp. elf_image.cpp fills the headers and segments when the file is opened;
// elf_symbols.cpp, elf_go.cpp, elf_functions.cpp and elf_pointers.cpp fill the lists when they are first asked for.
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
  // No list has more entries, whatever a file says.
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
  std::vector<ImageRange> executable;             // executable parts that the file holds, ascending
  std::map<std::int64_t, std::uint64_t> dynamic;  // first value of each DT_ tag
  std::vector<std::uint64_t> needed;              // all values of DT_NEEDED
  std::string_view interpreter;
  std::optional<Elf64_Phdr> frame_header;  // PT_GNU_EH_FRAME
  std::optional<Elf64_Phdr> thread_local_segment;

  // The value of a tag of the dynamic section; nullopt: it has no such tag.
  std::optional<std::uint64_t> tag(std::int64_t wanted) const {
    const auto found = dynamic.find(wanted);
    return found == dynamic.end() ? std::nullopt : std::optional(found->second);
  }
  // The string at `at` of the dynamic section's strings; empty: it has none.
  std::string_view dynamic_string(std::optional<std::uint64_t> at) const;
  bool is_file() const { return contents_ != nullptr; }
  bool is_program() const;
  std::optional<Error> problem() const { return contents_ ? contents_->problem() : std::nullopt; }
  const Elf64_Phdr* segment_at(ImageAddr address) const;  // whose file-backed part covers `address`
  // Bytes mapped at `address`, to the end of its segment's file-backed part.
  CheckedBytes mapped(ImageAddr address) const;
  const Elf64_Shdr* section_at(ImageAddr address) const;

  void add_symbol(ElfSymbol symbol);                    // drops the symbol when a limit is reached
  void add_thread_local(ThreadLocalVariable variable);  // likewise
  void load_symbols();
  // False for the first questions, which look at each symbol; then puts `symbols_by_name` in order.
  bool is_ordered_by_name();
  void append_go_functions();
  bool append_debug_symbols();
  void load_frames();
  void load_functions();
  void load_landing_pads();
  void load_pointers();

  std::optional<bool> is_go;  // nullopt: not asked yet
  bool symbols_loaded = false;
  std::vector<ElfSymbol> symbols;  // ascending by address
  static constexpr std::size_t kMostThreadLocals = 1 << 16;
  std::vector<ThreadLocalVariable> thread_locals;
  std::shared_ptr<FileContents> symbol_file;  // another file that has them; or null
  std::uint64_t name_bytes = 0;  // length of all names, limited: overlapping names of a hostile file cost time
  std::uint64_t questions_for_names = 0;
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

// Whether `a` is better to print than `b`, another name of the same address: no hidden version, fewer leading
// underscores, stronger binding, shorter, alphabetically first.
bool plainer_name(const ElfSymbol& a, const ElfSymbol& b);

}  // namespace kevt::target
