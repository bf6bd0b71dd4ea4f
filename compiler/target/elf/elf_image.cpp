// Opening an ELF file and finding one's way in it: headers, segments, sections, dynamic section.
//
// Only the headers are read when a file is opened. A probe definition may name any file, so every number in the headers
// is checked against the bytes that the file has before it is used. All later reads (elf_symbols.cpp, elf_pointers.cpp)
// go through CheckedBytes, from a copy in private memory, and so trust the file no more; lists stop growing at
// kMostEntries.
// Example: libc.so.6 has 4 PT_LOAD segments; the one with PF_X maps file offset 0x26000 at 0x26000.
// Not done: 32-bit and big-endian files, relocatable objects, separate debug files.
#include "compiler/target/elf/elf_image.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "compiler/target/elf/elf_image_state.h"

namespace kevt::target {
namespace {

constexpr unsigned kMostSegments = 1024;  // the kernel loads programs with 73 at most
constexpr std::size_t kMostPieces = 4096;
constexpr std::size_t kMostDynamicEntries = 1 << 16;

std::unexpected<Error> refuse(std::string why) { return std::unexpected(Error(std::move(why))); }

Result<Elf64_Ehdr> read_header(CheckedBytes file) {
  auto header = read_elf_header(file);
  if (!header) return header;
  if (header->e_machine != EM_X86_64) return refuse(fmt::format("not x86-64 code (ELF machine {})", header->e_machine));
  if (header->e_type != ET_EXEC && header->e_type != ET_DYN) {
    return refuse("neither a program nor a shared library (an object or core file)");
  }
  if (header->e_phentsize != sizeof(Elf64_Phdr)) return refuse("damaged: odd size of program headers");
  if (header->e_phnum > kMostSegments)
    return refuse(fmt::format("damaged: {} program headers, which no system loads", header->e_phnum));
  return header;
}

// Stops at 2^48: no x86-64 image can be larger, and sums below it cannot overflow.
bool sane_segment(const Elf64_Phdr& segment, CheckedBytes file) {
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 48;
  return file.holds(segment.p_offset, segment.p_filesz) && segment.p_vaddr < kLimit && segment.p_memsz < kLimit &&
         segment.p_filesz <= segment.p_memsz;
}

}  // namespace

// Segments do not overlap. In a damaged file they may, and then some are not found.
const Elf64_Phdr* ElfImage::State::segment_at(ImageAddr address) const {
  constexpr int kTries = 4;
  auto after = std::ranges::upper_bound(segments, address.value, {}, &Elf64_Phdr::p_vaddr);
  for (int tries = 0; tries < kTries && after != segments.begin(); ++tries) {
    --after;
    if (address.value - after->p_vaddr < after->p_filesz) return &*after;
  }
  return nullptr;
}

CheckedBytes ElfImage::State::mapped(ImageAddr address) const {
  const Elf64_Phdr* segment = segment_at(address);
  if (!segment) return {};
  const std::uint64_t inside = address.value - segment->p_vaddr;
  return file.part(segment->p_offset + inside, segment->p_filesz - inside).value_or(CheckedBytes{});
}

const Elf64_Shdr* ElfImage::State::section_at(ImageAddr address) const {
  for (const Elf64_Shdr& section : sections.headers) {
    const bool covers = address.value >= section.sh_addr && address.value - section.sh_addr < section.sh_size;
    if ((section.sh_flags & SHF_ALLOC) && !(section.sh_flags & SHF_TLS) && covers) return &section;
  }
  return nullptr;
}

namespace {

// Leaves out holes, which hold no code: a search for jumps in 4 TiB of zeros would not end.
Result<void> add_executable(ElfImage::State& state, const Elf64_Phdr& segment) {
  const CheckedBytes bytes = state.file.part(segment.p_offset, segment.p_filesz).value_or(CheckedBytes{});
  for (std::uint64_t at = bytes.data_from(0); at < bytes.size(); at = bytes.data_from(at)) {
    const std::uint64_t end = bytes.hole_from(at);
    if (state.executable.size() == kMostPieces)
      return refuse(fmt::format("damaged: its code lies in more than {} pieces", kMostPieces));
    state.executable.push_back({{segment.p_vaddr + at}, {segment.p_vaddr + end}});
    at = end;
  }
  return {};
}

Result<void> read_segments(ElfImage::State& state, std::vector<Elf64_Phdr>& others) {
  for (unsigned i = 0; i < state.header.e_phnum; ++i) {
    const auto segment = state.file.read<Elf64_Phdr>(state.header.e_phoff + std::uint64_t{i} * sizeof(Elf64_Phdr));
    if (!segment) return refuse("truncated: the program headers lie outside the file");
    if (segment->p_type != PT_LOAD) {
      others.push_back(*segment);
      continue;
    }
    if (!sane_segment(*segment, state.file))
      return refuse(fmt::format("truncated: segment {} lies outside the file", i));
    state.segments.push_back(*segment);
    if (segment->p_flags & PF_X) KEVT_TRY(add_executable(state, *segment));
  }
  if (state.segments.empty()) return refuse("damaged: nothing in it is loaded");
  std::ranges::stable_sort(state.segments, {}, &Elf64_Phdr::p_vaddr);
  std::ranges::stable_sort(state.executable, {}, &ImageRange::begin);
  return {};
}

Result<void> read_dynamic(ElfImage::State& state, const Elf64_Phdr& segment) {
  const auto table = state.file.part(segment.p_offset, segment.p_filesz);
  if (!table) return refuse("truncated: the dynamic section lies outside the file");
  for (std::size_t i = 0; i < kMostDynamicEntries; ++i) {
    const auto entry = table->read<Elf64_Dyn>(i * sizeof(Elf64_Dyn));
    if (!entry || entry->d_tag == DT_NULL) break;
    state.dynamic.emplace(entry->d_tag, entry->d_un.d_val);
    if (entry->d_tag == DT_NEEDED) state.needed.push_back(entry->d_un.d_val);
  }
  return {};
}

Result<void> fill(ElfImage::State& state) {
  state.header = KEVT_TRY(read_header(state.file));
  std::vector<Elf64_Phdr> others;
  KEVT_TRY(read_segments(state, others));
  state.sections = read_sections(state.file, state.header);
  for (const Elf64_Phdr& segment : others) {
    if (segment.p_type == PT_INTERP) state.interpreter = state.file.text(segment.p_offset);
    if (segment.p_type == PT_GNU_EH_FRAME) state.frame_header = segment;
    if (segment.p_type == PT_TLS) state.thread_local_segment = segment;
    if (segment.p_type != PT_DYNAMIC) continue;
    KEVT_TRY(read_dynamic(state, segment));
  }
  return {};
}

Result<std::unique_ptr<ElfImage::State>> filled(std::unique_ptr<ElfImage::State> state, const std::string& path) {
  state->path = path;
  auto read = fill(*state);
  if (auto problem = state->problem()) return std::unexpected(std::move(*problem));
  if (!read) return std::unexpected(std::move(read.error()).while_doing("reading `" + path + "`"));
  return state;
}

}  // namespace

ElfImage::ElfImage(std::unique_ptr<State> state) : state_(std::move(state)) {}
ElfImage::ElfImage(ElfImage&&) noexcept = default;
ElfImage& ElfImage::operator=(ElfImage&&) noexcept = default;
ElfImage::~ElfImage() = default;

Result<ElfImage> ElfImage::open(const std::string& path) {
  auto contents = KEVT_TRY(FileContents::open_shared(path));
  auto state = KEVT_TRY(filled(std::make_unique<State>(std::move(contents)), path));
  return ElfImage(std::move(state));
}

Result<ElfImage> ElfImage::from_bytes(std::vector<std::uint8_t> bytes, const std::string& name) {
  auto state = KEVT_TRY(filled(std::make_unique<State>(std::move(bytes)), name));
  return ElfImage(std::move(state));
}

std::optional<Error> ElfImage::problem() const { return state_->problem(); }
const std::string& ElfImage::path() const { return state_->path; }
std::string_view ElfImage::interpreter() const { return state_->interpreter; }
ImageAddr ElfImage::entry() const { return {state_->header.e_entry}; }
bool ElfImage::is_position_independent() const { return state_->header.e_type == ET_DYN; }

std::string_view ElfImage::State::dynamic_string(std::optional<std::uint64_t> at) const {
  const auto strings = tag(DT_STRTAB);
  return at && strings ? mapped({*strings}).text(*at) : std::string_view();
}

std::string_view ElfImage::soname() const { return state_->dynamic_string(state_->tag(DT_SONAME)); }

std::string_view ElfImage::run_path() const {
  const auto path = state_->tag(DT_RUNPATH);
  return state_->dynamic_string(path ? path : state_->tag(DT_RPATH));
}

std::vector<std::string_view> ElfImage::needed() const {
  std::vector<std::string_view> names;
  for (const std::uint64_t at : state_->needed)
    if (const std::string_view name = state_->dynamic_string(at); !name.empty()) names.push_back(name);
  return names;
}

bool ElfImage::is_jit() const { return state_->sections.find(".kevtrace.jit") != nullptr; }

bool ElfImage::is_go() const {
  if (!state_->is_go)
    state_->is_go = state_->sections.find(".go.buildinfo") != nullptr || state_->sections.find(".gopclntab") != nullptr;
  return *state_->is_go;
}

bool ElfImage::State::is_program() const {
  if (header.e_type != ET_DYN || (tag(DT_FLAGS_1).value_or(0) & DF_1_PIE) != 0) return true;
  return !interpreter.empty() && !tag(DT_SONAME);
}

bool ElfImage::is_program() const { return state_->is_program(); }

std::optional<FileOffset> ElfImage::file_offset(ImageAddr address) const {
  const Elf64_Phdr* segment = state_->segment_at(address);
  if (!segment) return std::nullopt;
  return FileOffset{segment->p_offset + (address.value - segment->p_vaddr)};
}

std::optional<ImageAddr> ElfImage::image_addr(FileOffset offset) const {
  // A page at the border of two segments is in the file once and mapped twice: the executable mapping is meant.
  std::optional<ImageAddr> found;
  for (const Elf64_Phdr& segment : state_->segments) {
    if (offset.value < segment.p_offset || offset.value - segment.p_offset >= segment.p_filesz) continue;
    if (!found || (segment.p_flags & PF_X)) found = ImageAddr{segment.p_vaddr + (offset.value - segment.p_offset)};
  }
  return found;
}

std::span<const std::uint8_t> ElfImage::bytes_at(ImageAddr address, std::uint64_t length) const {
  const CheckedBytes all = state_->mapped(address);
  return all.part(0, std::min(length, all.size()))->unbroken().span();
}

Result<void> ElfImage::read_text(ImageAddr address, std::span<std::uint8_t> out) const {
  const std::span<const std::uint8_t> bytes = bytes_at(address, out.size());
  if (bytes.size() < out.size()) {
    return refuse(fmt::format("`{}` has no {} bytes at {:#x}", path(), out.size(), address.value));
  }
  std::ranges::copy(bytes, out.begin());
  return {};
}

const std::vector<ImageRange>& ElfImage::executable_ranges() const { return state_->executable; }

bool ElfImage::is_executable(ImageAddr address) const {
  return std::ranges::any_of(state_->executable, [&](const ImageRange& range) { return range.contains(address); });
}

std::string_view ElfImage::section_name(ImageAddr address) const {
  const Elf64_Shdr* section = state_->section_at(address);
  return section ? state_->sections.name_of(*section) : std::string_view{};
}

std::optional<ImageRange> ElfImage::section_range(ImageAddr address) const {
  const Elf64_Shdr* section = state_->section_at(address);
  if (!section) return std::nullopt;
  return ImageRange{{section->sh_addr}, {section->sh_addr + section->sh_size}};
}

std::optional<ImageRange> ElfImage::find_section(std::string_view name) const {
  const Elf64_Shdr* section = state_->sections.find(name);
  if (!section || !(section->sh_flags & SHF_ALLOC)) return std::nullopt;
  return ImageRange{{section->sh_addr}, {section->sh_addr + section->sh_size}};
}

bool ElfImage::is_mapped(ImageAddr address) const {
  return std::ranges::any_of(state_->segments, [&](const Elf64_Phdr& segment) {
    return address.value >= segment.p_vaddr && address.value - segment.p_vaddr < segment.p_memsz;
  });
}

}  // namespace kevt::target
