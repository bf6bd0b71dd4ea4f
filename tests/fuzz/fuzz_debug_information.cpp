// The problem: lines, variables and types are read from the debug information of any program, which says what it likes.
//
// The idea: a real program (lines.c, optimized) of which some bytes of the debug information, of the line table and of
// the frames are others (ChangedProgram). All questions are asked of it: they end, and what they answer can be used.
#include <sys/mman.h>
#include <unistd.h>

#include "compiler/pipeline/variable_path.h"
#include "compiler/target/elf/elf_image.h"
#include "compiler/target/types/debug_types.h"
#include "compiler/target/types/source_lines.h"
#include "compiler/target/types/source_places.h"
#include "tests/fuzz/changed_program.h"
#include "tests/fuzz/fuzz_entry.h"

namespace {

using namespace kevt::target;

using kevt::fuzz::ChangedProgram;
using kevt::fuzz::require;

bool is_debug_information(std::string_view name) { return name.starts_with(".debug_") || name == ".eh_frame"; }

void try_paths(const std::string& name, const LinePlace& place, const TypeTable& types) {
  for (const char* behind : {"", "->id", ".x", "[1]", "[1].x", "->next->label"})
    for (const char* type : {"", ":string", ":u32"})
      (void)kevt::pipeline::fetch_of_path(name + behind, type, place, types);
}

void ask(const std::string& path) {
  const auto image = ElfImage::open(path);
  require(image.has_value());
  SourcePlaces places(path);
  for (const char* source : {"lines.c", "area_of", "twice"}) {
    for (const std::uint32_t line : {1u, 30u, 42u, 49u}) {
      const auto found =
          places.find(*image, "/app", {.source = source, .line = line, .names = {"counter"}, .all_locals = true});
      if (!found) continue;
      require(!found->places.empty());
      for (const LinePlace& place : found->places)
        for (const SourceVariable& one : place.variables) {
          require(found->types->strip(one.type) < found->types->size());
          require(one.location.can_be_read() || !one.location.why.empty());
          try_paths(one.name, place, *found->types);
        }
    }
    const auto entry = places.find(*image, "/app", {.source = source, .all_locals = true, .at_entry = true});
    if (entry)
      for (const SourceVariable& one : entry->places.front().variables)
        try_paths(one.name, entry->places.front(), *entry->types);
    (void)places.list(*image, {.module = "m", .source = source, .from = 1, .to = 100});
  }
  DebugTypes types(path);
  for (const ElfSymbol& symbol : image->symbols())
    if (symbol.kind == SymbolKind::Function)
      if (const auto function = types.function_at(symbol.address, symbol.name))
        (void)function->table->prototype_text(function->prototype, symbol.name);
  (void)source_line(path, image->entry());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const ChangedProgram program(KEVT_LINES_PROGRAM, is_debug_information, ChangedProgram::Headers::Stay);
  const std::string bytes = program.with(data, size);
  const int file = memfd_create("kevt-fuzz", MFD_CLOEXEC);
  require(file >= 0 && write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  ask("/proc/self/fd/" + std::to_string(file));
  close(file);
  return 0;
}

std::vector<std::string> kevt::fuzz::seeds() { return changes(); }
