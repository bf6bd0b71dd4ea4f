// ProcessEnv: the TargetEnv of a user-space process, or of ELF files nobody runs.
//
// A module is a program or library: `libc` and `libc.so.6` (name up to `.so`, file name, soname) or a
// full path. Symbols without a module are sought in everything that is loaded.
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
#include "compiler/target/process/process_map.h"
#include "compiler/target/target_env.h"

namespace kevt::target {

// Runs resolvers of indirect functions in the target and returns what each chose.
using IfuncResolver = std::function<Result<std::vector<RemoteAddr>>(std::span<const RemoteAddr> resolvers)>;
// True where no probe may be put (the machinery's own code). A file whose code begins at such an
// address is left out altogether: its symbols are not the target's.
using Blacklist = std::function<bool(RemoteAddr)>;

// ElfImage::open(), or an image that others have, too.
using ImageOpener = std::function<Result<std::shared_ptr<const ElfImage>>(const std::string& path)>;
Result<std::shared_ptr<const ElfImage>> open_own_image(const std::string& path);

struct ProcessEnvOptions {
  IfuncResolver resolve_ifuncs;  // empty: indirect functions are LookupFailure::NotChecked
  Blacklist blacklisted;         // empty: nothing is
  // The process, or a child of it, becomes other programs: what it does not have may be theirs (ModuleMissing).
  bool becomes_others = false;
  ImageOpener open_image = open_own_image;
};

// One program or library of the target.
struct ProcessModule {
  std::string name;        // file name: "libc.so.6"
  std::string path;        // as the target names it
  std::string open_path;   // where we can read it; empty: nowhere
  std::uint64_t bias = 0;  // address in the target − address in the image
  bool is_program = false;
};

// Images are opened when first asked about. Not thread safe, also not the const functions.
class ProcessEnv final : public TargetEnv {
 public:
  struct State;  // private to process_env.cpp

  // What process `pid` has mapped now; refresh() sees what it has loaded since.
  static Result<ProcessEnv> of_process(pid_t pid, ProcessEnvOptions options);
  Result<void> refresh();
  // Opens the images of all that is mapped now: what they tell is there when the process has ended.
  void keep_files();
  // Files at bias 0: addresses are image addresses. Every file must be readable and ELF.
  static Result<ProcessEnv> of_files(const std::vector<std::string>& paths, ProcessEnvOptions options);

  ProcessEnv(ProcessEnv&&) noexcept;
  ProcessEnv& operator=(ProcessEnv&&) noexcept;
  ~ProcessEnv() override;

  std::expected<Symbol, LookupError> find_function(std::optional<std::string_view> module,
                                                   std::string_view name) const override;
  void expect_functions(std::span<const FunctionName> names) const override;
  // `name` may be MODULE:SYMBOL. The program's own definition wins over a library's of that name, as it
  // does for the dynamic linker (copy relocations).
  std::expected<Symbol, LookupError> find_data(std::string_view name) const override;
  std::expected<std::uint64_t, LookupError> find_file_offset(std::string_view path,
                                                             std::uint64_t offset) const override;
  // Of a file that is loaded, or that `module` is the path of.
  std::expected<std::vector<UsdtSite>, LookupError> find_usdt(std::string_view module, std::string_view provider,
                                                              std::string_view name) const override;
  // A path of a file; a file name (libx.so), which may come from anywhere; a stem (libx) that some file has where the
  // dynamic linker looks by itself.
  bool may_be_loaded(std::string_view module) const override;
  Probeability probeability(std::uint64_t address) const override;
  FileStatus file_status(std::string_view path) const override;
  // Functions and data objects; `module` is empty for the program itself.
  std::optional<Symbol> symbolize(std::uint64_t address) const override;
  std::optional<std::string> place_name(std::uint64_t address) const override;
  // From debug information, read when first asked for.
  TypeSource type_source() const override { return TypeSource::DebugInformation; }
  std::expected<FunctionTypes, TypesError> function_types(std::optional<std::string_view> module,
                                                          std::string_view name) const override;
  unsigned possible_cpus() const override;
  std::uint32_t max_stack_slots() const override;

  // For the runtime: the image that covers `address`, with its bias. nullptr: none, or unreadable.
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
