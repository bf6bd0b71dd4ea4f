// The problem: symbols, frames, relocations, thread-local variables and markers (.note.stapsdt) are read from any
// program that is traced, which says what it likes.
//
// The idea: a real program with markers, of which bytes of these tables and of the headers are others (ChangedProgram).
// It is refused with a word, or all questions are asked of it: they end, and what they answer lies in the file.
#include "compiler/target/elf/elf_image.h"
#include "compiler/target/elf/source_names.h"
#include "compiler/target/elf/usdt.h"
#include "tests/fuzz/changed_program.h"
#include "tests/fuzz/fuzz_entry.h"

namespace {

using namespace kevt::target;
using kevt::fuzz::ChangedProgram;
using kevt::fuzz::require;

void ask_of_markers(const ElfImage& image) {
  const auto markers = read_usdt_markers(image);
  if (!markers) return require(!markers.error().message().empty());
  for (const UsdtMarker& marker : *markers) {
    const auto sites = usdt_sites(image, "/app", marker.provider, marker.name);
    require(sites ? !sites->empty()
                  : !sites.error().why.empty() || !sites.error().candidates.empty() ||
                        sites.error().failure == LookupFailure::NotFound);
  }
}

void ask(const ElfImage& image) {
  for (const ElfSymbol& symbol : image.symbols()) {
    (void)image.file_offset(symbol.address);
    (void)image.bytes_at(symbol.address, symbol.size);
    (void)source_name(symbol.name);
  }
  kevt::ImageAddr last{0};
  for (const FunctionRange& function : image.functions()) {
    require(function.size != 0 && last <= function.start);
    last = function.start;
  }
  (void)image.landing_pads();
  for (const CodePointer& pointer : image.code_pointers()) require(image.is_executable(pointer.target));
  (void)image.soname();
  (void)image.needed();
  (void)image.run_path();
  (void)image.interpreter();
  (void)image.is_go();
  (void)image.find_functions("main");
  (void)image.find_functions_of_source("main");
  (void)image.find_copies("main");
  (void)image.find_thread_locals("counter");
  (void)image.thread_local_words();
  (void)image.function_containing(image.entry());
  for (const ImageRange& range : image.executable_ranges()) {
    require(range.begin < range.end);
    (void)image.section_name(range.begin);
    (void)image.next_function_start(range.begin);
    (void)image.previous_function_end(range.end);
  }
  ask_of_markers(image);
}

bool is_a_table(std::string_view name) {
  for (const char* table : {".dynsym", ".dynstr", ".symtab", ".strtab", ".dynamic", ".rela.dyn", ".rela.plt",
                            ".eh_frame", ".eh_frame_hdr", ".note.stapsdt", ".gnu.version", ".gnu.version_d",
                            ".gnu.version_r", ".gnu.hash", ".gcc_except_table", ".interp"})
    if (name == table) return true;
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const ChangedProgram program(KEVT_MARKED_PROGRAM, is_a_table, ChangedProgram::Headers::Change);
  const std::string bytes = program.with(data, size);
  const auto image = ElfImage::from_bytes({bytes.begin(), bytes.end()}, "/app");
  if (image)
    ask(*image);
  else
    require(!image.error().message().empty());
  return 0;
}

std::vector<std::string> kevt::fuzz::seeds() { return changes(); }
