// ElfImage: what one x86-64 ELF file (program or library) says of its functions and code.
//
// Addresses are link-time addresses (ImageAddr: st_value, p_vaddr). The file is read into a private copy;
// string_views and spans point into the copy and live as long as the image (moving the image is fine). Symbols,
// frame ranges and relocations are read when first asked for, so an image is cheap to open.
// Not thread safe; the const functions are not either (they fill caches).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/addresses.h"
#include "common/error.h"

namespace kevt::target {

enum class SymbolKind : std::uint8_t { Function, IFunc, Object };
enum class SymbolBinding : std::uint8_t { Local, Weak, Global };
enum class SymbolVersion : std::uint8_t {
  None,     // unversioned
  Default,  // NAME@@VERSION: what a new program links to
  Hidden,   // NAME@VERSION: kept for old programs
};

// One definition. Imported names (PLT entries) are no definitions and never appear.
struct ElfSymbol {
  std::string_view name;     // without the version
  std::string_view version;  // "GLIBC_2.34" or empty
  ImageAddr address;
  std::uint64_t size = 0;  // bytes; 0: the file does not say
  SymbolKind kind = SymbolKind::Function;
  SymbolBinding binding = SymbolBinding::Global;
  SymbolVersion versioning = SymbolVersion::None;
};

// A piece of code with one entry: a symbol with a size, or one frame description of .eh_frame.
struct FunctionRange {
  ImageAddr start;
  std::uint64_t size = 0;  // bytes, never 0
  std::string_view name;   // empty: known from .eh_frame only
  ImageAddr end() const { return start + size; }
};

struct ImageRange {
  ImageAddr begin;
  ImageAddr end;
  bool contains(ImageAddr a) const { return begin <= a && a < end; }
};

// A word of the image's data that will hold the address of `target` at run time.
struct CodePointer {
  ImageAddr slot;
  ImageAddr target;
};

// A variable of which each thread has its own copy.
struct ThreadLocalVariable {
  std::string_view name;
  std::uint64_t offset = 0;  // bytes from the start of the image's thread-local block
  std::uint64_t size = 0;
  bool is_local = false;  // `static`: other files do not mean it
};

// A word of the image's data that the dynamic linker fills in, for code that reaches thread-local variables by it.
struct ThreadLocalWord {
  enum class Holds : std::uint8_t {
    Distance,    // from the thread pointer to the variable
    Module,      // the number of the image's module
    Descriptor,  // a function, and in the next word what it takes: the distance, or where the module and offset are
  } holds = Holds::Distance;
  ImageAddr at;
  std::uint64_t variable = 0;  // Distance, Descriptor: its offset in the image's thread-local block
};

class ElfImage {
 public:
  struct State;  // private to elf_*.cpp

  // Refuses a file that is not a complete x86-64 ELF program or shared object; the error says what is wrong.
  static Result<ElfImage> open(const std::string& path);
  // Does the same with bytes in memory; errors call the file `name`.
  static Result<ElfImage> from_bytes(std::vector<std::uint8_t> bytes, const std::string& name);

  ElfImage(ElfImage&&) noexcept;
  ElfImage& operator=(ElfImage&&) noexcept;
  ~ElfImage();

  const std::string& path() const;
  // Why a read of the file failed after it was opened, e.g. the file changed. After a failure no answer of the image
  // can be trusted.
  std::optional<Error> problem() const;
  std::string_view soname() const;               // DT_SONAME, or empty
  std::vector<std::string_view> needed() const;  // DT_NEEDED: sonames of libraries
  std::string_view run_path() const;             // DT_RUNPATH, else DT_RPATH, or empty: folders with ':' between
  std::string_view interpreter() const;          // PT_INTERP, or empty
  ImageAddr entry() const;
  bool is_go() const;
  bool is_jit() const;                   // made by read_jit_code()
  bool is_position_independent() const;  // ET_DYN: its pointers are relocated
  bool is_program() const;               // an executable, not a library

  std::optional<FileOffset> file_offset(ImageAddr address) const;
  std::optional<ImageAddr> image_addr(FileOffset offset) const;
  // Bytes of the file that are mapped at `address`: up to `length`, fewer where the file-backed part
  // of the segment ends or the file has a hole, empty where nothing is mapped.
  std::span<const std::uint8_t> bytes_at(ImageAddr address, std::uint64_t length) const;
  // Fills `out` completely or fails.
  Result<void> read_text(ImageAddr address, std::span<std::uint8_t> out) const;
  // The parts of executable PT_LOAD segments that the file holds, without holes; ascending.
  const std::vector<ImageRange>& executable_ranges() const;
  bool is_executable(ImageAddr address) const;
  // The section that covers `address` ("" when the file has no sections or none covers it).
  std::string_view section_name(ImageAddr address) const;
  std::optional<ImageRange> section_range(ImageAddr address) const;
  std::optional<ImageRange> find_section(std::string_view name) const;
  // Whether `address` lies in a segment, including its part without file contents (.bss).
  bool is_mapped(ImageAddr address) const;

  // All definitions, from .symtab and .dynsym; the same definition in both appears once.
  const std::vector<ElfSymbol>& symbols() const;
  // The candidates a debugger would take for `name` ("memcpy", or "memcpy@GLIBC_2.2.5" for one
  // version): functions (IFunc included) or data objects. Aliases at one address count once, and a
  // default version wins over hidden ones. Empty: no such name; several: ambiguous.
  std::vector<ElfSymbol> find_functions(std::string_view name) const;
  // The functions that have this name in the source (source_names.h): `Foo::bar`, `bar`, `Foo::bar(int)`.
  std::vector<ElfSymbol> find_functions_of_source(std::string_view name) const;
  // The copies that a compiler has made of the function, by either name (copied_function()).
  std::vector<ElfSymbol> find_copies(std::string_view name) const;
  std::vector<ElfSymbol> find_objects(std::string_view name) const;
  // Each offset once.
  std::vector<ThreadLocalVariable> find_thread_locals(std::string_view name) const;
  std::vector<ThreadLocalWord> thread_local_words() const;
  // Bytes of the thread-local block, up to where its alignment ends; 0: the image has none.
  std::uint64_t thread_local_bytes() const;
  // The innermost symbol whose [address, address+size) covers `address`; of aliases the plainest name.
  std::optional<ElfSymbol> symbol_covering(ImageAddr address) const;

  // The function that covers `address`: by symbols, else by .eh_frame.
  std::optional<FunctionRange> function_containing(ImageAddr address) const;
  // First function start (symbol or frame) that is > `address`.
  std::optional<ImageAddr> next_function_start(ImageAddr address) const;
  // End of the last function that ends at or before `address`.
  std::optional<ImageAddr> previous_function_end(ImageAddr address) const;
  // All functions, ascending by start, one per start address.
  const std::vector<FunctionRange>& functions() const;
  // All places where the unwinder may go on after an exception; ascending.
  const std::vector<ImageAddr>& landing_pads() const;

  // Words that point into executable ranges, ascending by target. They are found through relocations; in an image
  // that is not position independent, every aligned word of data with such a value is taken as well.
  const std::vector<CodePointer>& code_pointers() const;

 private:
  explicit ElfImage(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace kevt::target
