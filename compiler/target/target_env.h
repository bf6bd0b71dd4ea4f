// TargetEnv: all the compiler knows of what is traced. It does no I/O of its own: implementations
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

namespace kevt::target {

// A symbol that was found. `address` is in the target's own space.
struct Symbol {
  std::string name;
  std::string module;         // printed in brackets after the symbol; empty: the kernel image itself
  std::uint64_t address = 0;  // start
  std::uint64_t size = 0;     // bytes; 0: unknown
};

enum class LookupFailure : std::uint8_t {
  NotFound,
  NotUnique,      // `candidates` says where
  ModuleMissing,  // the module (library) is not loaded; a probe on it would wait
  NotChecked,     // this environment knows no symbols (kevtrace check without a target)
};
struct LookupError {
  LookupFailure failure = LookupFailure::NotFound;
  std::vector<std::string> candidates;  // "libc.so.6:openat", or near misses for NotFound
};

enum class Probeability : std::uint8_t {
  Ok,
  NotInstructionBoundary,
  Blacklisted,  // the machinery's own code, or code that must not be probed
  NotExecutable,
  NotChecked,
};

enum class FileStatus : std::uint8_t { Regular, NotRegular, Missing, NotChecked };

class TargetEnv {
 public:
  virtual ~TargetEnv() = default;

  virtual std::expected<Symbol, LookupError> find_function(std::optional<std::string_view> module,
                                                           std::string_view name) const = 0;
  virtual std::expected<Symbol, LookupError> find_data(std::string_view name) const = 0;
  // Address of a byte of a file in the target; ModuleMissing where the file is not loaded, NotFound where it is, but
  // has no such byte.
  virtual std::expected<std::uint64_t, LookupError> find_file_offset(std::string_view path,
                                                                     std::uint64_t offset) const = 0;
  // Whether a module that is not loaded could be: there is such a library.
  virtual bool may_be_loaded(std::string_view) const { return false; }
  virtual Probeability probeability(std::uint64_t address) const = 0;
  virtual FileStatus file_status(std::string_view path) const = 0;
  // The symbol that covers `address`, for `SYM+0xOFF/0xSIZE`.
  virtual std::optional<Symbol> symbolize(std::uint64_t address) const = 0;

  virtual unsigned possible_cpus() const = 0;
  virtual std::uint32_t max_stack_slots() const = 0;  // THREAD_SIZE / word size
};

// x86-64 register names of fetch-args and where they lie in the saved register block
// (common/abi/registers.h), in bytes. nullopt: no such register.
std::optional<std::uint32_t> register_offset(std::string_view name);
std::vector<std::string_view> register_names();

// Where the ABI puts argument `number` (1-based) at a function's entry.
struct ArgumentLocation {
  bool in_register = true;
  std::uint32_t offset = 0;  // register: of the block; stack: bytes above the stack pointer at entry
};
ArgumentLocation argument_location(std::uint32_t number);

}  // namespace kevt::target
