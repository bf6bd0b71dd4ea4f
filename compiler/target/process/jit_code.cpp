// The image is an ELF file that nobody wrote: headers, the pages of code as segments, and symbols.
//
// A function has the symbol that a definition may name (jit_function_name) and the line's whole text, for stacks. When
// it was compiled several times, only the code whose line came last has the name; jit_versions() tells where the others
// are.
#include "compiler/target/process/jit_code.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "common/page.h"
#include "common/unique_fd.h"

namespace kevt::target {

namespace {

constexpr std::uint64_t kMostCode = std::uint64_t{512} << 20;
constexpr std::size_t kMostMapPieces = 1000;  // segments: ElfImage takes 1024
constexpr std::uint64_t kSmallGap = 64 << 10;

struct Piece {
  Mapping mapping;  // the part of a mapping that is copied
  std::vector<std::uint8_t> bytes;
};

// The pages of the mappings that hold entries. Entries elsewhere are dropped.
std::vector<Piece> pieces_for(std::vector<PerfMapEntry>& entries, const std::vector<Mapping>& maps) {
  std::vector<Piece> pieces;
  std::uint64_t bytes = 0;
  std::erase_if(entries, [&](const PerfMapEntry& entry) {
    const auto after = std::ranges::upper_bound(maps, entry.start, {}, &Mapping::start);
    if (after == maps.begin()) return true;
    const Mapping& home = *std::prev(after);
    if (!home.may_be_jit() || entry.end() > home.end) return true;
    const RemoteAddr begin{page_down(entry.start.value)};
    const RemoteAddr end{std::min(page_down(entry.end().value + kPage - 1), home.end.value)};
    if (!pieces.empty() && pieces.back().mapping.start >= home.start &&
        begin.value <= pieces.back().mapping.end.value + kSmallGap) {
      if (end <= pieces.back().mapping.end) return false;
      const auto more = static_cast<std::uint64_t>(end - pieces.back().mapping.end);
      if (bytes + more > kMostCode) return true;
      bytes += more;
      pieces.back().mapping.end = end;
      return false;
    }
    if (pieces.size() == kMostMapPieces || bytes + (end - begin) > kMostCode) return true;
    bytes += end - begin;
    pieces.push_back({.mapping = home, .bytes = {}});
    pieces.back().mapping.start = begin;
    pieces.back().mapping.end = end;
    return false;
  });
  return pieces;
}

// Pieces that cannot be read any more are dropped.
Result<void> copy_code(pid_t pid, std::vector<Piece>& pieces) {
  const std::string path = fmt::format("/proc/{}/mem", pid);
  const UniqueFd memory(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!memory) return std::unexpected(Error::from_errno("open " + path));
  std::erase_if(pieces, [&](Piece& piece) {
    const std::uint64_t start = piece.mapping.start.value;
    piece.bytes.resize(piece.mapping.end.value - start);
    for (std::size_t have = 0; have < piece.bytes.size();) {
      const ssize_t got =
          ::pread(memory.get(), piece.bytes.data() + have, piece.bytes.size() - have, static_cast<off_t>(start + have));
      if (got <= 0) return true;
      have += static_cast<std::size_t>(got);
    }
    return false;
  });
  return {};
}

class SymbolWriter {
 public:
  void add(const PerfMapEntry& entry, const std::string& name) {
    const std::size_t at = names_.size();
    names_ += name + '\0';
    symbols_.push_back({.st_name = static_cast<Elf64_Word>(at),
                        .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                        .st_other = 0,
                        .st_shndx = 1,
                        .st_value = entry.start.value,
                        .st_size = entry.size});
  }
  const std::vector<Elf64_Sym>& symbols() const { return symbols_; }
  const std::string& names() const { return names_; }

 private:
  std::vector<Elf64_Sym> symbols_{1};
  std::string names_ = std::string(1, '\0');
};

SymbolWriter symbols_for(const std::vector<PerfMapEntry>& entries) {
  std::map<std::string_view, const PerfMapEntry*> newest;
  for (const PerfMapEntry& entry : entries) {
    const PerfMapEntry*& known = newest[jit_identity(entry.name)];
    if (known == nullptr || known->line < entry.line) known = &entry;
  }
  SymbolWriter writer;
  for (const PerfMapEntry& entry : entries) {
    const std::string name = jit_function_name(entry.name);
    if (newest.at(jit_identity(entry.name)) == &entry && !name.empty() && name != entry.name) writer.add(entry, name);
    writer.add(entry, entry.name);
  }
  return writer;
}

class ImageWriter {
 public:
  template <class T>
  std::uint64_t put(const T* values, std::size_t count) {
    const std::uint64_t at = bytes_.size();
    const auto* from = reinterpret_cast<const std::uint8_t*>(values);
    bytes_.insert(bytes_.end(), from, from + count * sizeof(T));
    return at;
  }
  template <class T>
  void put_at(std::uint64_t at, const T& value) {
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }
  void align(std::uint64_t to) { bytes_.resize((bytes_.size() + to - 1) / to * to); }
  std::uint64_t size() const { return bytes_.size(); }
  std::vector<std::uint8_t> take() { return std::move(bytes_); }

 private:
  std::vector<std::uint8_t> bytes_;
};

std::vector<std::uint8_t> image_bytes(const std::vector<Piece>& pieces, const SymbolWriter& symbols) {
  constexpr std::string_view kNames{"\0.kevtrace.jit\0.symtab\0.strtab\0.shstrtab\0", 41};
  const auto name_of = [&](std::string_view name) { return static_cast<Elf64_Word>(kNames.find(name)); };
  ImageWriter writer;
  Elf64_Ehdr header{};
  writer.put(&header, 1);
  std::vector<Elf64_Phdr> segments(pieces.size());
  const std::uint64_t segments_at = writer.put(segments.data(), segments.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    writer.align(kPage);
    const std::uint64_t bytes = pieces[i].bytes.size(), start = pieces[i].mapping.start.value;
    segments[i] = {.p_type = PT_LOAD,
                   .p_flags = PF_R | PF_X,
                   .p_offset = writer.size(),
                   .p_vaddr = start,
                   .p_paddr = start,
                   .p_filesz = bytes,
                   .p_memsz = bytes,
                   .p_align = kPage};
    writer.put(pieces[i].bytes.data(), bytes);
    writer.put_at(segments_at + i * sizeof(Elf64_Phdr), segments[i]);
  }
  writer.align(8);
  std::vector<Elf64_Shdr> sections(5);
  sections[1] = {.sh_name = name_of(".kevtrace.jit"), .sh_type = SHT_PROGBITS, .sh_offset = writer.size()};
  const std::vector<Elf64_Sym>& table = symbols.symbols();
  sections[2] = {.sh_name = name_of(".symtab"),
                 .sh_type = SHT_SYMTAB,
                 .sh_offset = writer.put(table.data(), table.size()),
                 .sh_size = table.size() * sizeof(Elf64_Sym),
                 .sh_link = 3,
                 .sh_info = 1,
                 .sh_addralign = 8,
                 .sh_entsize = sizeof(Elf64_Sym)};
  sections[3] = {.sh_name = name_of(".strtab"),
                 .sh_type = SHT_STRTAB,
                 .sh_offset = writer.put(symbols.names().data(), symbols.names().size()),
                 .sh_size = symbols.names().size()};
  sections[4] = {.sh_name = name_of(".shstrtab"),
                 .sh_type = SHT_STRTAB,
                 .sh_offset = writer.put(kNames.data(), kNames.size()),
                 .sh_size = kNames.size()};
  writer.align(8);
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_EXEC;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof header;
  header.e_phoff = segments_at;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = static_cast<Elf64_Half>(pieces.size());
  header.e_shoff = writer.put(sections.data(), sections.size());
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<Elf64_Half>(sections.size());
  header.e_shstrndx = 4;
  writer.put_at(0, header);
  return writer.take();
}

}  // namespace

Result<std::optional<JitCode>> read_jit_code(pid_t pid, const std::vector<Mapping>& maps, const TextRestorer& restore) {
  const auto map = KEVT_TRY(read_perf_map(pid));
  if (!map) return std::optional<JitCode>();
  std::vector<PerfMapEntry> entries = parse_perf_map(map->text);
  if (entries.size() > kMostPerfMapEntries)
    return std::unexpected(Error(fmt::format("the perf map names more than {} functions", kMostPerfMapEntries)));
  std::vector<Piece> pieces = pieces_for(entries, maps);
  KEVT_TRY(copy_code(pid, pieces));
  if (pieces.empty()) return std::optional<JitCode>();
  if (restore)
    for (Piece& piece : pieces) restore(piece.mapping.start, piece.bytes);
  auto image = KEVT_TRY(ElfImage::from_bytes(image_bytes(pieces, symbols_for(entries)), "the JIT's code"));
  JitCode code{.version = map->version, .ranges = {}, .image = std::move(image)};
  for (Piece& piece : pieces) code.ranges.push_back(std::move(piece.mapping));
  return std::optional(std::move(code));
}

// A symbol's name is the line's whole text, or what a definition may call the function; the longer one is the line's.
std::optional<JitFunction> jit_function_at(const ElfImage& image, ImageAddr address) {
  const auto covering = image.symbol_covering(address);
  if (!covering) return std::nullopt;
  std::string_view line = covering->name;
  for (const ElfSymbol& symbol : std::ranges::equal_range(image.symbols(), covering->address, {}, &ElfSymbol::address))
    if (symbol.name.size() > line.size()) line = symbol.name;
  return JitFunction{.start = covering->address, .identity = jit_identity(line)};
}

std::vector<ImageAddr> jit_versions(const ElfImage& image, std::string_view identity) {
  std::vector<ImageAddr> places;
  for (const ElfSymbol& symbol : image.symbols())
    if (jit_identity(symbol.name) == identity && (places.empty() || places.back() != symbol.address))
      places.push_back(symbol.address);
  return places;
}

}  // namespace kevt::target
