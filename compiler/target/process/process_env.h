// ProcessEnv: the TargetEnv of a user-space process, or of ELF files that no process has loaded.
//
// A module is a program or library: `libc` and `libc.so.6` (name up to `.so`, file name, soname), a full path, or the
// name that the program was started by; or `jit`, the functions that a JIT compiler has made. Symbols without a module
// are sought in all loaded files.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/addresses.h"
#include "common/error.h"
#include "compiler/target/elf/elf_image.h"
#include "compiler/target/process/jit_code.h"
#include "compiler/target/process/process_map.h"
#include "compiler/target/target_env.h"

namespace kevt::target {

// Runs resolvers of indirect functions in the target; returns the address that each chose, in the same order.
using IfuncResolver = std::function<Result<std::vector<RemoteAddr>>(std::span<const RemoteAddr> resolvers)>;
// True for an address where no probe may be put (the tracer's own code). A file whose code begins at such an
// address is left out altogether: its symbols are not the target's.
using Blacklist = std::function<bool(RemoteAddr)>;

// Opens an image as ElfImage::open() does, or returns one that others use already.
using ImageOpener = std::function<Result<std::shared_ptr<const ElfImage>>(const std::string& path)>;
Result<std::shared_ptr<const ElfImage>> open_own_image(const std::string& path);

struct ProcessEnvOptions {
  IfuncResolver resolve_ifuncs;  // empty: indirect functions are LookupFailure::NotChecked
  Blacklist blacklisted;         // empty: no address is blacklisted
  // The process, or a child of it, will execute other programs. A function that is missing now may be theirs, so a
  // lookup answers ModuleMissing instead of NotFound.
  bool becomes_others = false;
  ImageOpener open_image = open_own_image;
  TextRestorer restore_text;  // of code without a file; empty: nobody has changed it
};

// One program or library of the target.
struct ProcessModule {
  std::string name;        // file name: "libc.so.6"
  std::string path;        // as the target names the file
  std::string open_path;   // where this process can read the file; empty: nowhere
  std::uint64_t bias = 0;  // address in the target − address in the image
  bool is_program = false;
};

// Images are opened when they are first needed. Not thread safe; the const functions are not either.
class ProcessEnv final : public TargetEnv {
 public:
  struct State;  // private to process_env.cpp

  // Reads what process `pid` has mapped now; refresh() reads it again, to see files that were loaded or unloaded since:
  // true if there are any, or other JIT code.
  static Result<ProcessEnv> of_process(pid_t pid, ProcessEnvOptions options);
  Result<bool> refresh();
  // Opens the images of all files that are mapped now, so that they can be asked after the process has ended.
  void keep_files();
  // Files at bias 0: addresses are image addresses. Every file must be readable and ELF.
  static Result<ProcessEnv> of_files(const std::vector<std::string>& paths, ProcessEnvOptions options);

  ProcessEnv(ProcessEnv&&) noexcept;
  ProcessEnv& operator=(ProcessEnv&&) noexcept;
  ~ProcessEnv() override;

  std::expected<Symbol, LookupError> find_function(std::optional<std::string_view> module,
                                                   std::string_view name) const override;
  std::vector<std::string> functions_matching(std::optional<std::string_view> module,
                                              std::string_view glob) const override;
  void expect_functions(std::span<const FunctionName> names) const override;
  // `name` may be MODULE:SYMBOL. The program's own definition wins over a library's of that name, as it
  // does for the dynamic linker (copy relocations).
  std::expected<Symbol, LookupError> find_data(std::string_view name) const override;
  std::expected<std::uint64_t, LookupError> find_file_offset(std::string_view path,
                                                             std::uint64_t offset) const override;
  // `module` names a loaded file, or is the path of any file.
  std::expected<std::vector<UsdtSite>, LookupError> find_usdt(std::string_view module, std::string_view provider,
                                                              std::string_view name) const override;
  // Likewise.
  std::expected<LinePlaces, LookupError> find_line(const LineQuestion& question) const override;
  std::expected<ListedSource, LookupError> list_lines(const LinesWanted& wanted) const override;
  // True for the path of an existing file, for a file name (libx.so), since that file may lie anywhere, and for a stem
  // (libx) of a file in one of the dynamic linker's default folders. Always true if the process becomes other programs.
  bool may_be_loaded(std::string_view module) const override;
  Probeability probeability(std::uint64_t address) const override;
  FileStatus file_status(std::string_view path) const override;
  // Functions and data objects; `module` is empty for the program itself.
  std::optional<Symbol> symbolize(std::uint64_t address) const override;
  std::optional<std::string> place_name(std::uint64_t address) const override;
  // Types come from debug information, which is read when first asked for.
  TypeSource type_source() const override { return TypeSource::DebugInformation; }
  std::expected<FunctionTypes, TypesError> function_types(std::optional<std::string_view> module,
                                                          std::string_view name) const override;
  unsigned possible_cpus() const override;
  std::uint32_t max_stack_slots() const override;

  // For the runtime: the image that covers `address`, its module, and the address in it. nullopt: there is no such
  // image, or it cannot be read.
  struct Place {
    const ElfImage* image = nullptr;
    const ProcessModule* module = nullptr;
    ImageAddr address;
  };
  std::optional<Place> place(RemoteAddr address) const;
  std::vector<ProcessModule> modules() const;

 private:
  explicit ProcessEnv(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace kevt::target
