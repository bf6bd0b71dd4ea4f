// The functions of a Go program from its own table, .gopclntab. Stripping the symbols leaves this table, because the
// runtime needs it to unwind (runtime/symtab.go, pcHeader; cmd/link/internal/ld/pcln.go).
//
//   header   magic u32, two zero bytes, code quantum, pointer size (8), then words: functions, files,
//            from 1.18 on the address of runtime.text, and where the parts begin: names, …, functions
//   functions, in order: where each starts and where its record is; one more start ends the last
//            1.16: words, the start an address; from 1.18 on 32 bits, the start counted from runtime.text
//   record   the start again, then 32 bits: the name's place among the names
//
// Names are those of the linker without the suffix of the calling convention: runtime.clone, not runtime.clone.abi0.
#include <algorithm>

#include "compiler/target/elf/elf_image_state.h"

namespace kevt::target {
namespace {

constexpr std::uint32_t kMagic116 = 0xfffffffa, kMagic118 = 0xfffffff0, kMagic120 = 0xfffffff1;
constexpr std::uint64_t kFirstWord = 8;

class GoFunctions {
 public:
  GoFunctions(CheckedBytes table, std::uint64_t text) : table_(table), text_(text) {}

  // False: the table has an unknown layout.
  bool read_header() {
    const auto magic = table_.read<std::uint32_t>(0);
    if (!magic || table_.read<std::uint8_t>(7) != sizeof(std::uint64_t)) return false;
    has_text_ = *magic == kMagic118 || *magic == kMagic120;
    if (!has_text_ && *magic != kMagic116) return false;
    is_guessed_ = has_text_ && word(2).value_or(0) == 0;
    if (has_text_ && !is_guessed_) text_ = *word(2);
    const auto names = word(has_text_ ? 3 : 2), functions = word(has_text_ ? 7 : 6);
    if (!word(0) || !names || !functions || *functions > table_.size() || *names > table_.size()) return false;
    count_ = *word(0);
    names_ = *table_.part(*names, table_.size() - *names);
    functions_ = table_.part(*functions, table_.size() - *functions)->unbroken();
    return true;
  }

  // The table does not say where runtime.text begins, so the start of .text was taken. C's start-up code may lie in
  // between.
  bool text_is_guessed() const { return is_guessed_; }

  void append_to(ElfImage::State& state) const {
    for (std::uint64_t i = 0; i < count_; ++i) {
      const auto start = number(2 * i), record = number(2 * i + 1), end = number(2 * i + 2);
      if (!start || !record || !end) return;
      const auto name_at = functions_.read<std::uint32_t>(*record + (has_text_ ? 4 : 8));
      const std::string_view name = name_at ? names_.text(*name_at) : std::string_view();
      if (name.empty() || *end <= *start) continue;
      state.add_symbol({.name = name,
                        .version = {},
                        .address = {*start + (has_text_ ? text_ : 0)},
                        .size = *end - *start,
                        .kind = SymbolKind::Function,
                        .binding = SymbolBinding::Local});
    }
  }

 private:
  std::optional<std::uint64_t> word(std::uint64_t index) const {
    return table_.read<std::uint64_t>(kFirstWord + 8 * index);
  }
  // Entry `index` of the list of functions.
  std::optional<std::uint64_t> number(std::uint64_t index) const {
    if (!has_text_) return functions_.read<std::uint64_t>(8 * index);
    return functions_.read<std::uint32_t>(4 * index);
  }

  CheckedBytes table_, names_, functions_;
  std::uint64_t text_ = 0, count_ = 0;
  bool has_text_ = false, is_guessed_ = false;
};

}  // namespace

void ElfImage::State::append_go_functions() {
  for (const char* name : {".gopclntab", ".data.rel.ro.gopclntab"}) {
    const Elf64_Shdr* section = sections.find(name);
    const Elf64_Shdr* text = sections.find(".text");
    if (!section || !text) continue;
    GoFunctions functions(sections.contents(*section), text->sh_addr);
    const std::size_t before = symbols.size();
    if (functions.read_header()) functions.append_to(*this);
    const auto is_entry = [this](const ElfSymbol& s) {
      return s.name == "_rt0_amd64_linux" && s.address.value == header.e_entry;
    };
    const auto ours = symbols.begin() + static_cast<std::ptrdiff_t>(before);
    if (functions.text_is_guessed() && std::none_of(ours, symbols.end(), is_entry)) symbols.resize(before);
  }
}

}  // namespace kevt::target
