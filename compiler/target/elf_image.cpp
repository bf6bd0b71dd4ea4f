// Opening an ELF file and finding one's way in it: headers, segments, sections, dynamic section.
//
// Only the headers are looked at when a file is opened; nothing in them is believed before it is
// checked against the file's size, since a probe definition may name any file. Everything later
// (elf_symbols.cpp, elf_pointers.cpp) reads through CheckedBytes and so needs no trust either.
// Example: libc.so.6 has 4 PT_LOAD segments; the one with PF_X maps file offset 0x26000 at 0x26000.
// Not done: 32-bit and big-endian files, relocatable objects, separate debug files.
#include "compiler/target/elf_image.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "common/unique_fd.h"
#include "compiler/target/elf_image_state.h"

namespace kevt::target {
namespace {

std::unexpected<Error> refuse(std::string why) { return std::unexpected(Error(std::move(why))); }

Result<Elf64_Ehdr> read_header(CheckedBytes file) {
  const auto ident = file.part(0, EI_NIDENT);
  if (!ident || std::memcmp(ident->span().data(), ELFMAG, SELFMAG) != 0) return refuse("not an ELF file");
  if (ident->span()[EI_CLASS] != ELFCLASS64 || ident->span()[EI_DATA] != ELFDATA2LSB) {
    return refuse("not a 64-bit little-endian ELF file");
  }
  const auto header = file.read<Elf64_Ehdr>(0);
  if (!header) return refuse("truncated: the ELF header is not complete");
  if (header->e_machine != EM_X86_64) return refuse(fmt::format("not x86-64 code (ELF machine {})", header->e_machine));
  if (header->e_type != ET_EXEC && header->e_type != ET_DYN) {
    return refuse("neither a program nor a shared library (an object or core file)");
  }
  if (header->e_phentsize != sizeof(Elf64_Phdr)) return refuse("damaged: odd size of program headers");
  return *header;
}

// Stops at 2^48: no x86-64 image can be larger, and sums below it cannot overflow.
bool sane_segment(const Elf64_Phdr& segment, CheckedBytes file) {
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 48;
  return file.holds(segment.p_offset, segment.p_filesz) && segment.p_vaddr < kLimit && segment.p_memsz < kLimit &&
         segment.p_filesz <= segment.p_memsz;
}

}  // namespace

Result<FileBytes> FileBytes::map(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return std::unexpected(Error::from_errno("open " + path));
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return std::unexpected(Error::from_errno("stat " + path));
  if (!S_ISREG(status.st_mode)) return refuse("`" + path + "` is not a regular file");
  FileBytes bytes;
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return bytes;
  void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (mapped == MAP_FAILED) return std::unexpected(Error::from_errno("map " + path));
  bytes.mapped_ = mapped;
  bytes.view_ = {static_cast<const std::uint8_t*>(mapped), size};
  return bytes;
}

FileBytes::FileBytes(FileBytes&& other) noexcept
    : owned_(std::move(other.owned_)),
      mapped_(std::exchange(other.mapped_, nullptr)),
      view_(std::exchange(other.view_, {})) {}

FileBytes::~FileBytes() {
  if (mapped_) ::munmap(mapped_, view_.size());
}

CheckedBytes ElfImage::State::mapped(ImageAddr address) const {
  for (const Elf64_Phdr& segment : segments) {
    if (address.value < segment.p_vaddr || address.value - segment.p_vaddr >= segment.p_filesz) continue;
    const std::uint64_t inside = address.value - segment.p_vaddr;
    return file.part(segment.p_offset + inside, segment.p_filesz - inside).value_or(CheckedBytes{});
  }
  return {};
}

const Elf64_Shdr* ElfImage::State::section_at(ImageAddr address) const {
  for (const Elf64_Shdr& section : sections) {
    const bool covers = address.value >= section.sh_addr && address.value - section.sh_addr < section.sh_size;
    if ((section.sh_flags & SHF_ALLOC) && !(section.sh_flags & SHF_TLS) && covers) return &section;
  }
  return nullptr;
}

const Elf64_Shdr* ElfImage::State::find_section(std::string_view name) const {
  for (const Elf64_Shdr& section : sections) {
    if (name_of(section) == name) return &section;
  }
  return nullptr;
}

CheckedBytes ElfImage::State::contents(const Elf64_Shdr& section) const {
  if (section.sh_type == SHT_NOBITS) return {};
  return file.part(section.sh_offset, section.sh_size).value_or(CheckedBytes{});
}

namespace {

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
    if (segment->p_flags & PF_X && segment->p_filesz > 0) {
      state.executable.push_back({{segment->p_vaddr}, {segment->p_vaddr + segment->p_filesz}});
    }
  }
  if (state.segments.empty()) return refuse("damaged: nothing in it is loaded");
  std::ranges::stable_sort(state.segments, {}, &Elf64_Phdr::p_vaddr);
  std::ranges::stable_sort(state.executable, {}, &ImageRange::begin);
  return {};
}

// Sections are optional (a loader needs none): damaged headers mean no sections.
void read_sections(ElfImage::State& state) {
  const Elf64_Ehdr& header = state.header;
  if (header.e_shoff == 0 || header.e_shentsize != sizeof(Elf64_Shdr)) return;
  const auto first = state.file.read<Elf64_Shdr>(header.e_shoff);
  if (!first) return;
  const std::uint64_t count = header.e_shnum ? header.e_shnum : first->sh_size;
  const std::uint64_t names = header.e_shstrndx == SHN_XINDEX ? first->sh_link : header.e_shstrndx;
  if (count > state.file.size() / sizeof(Elf64_Shdr)) return;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto section = state.file.read<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr));
    if (!section) break;
    state.sections.push_back(*section);
  }
  if (names < state.sections.size()) state.section_names = state.contents(state.sections[names]);
}

Result<void> read_dynamic(ElfImage::State& state, const Elf64_Phdr& segment) {
  const auto table = state.file.part(segment.p_offset, segment.p_filesz);
  if (!table) return refuse("truncated: the dynamic section lies outside the file");
  for (std::uint64_t at = 0;; at += sizeof(Elf64_Dyn)) {
    const auto entry = table->read<Elf64_Dyn>(at);
    if (!entry || entry->d_tag == DT_NULL) return {};
    state.dynamic.emplace(entry->d_tag, entry->d_un.d_val);
  }
}

Result<void> fill(ElfImage::State& state) {
  auto header = read_header(state.file);
  if (!header) return std::unexpected(std::move(header.error()));
  state.header = *header;
  std::vector<Elf64_Phdr> others;
  if (auto read = read_segments(state, others); !read) return read;
  read_sections(state);
  for (const Elf64_Phdr& segment : others) {
    if (segment.p_type == PT_INTERP) state.interpreter = state.file.text(segment.p_offset);
    if (segment.p_type == PT_GNU_EH_FRAME) state.frame_header = segment;
    if (segment.p_type != PT_DYNAMIC) continue;
    if (auto read = read_dynamic(state, segment); !read) return read;
  }
  return {};
}

}  // namespace

ElfImage::ElfImage(std::unique_ptr<State> state) : state_(std::move(state)) {}
ElfImage::ElfImage(ElfImage&&) noexcept = default;
ElfImage& ElfImage::operator=(ElfImage&&) noexcept = default;
ElfImage::~ElfImage() = default;

Result<ElfImage> ElfImage::open(const std::string& path) {
  auto bytes = FileBytes::map(path);
  if (!bytes) return std::unexpected(std::move(bytes.error()));
  auto state = std::make_unique<State>(std::move(*bytes));
  state->path = path;
  if (auto filled = fill(*state); !filled) {
    return std::unexpected(std::move(filled.error()).while_doing("reading `" + path + "`"));
  }
  return ElfImage(std::move(state));
}

Result<ElfImage> ElfImage::from_bytes(std::vector<std::uint8_t> bytes, const std::string& name) {
  auto state = std::make_unique<State>(FileBytes(std::move(bytes)));
  state->path = name;
  if (auto filled = fill(*state); !filled) {
    return std::unexpected(std::move(filled.error()).while_doing("reading `" + name + "`"));
  }
  return ElfImage(std::move(state));
}

const std::string& ElfImage::path() const { return state_->path; }
std::string_view ElfImage::interpreter() const { return state_->interpreter; }
ImageAddr ElfImage::entry() const { return {state_->header.e_entry}; }
bool ElfImage::is_position_independent() const { return state_->header.e_type == ET_DYN; }

std::string_view ElfImage::soname() const {
  const auto name = state_->dynamic.find(DT_SONAME);
  const auto strings = state_->dynamic.find(DT_STRTAB);
  if (name == state_->dynamic.end() || strings == state_->dynamic.end()) return {};
  return state_->mapped({strings->second}).text(name->second);
}

bool ElfImage::is_go() const {
  return state_->find_section(".go.buildinfo") != nullptr || state_->find_section(".gopclntab") != nullptr;
}

bool ElfImage::is_program() const {
  if (!is_position_independent()) return true;
  const auto flags = state_->dynamic.find(DT_FLAGS_1);
  if (flags != state_->dynamic.end() && (flags->second & DF_1_PIE)) return true;
  return !interpreter().empty() && soname().empty();
}

std::optional<FileOffset> ElfImage::file_offset(ImageAddr address) const {
  for (const Elf64_Phdr& segment : state_->segments) {
    if (address.value < segment.p_vaddr || address.value - segment.p_vaddr >= segment.p_filesz) continue;
    return FileOffset{segment.p_offset + (address.value - segment.p_vaddr)};
  }
  return std::nullopt;
}

std::optional<ImageAddr> ElfImage::image_addr(FileOffset offset) const {
  // Pages at segment borders are in the file once and mapped twice: the executable one is meant.
  std::optional<ImageAddr> found;
  for (const Elf64_Phdr& segment : state_->segments) {
    if (offset.value < segment.p_offset || offset.value - segment.p_offset >= segment.p_filesz) continue;
    if (!found || (segment.p_flags & PF_X)) found = ImageAddr{segment.p_vaddr + (offset.value - segment.p_offset)};
  }
  return found;
}

std::span<const std::uint8_t> ElfImage::bytes_at(ImageAddr address, std::uint64_t length) const {
  const std::span<const std::uint8_t> all = state_->mapped(address).span();
  return all.first(std::min<std::uint64_t>(length, all.size()));
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
  return section ? state_->name_of(*section) : std::string_view{};
}

std::optional<ImageRange> ElfImage::section_range(ImageAddr address) const {
  const Elf64_Shdr* section = state_->section_at(address);
  if (!section) return std::nullopt;
  return ImageRange{{section->sh_addr}, {section->sh_addr + section->sh_size}};
}

std::optional<ImageRange> ElfImage::find_section(std::string_view name) const {
  const Elf64_Shdr* section = state_->find_section(name);
  if (!section || !(section->sh_flags & SHF_ALLOC)) return std::nullopt;
  return ImageRange{{section->sh_addr}, {section->sh_addr + section->sh_size}};
}

bool ElfImage::is_mapped(ImageAddr address) const {
  return std::ranges::any_of(state_->segments, [&](const Elf64_Phdr& segment) {
    return address.value >= segment.p_vaddr && address.value - segment.p_vaddr < segment.p_memsz;
  });
}

}  // namespace kevt::target
