// /proc/kcore is an ELF core file whose segments are the kernel's memory: a read at a segment's offset is a read of
// that memory. Only the headers and the bytes that are asked for are read.
#include "compiler/target/kernel/kernel_text.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstring>

namespace kevt::target {

namespace {

constexpr std::size_t kMaxSegments = 4096;

bool read_at(int fd, void* to, std::size_t bytes, std::uint64_t offset) {
  return ::pread(fd, to, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
}

}  // namespace

Result<KernelText> KernelText::open(const char* path) {
  KernelText text;
  text.file_ = UniqueFd(::open(path, O_RDONLY | O_CLOEXEC));
  if (!text.file_) return std::unexpected(Error::from_errno(path));
  Elf64_Ehdr header;
  if (!read_at(text.file_.get(), &header, sizeof header, 0) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr) ||
      header.e_phnum > kMaxSegments)
    return std::unexpected(Error(std::string(path) + " is not a core file"));
  std::vector<Elf64_Phdr> programs(header.e_phnum);
  if (!read_at(text.file_.get(), programs.data(), programs.size() * sizeof(Elf64_Phdr), header.e_phoff))
    return std::unexpected(Error(std::string(path) + " is cut short"));
  for (const Elf64_Phdr& program : programs)
    if (program.p_type == PT_LOAD) text.segments_.push_back({program.p_vaddr, program.p_memsz, program.p_offset});
  return text;
}

bool KernelText::read(std::uint64_t address, std::span<std::uint8_t> out) const {
  for (const Segment& segment : segments_) {
    if (address < segment.address || address - segment.address >= segment.size) continue;
    const std::uint64_t inside = address - segment.address;
    return out.size() <= segment.size - inside && read_at(file_.get(), out.data(), out.size(), segment.offset + inside);
  }
  return false;
}

}  // namespace kevt::target
