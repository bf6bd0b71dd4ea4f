// Tests: a core file with the text of a kernel that is not there.
#pragma once

#include <elf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "compiler/target/kernel/kernel_text.h"

namespace kevt::target {

inline constexpr std::uint64_t kKernelBase = 0xffffffff81000000;

// A core file with one segment, as /proc/kcore has: `memory` at kKernelBase.
class CoreFile {
 public:
  explicit CoreFile(const std::string& memory) {
    Elf64_Ehdr header = {};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_phoff = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = 1;
    Elf64_Phdr segment = {};
    segment.p_type = PT_LOAD;
    segment.p_vaddr = kKernelBase;
    segment.p_memsz = memory.size();
    segment.p_offset = sizeof header + sizeof segment;
    const int fd = mkstemp(name_);
    EXPECT_EQ(::write(fd, &header, sizeof header), static_cast<ssize_t>(sizeof header));
    EXPECT_EQ(::write(fd, &segment, sizeof segment), static_cast<ssize_t>(sizeof segment));
    EXPECT_EQ(::write(fd, memory.data(), memory.size()), static_cast<ssize_t>(memory.size()));
    ::close(fd);
  }
  CoreFile(const CoreFile&) = delete;
  CoreFile& operator=(const CoreFile&) = delete;
  ~CoreFile() { ::unlink(name_); }
  const char* name() const { return name_; }
  KernelText text() const { return *KernelText::open(name_); }

 private:
  char name_[32] = "/tmp/kevt-core-XXXXXX";
};

}  // namespace kevt::target
