// TargetEnv: all that the compiler knows of the traced process or kernel. The interface does no I/O; implementations
// do (a process, a kernel), and the fixed one serves tests and `kevtrace check`.
//
// Addresses are opaque to the compiler: it passes them on, adds offsets, and asks about them.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/model/thread_local.h"
#include "compiler/target/line_places.h"
#include "compiler/target/types/type_table.h"

namespace kevt::target {

// A symbol that was found. `address` is in the target's own space.
struct Symbol {
  std::string name;
  std::string module;         // printed in brackets after the symbol; empty: the kernel image itself
  std::uint64_t address = 0;  // start
  std::uint64_t size = 0;     // bytes; 0: unknown
  // Found by find_data(): each thread has its own, and `address` is 0.
  std::optional<model::ThreadLocalPlace> thread_local_place = {};
};

enum class LookupFailure : std::uint8_t {
  NotFound,
  NotUnique,      // `candidates` says where
  ModuleMissing,  // the module (library) is not loaded; a probe on it waits until the module is loaded
  NotChecked,     // this environment knows no symbols (kevtrace check without a target)
};
struct LookupError {
  LookupFailure failure = LookupFailure::NotFound;
  std::vector<std::string> candidates;  // "libc.so.6:openat", or near misses for NotFound
  std::string why = {};                 // for NotFound: the reason if it is known (an unreadable file); or empty
};

enum class Probeability : std::uint8_t {
  Ok,
  NotInstructionBoundary,
  Blacklisted,  // the tracer's own code, or code that must not be probed
  NotExecutable,
  NotChecked,
};

enum class FileStatus : std::uint8_t { Regular, NotRegular, Missing, NotChecked };

// Where types come from. A kernel's types are part of the kernel: there `$arg1` gets its parameter's name and type.
// Debug information may be missing tomorrow, so it is used only where a definition names a type, field or parameter.
enum class TypeSource : std::uint8_t { None, Kernel, DebugInformation };

struct FunctionTypes {
  const TypeTable* table = nullptr;
  TypeId prototype = 0;
  std::uint32_t first_parameter = 0;  // parameters before it are the kernel's own (a tracepoint's callback data)
  std::uint32_t parameters = 0;       // number from first_parameter on; BTF counts `...` as one
};
enum class TypesFailure : std::uint8_t {
  NotChecked,  // this environment knows no types
  Missing,     // there are no types for this function
};
struct TypesError {
  TypesFailure failure = TypesFailure::NotChecked;
  std::string why;  // what would help; may be empty
};

// A function as a definition names it: [MODULE:]SYMBOL.
struct FunctionName {
  std::optional<std::string_view> module;
  std::string_view name;
};

// One place of a marker of a user program (USDT).
struct UsdtSite {
  std::string path;                        // the marker's file, as the target names it
  std::uint64_t offset = 0;                // bytes from the file's start
  std::optional<std::uint64_t> semaphore;  // likewise
  std::string arguments;  // as in .note.stapsdt, but OFFSET(%file) for NAME(%rip) if the file has the symbol NAME
};

class TargetEnv {
 public:
  virtual ~TargetEnv() = default;

  // Announces the functions that find_function() will be asked for, so that slow work can be done for all at once.
  virtual void expect_functions(std::span<const FunctionName>) const {}
  virtual std::expected<Symbol, LookupError> find_function(std::optional<std::string_view> module,
                                                           std::string_view name) const = 0;
  // The names of functions that match a glob (`*`, `?`, `[a-z]`), each once, in their order; of the module, or of all.
  // Names with a `.` are a compiler's parts of functions, and match only a glob that has one.
  virtual std::vector<std::string> functions_matching(std::optional<std::string_view>, std::string_view) const {
    return {};
  }
  virtual std::expected<Symbol, LookupError> find_data(std::string_view name) const = 0;
  // Address in the target of the byte at `offset` of a file. ModuleMissing: the file has code there but is not loaded;
  // NotFound otherwise.
  virtual std::expected<std::uint64_t, LookupError> find_file_offset(std::string_view path,
                                                                     std::uint64_t offset) const = 0;
  // The places of a marker (provider, name) of a program or library. NotFound: `candidates` are markers with similar
  // names.
  virtual std::expected<std::vector<UsdtSite>, LookupError> find_usdt(std::string_view, std::string_view,
                                                                      std::string_view) const {
    return std::unexpected(LookupError{LookupFailure::NotChecked, {}});
  }
  // The places of a line of the source of a program or library. NotFound: `candidates` are lines near it, or files and
  // functions with similar names; NotUnique: the files or functions that are meant.
  virtual std::expected<LinePlaces, LookupError> find_line(const LineQuestion&) const {
    return std::unexpected(LookupError{LookupFailure::NotChecked, {}});
  }
  // The lines of a source file or function that can be probed. Errors as of find_line().
  virtual std::expected<ListedSource, LookupError> list_lines(const LinesWanted&) const {
    return std::unexpected(LookupError{LookupFailure::NotChecked, {}});
  }
  // Whether a module that is not loaded may be loaded later: there is such a library. "": whether a function that no
  // loaded module has may come with one.
  virtual bool may_be_loaded(std::string_view) const { return false; }
  virtual Probeability probeability(std::uint64_t address) const = 0;
  virtual FileStatus file_status(std::string_view path) const = 0;
  // The symbol that covers `address`, for `SYM+0xOFF/0xSIZE`.
  virtual std::optional<Symbol> symbolize(std::uint64_t address) const = 0;

  // A name for code without a symbol: "libc.so.6+0x2724a", its file and the offset in that file.
  virtual std::optional<std::string> place_name(std::uint64_t) const { return std::nullopt; }

  virtual TypeSource type_source() const { return TypeSource::None; }
  virtual std::expected<FunctionTypes, TypesError> function_types(std::optional<std::string_view>,
                                                                  std::string_view) const {
    return std::unexpected(TypesError{});
  }
  virtual std::expected<FunctionTypes, TypesError> tracepoint_types(std::string_view) const {
    return std::unexpected(TypesError{});
  }
  // The types among which a definition may name a structure (typecasts, struct dentry). nullptr: none are known.
  virtual const TypeTable* named_types() const { return nullptr; }
  // The function from which the tracepoint's callbacks are called: a record shows its address.
  virtual std::expected<Symbol, LookupError> find_tracepoint(std::string_view) const {
    return std::unexpected(LookupError{LookupFailure::NotChecked, {}});
  }
  // Whether the target is a running kernel: no other target runs `f`, `t` and `w` probes (functions, tracepoints,
  // memory).
  virtual bool is_running_kernel() const { return false; }

  virtual unsigned possible_cpus() const = 0;
  virtual std::uint32_t max_stack_slots() const = 0;  // THREAD_SIZE / word size
};

// x86-64 register names of fetch-args and where they lie in the saved register block
// (common/abi/registers.h), in bytes. nullopt: no such register.
std::optional<std::uint32_t> register_offset(std::string_view name);
std::vector<std::string_view> register_names();
// Vector registers: floating point arguments and results are in their low 8 bytes. The saved block holds none of them.
// vector_register() gives the number of "xmm0" to "xmm15"; nullopt for any other name.
inline constexpr std::uint32_t kVectorRegisters = 16;
inline constexpr std::uint32_t kVectorArguments = 8;  // %xmm0 to %xmm7
std::optional<std::uint32_t> vector_register(std::string_view name);
std::string vector_register_name(std::uint32_t number);

// Where the ABI puts integer argument `number` (1-based) at a function's entry.
struct ArgumentLocation {
  bool in_register = true;
  std::uint32_t offset = 0;  // bytes: in the saved register block, or above the stack pointer at entry
};
ArgumentLocation argument_location(std::uint32_t number);
// The register that lies at `offset` of the saved block; empty: none.
std::string_view register_at(std::uint32_t offset);
// Why `$argN` and names of parameters say nothing of a function of Go.
inline constexpr std::string_view kGoPassesElsewhere =
    "`$argN` and names are arguments as C passes them; Go's are in %ax %bx %cx %di %si %r8 %r9 %r10 %r11, in this "
    "order";

}  // namespace kevt::target
