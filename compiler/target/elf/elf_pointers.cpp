// Which words of an image's data point to code: the evidence for indirect jumps.
//
// A jump through an 8-byte table (`jmp *table(,%rax,8)`, computed goto, vtables) can only reach what
// some word of the data holds. In position independent images each such word needs a relocation
// (R_X86_64_RELATIVE, R_X86_64_64, RELR), so the list is complete. Other programs are linked at fixed
// addresses and have none: there every aligned word whose value lies in an executable range is taken,
// which can only name too many.
// Not done: pointers that a program computes at run time.
#include <algorithm>

#include "compiler/target/elf/elf_image_state.h"

namespace kevt::target {
namespace {

constexpr std::size_t kMostPointers = 64 << 20;  // 1 GiB of memory, for 512 MiB of relocated words

class PointerCollector {
 public:
  explicit PointerCollector(ElfImage::State& state) : state_(state), words_(2 * state.file.data_bytes() / 8) {}

  void add_rela() {
    const auto table = state_.tag(DT_RELA);
    const auto size = state_.tag(DT_RELASZ);
    if (!table || !size) return;
    const CheckedBytes bytes = table_of(*table, *size);
    const CheckedBytes symbols = state_.mapped({state_.tag(DT_SYMTAB).value_or(0)});
    for (std::uint64_t at = 0;; at += sizeof(Elf64_Rela)) {
      const auto entry = bytes.read<Elf64_Rela>(at);
      if (!entry) return;
      const auto addend = static_cast<std::uint64_t>(entry->r_addend);
      const std::uint64_t type = ELF64_R_TYPE(entry->r_info);
      if (type == R_X86_64_RELATIVE || type == R_X86_64_IRELATIVE) add(entry->r_offset, addend);
      if (type != R_X86_64_64) continue;
      const auto symbol = symbols.read<Elf64_Sym>(ELF64_R_SYM(entry->r_info) * sizeof(Elf64_Sym));
      if (symbol && symbol->st_shndx != SHN_UNDEF) add(entry->r_offset, symbol->st_value + addend);
    }
  }
  void add_relr() {
    const auto table = state_.tag(kRelr);
    const auto size = state_.tag(kRelrSize);
    if (!table || !size) return;
    const CheckedBytes bytes = table_of(*table, *size);
    std::uint64_t slot = 0;
    for (std::uint64_t at = 0;; at += 8) {
      const auto entry = bytes.read<std::uint64_t>(at);
      if (!entry) return;
      if (!(*entry & 1)) {
        add_word(*entry);
        slot = *entry + 8;
        continue;
      }
      for (unsigned bit = 1; bit < 64; ++bit) {
        if (*entry >> bit & 1) add_word(slot + (bit - 1) * 8);
      }
      slot += 63 * 8;
    }
  }
  void add_all_words() {
    for (const Elf64_Phdr& segment : state_.segments) {
      if (segment.p_flags & PF_X) continue;
      const CheckedBytes bytes = state_.mapped({segment.p_vaddr});
      std::uint64_t end = 0;
      for (std::uint64_t begin = bytes.data_from(0); begin < bytes.size(); begin = bytes.data_from(end)) {
        end = bytes.hole_from(begin);
        add_words(bytes, segment.p_vaddr, begin, end);
      }
    }
  }

 private:
  CheckedBytes table_of(std::uint64_t address, std::uint64_t size) const {
    const CheckedBytes rest = state_.mapped({address});
    return rest.part(0, std::min(rest.size(), size))->unbroken().loaded();
  }
  void add(std::uint64_t slot, std::uint64_t target) {
    const ImageAddr to{target};
    const auto after = std::ranges::upper_bound(state_.executable, to, {}, &ImageRange::begin);
    if (after == state_.executable.begin() || !std::prev(after)->contains(to)) return;
    if (state_.pointers.size() < kMostPointers) state_.pointers.push_back({{slot}, to});
  }
  void add_words(CheckedBytes bytes, std::uint64_t address, std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t at = begin + (-(address + begin) & 7); at + 8 <= end && takes_word(); at += 8) {
      const auto value = bytes.read<std::uint64_t>(at);
      if (!value) return;
      add(address + at, *value);
    }
  }
  // Takes one of the words that a file of this size can hold: in a damaged file segments or pieces of RELR overlap, and
  // the same words would be read again and again.
  bool takes_word() { return words_ != 0 && words_-- != 0; }

  // DT_RELR, DT_RELRSZ: newer than this machine's elf.h may be.
  static constexpr std::int64_t kRelr = 36;
  static constexpr std::int64_t kRelrSize = 35;

  void add_word(std::uint64_t slot) {
    if (!takes_word()) return;
    if (const auto value = state_.mapped({slot}).read<std::uint64_t>(0)) add(slot, *value);
  }
  ElfImage::State& state_;
  std::uint64_t words_;
};

}  // namespace

void ElfImage::State::load_pointers() {
  if (pointers_loaded) return;
  pointers_loaded = true;
  PointerCollector collector(*this);
  collector.add_rela();
  collector.add_relr();
  if (header.e_type == ET_EXEC) collector.add_all_words();
  std::ranges::stable_sort(pointers, {}, &CodePointer::target);
}

const std::vector<CodePointer>& ElfImage::code_pointers() const {
  state_->load_pointers();
  return state_->pointers;
}

}  // namespace kevt::target
