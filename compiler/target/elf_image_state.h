// What ElfImage holds; private to elf_*.cpp. Filled from the file by elf_image.cpp when it is
// opened, by elf_symbols.cpp, elf_go.cpp and elf_pointers.cpp when first asked for.
#pragma once

#include <elf.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/target/checked_bytes.h"
#include "compiler/target/eh_frame.h"
#include "compiler/target/elf_image.h"

namespace kevt::target {

// The file's bytes: a private read-only mapping, or a vector. A file that is truncated while it is
// mapped faults; the loader has the same problem, so it is not guarded against.
class FileBytes {
 public:
  static Result<FileBytes> map(const std::string& path);
  explicit FileBytes(std::vector<std::uint8_t> bytes) : owned_(std::move(bytes)), view_(owned_) {}
  FileBytes(FileBytes&& other) noexcept;
  FileBytes& operator=(FileBytes&&) = delete;
  ~FileBytes();
  CheckedBytes view() const { return CheckedBytes(view_); }

 private:
  FileBytes() = default;
  std::vector<std::uint8_t> owned_;
  void* mapped_ = nullptr;
  std::span<const std::uint8_t> view_;
};

struct ElfImage::State {
  explicit State(FileBytes file_bytes) : bytes(std::move(file_bytes)), file(bytes.view()) {}

  FileBytes bytes;
  CheckedBytes file;
  std::string path;
  Elf64_Ehdr header{};
  std::vector<Elf64_Phdr> segments;  // PT_LOAD only, ascending
  std::vector<Elf64_Shdr> sections;
  CheckedBytes section_names;
  std::vector<ImageRange> executable;
  std::unordered_map<std::int64_t, std::uint64_t> dynamic;  // first value of each DT_ tag
  std::string_view interpreter;
  std::optional<Elf64_Phdr> frame_header;  // PT_GNU_EH_FRAME

  // Of the dynamic section.
  std::optional<std::uint64_t> tag(std::int64_t wanted) const {
    const auto found = dynamic.find(wanted);
    return found == dynamic.end() ? std::nullopt : std::optional(found->second);
  }
  // Bytes mapped at `address`, to the end of its segment's file-backed part.
  CheckedBytes mapped(ImageAddr address) const;
  std::string_view name_of(const Elf64_Shdr& section) const { return section_names.text(section.sh_name); }
  const Elf64_Shdr* section_at(ImageAddr address) const;
  const Elf64_Shdr* find_section(std::string_view name) const;
  CheckedBytes contents(const Elf64_Shdr& section) const;

  void load_symbols();
  void append_go_functions();
  void load_frames();
  void load_functions();
  void load_landing_pads();
  void load_pointers();

  bool symbols_loaded = false;
  std::vector<ElfSymbol> symbols;  // ascending by address
  std::unordered_multimap<std::string_view, std::uint32_t> symbols_by_name;
  std::vector<std::uint64_t> reach;  // highest end address among symbols[0..i]

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
