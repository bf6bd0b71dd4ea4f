// How the code of an image reaches its thread-local variables: the words that the dynamic linker fills in for it.
//
//   R_X86_64_TPOFF64    one word: the variable's distance from the thread pointer
//   R_X86_64_TLSDESC    two words: a function, and what it takes
//   R_X86_64_DTPMOD64   one word: the number of the image's module
//
// A relocation without a symbol, or with one that the image defines itself, is about the image's own block; others are
// about other files. What the words hold is in the process alone (process_thread_locals.cpp).
// Source: "ELF Handling For Thread-Local Storage" (Ulrich Drepper); "Thread-Local Storage Descriptors for IA32 and
// AMD64/EM64T" (Alexandre Oliva).
#include <algorithm>
#include <bit>

#include "compiler/target/elf/elf_image_state.h"

namespace kevt::target {

namespace {

constexpr std::size_t kMostWords = 4096;  // one is enough; more are of use where some cannot be read

std::optional<ThreadLocalWord::Holds> held_by(std::uint64_t type) {
  switch (type) {
    case R_X86_64_TPOFF64:
      return ThreadLocalWord::Holds::Distance;
    case R_X86_64_TLSDESC:
      return ThreadLocalWord::Holds::Descriptor;
    case R_X86_64_DTPMOD64:
      return ThreadLocalWord::Holds::Module;
  }
  return std::nullopt;
}

void append_words(const ElfImage::State& state, std::uint64_t table, std::uint64_t size,
                  std::vector<ThreadLocalWord>& words) {
  const CheckedBytes rest = state.mapped({table});
  const CheckedBytes entries = rest.part(0, std::min(rest.size(), size))->unbroken().loaded();
  const CheckedBytes symbols = state.mapped({state.tag(DT_SYMTAB).value_or(0)});
  for (std::uint64_t at = 0; words.size() < kMostWords; at += sizeof(Elf64_Rela)) {
    const auto entry = entries.read<Elf64_Rela>(at);
    if (!entry) return;
    const auto holds = held_by(ELF64_R_TYPE(entry->r_info));
    if (!holds) continue;
    auto variable = static_cast<std::uint64_t>(entry->r_addend);
    if (const std::uint64_t index = ELF64_R_SYM(entry->r_info); index != 0) {
      const auto symbol = symbols.read<Elf64_Sym>(index * sizeof(Elf64_Sym));
      if (!symbol || symbol->st_shndx == SHN_UNDEF) continue;
      variable += symbol->st_value;
    }
    words.push_back({*holds, {entry->r_offset}, variable});
  }
}

}  // namespace

std::vector<ThreadLocalWord> ElfImage::thread_local_words() const {
  std::vector<ThreadLocalWord> words;
  const auto add = [&](std::int64_t table, std::int64_t size) {
    const auto at = state_->tag(table), bytes = state_->tag(size);
    if (at && bytes) append_words(*state_, *at, *bytes, words);
  };
  add(DT_RELA, DT_RELASZ);
  if (state_->tag(DT_PLTREL) == DT_RELA) add(DT_JMPREL, DT_PLTRELSZ);
  return words;
}

std::uint64_t ElfImage::thread_local_bytes() const {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 31;
  const auto& segment = state_->thread_local_segment;
  if (!segment || segment->p_memsz > kMost || segment->p_align > kMost) return 0;
  const std::uint64_t align = std::max<std::uint64_t>(segment->p_align, 1);
  return std::has_single_bit(align) ? (segment->p_memsz + align - 1) & ~(align - 1) : 0;
}

}  // namespace kevt::target
