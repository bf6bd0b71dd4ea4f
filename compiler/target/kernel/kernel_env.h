// KernelEnv: the TargetEnv of a running kernel: its symbols, blacklist, instructions and types.
//
// A module is a kernel module. The running kernel's /proc files are read once, by of_running_kernel(): modules that are
// loaded later need a new KernelEnv. Types (BTF) are read when a definition first needs one, and kept.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/error.h"
#include "compiler/target/kernel/kernel_btf.h"
#include "compiler/target/kernel/kernel_patches.h"
#include "compiler/target/kernel/kernel_symbols.h"
#include "compiler/target/kernel/kernel_text.h"
#include "compiler/target/target_env.h"

namespace kevt::target {

struct KernelFacts {
  std::string kallsyms;   // text of /proc/kallsyms
  std::string blacklist;  // text of …/kprobes/blacklist; empty: not known
  unsigned possible_cpus = 1;
  std::string btf_folder = "";          // has the files `vmlinux` and MODULE; empty: types are not known
  TypeSource types = TypeSource::None;  // the answer of type_source()
  std::string core_file = "";           // path of e.g. /proc/kcore; empty or unreadable: instructions are not known
};

class KernelEnv : public TargetEnv {
 public:
  // Fails if the kernel hides its symbols' addresses from this process. Blacklist and instructions are used if they can
  // be read. `types`: the answer of type_source(); None: BTF is not read.
  static Result<KernelEnv> of_running_kernel(TypeSource types);
  // An environment for any kernel, from its files.
  static Result<KernelEnv> of_facts(KernelFacts facts);

  std::expected<Symbol, LookupError> find_function(std::optional<std::string_view> module,
                                                   std::string_view name) const override;
  std::vector<std::string> functions_matching(std::optional<std::string_view> module,
                                              std::string_view glob) const override;
  // `name` may be MODULE:SYMBOL. Of several symbols of that name the kernel image's first one is taken, or else the
  // first of a module.
  std::expected<Symbol, LookupError> find_data(std::string_view name) const override;
  // `module` must be a path of a file.
  std::expected<std::vector<UsdtSite>, LookupError> find_usdt(std::string_view module, std::string_view provider,
                                                              std::string_view name) const override;
  std::expected<LinePlaces, LookupError> find_line(const LineQuestion& question) const override;
  std::expected<ListedSource, LookupError> list_lines(const LinesWanted& wanted) const override;
  // The result is `offset` itself: a uprobe is attached to an offset of the file, before any process maps the file.
  std::expected<std::uint64_t, LookupError> find_file_offset(std::string_view path,
                                                             std::uint64_t offset) const override;
  Probeability probeability(std::uint64_t address) const override;
  FileStatus file_status(std::string_view path) const override;
  // Where the kernel really puts a probe on `place`: behind the endbr instruction if a function starts there with one.
  std::uint64_t probed_address(std::uint64_t place) const;
  // The address that replaces a return address on the stack while a return probe waits for the return; 0: not known.
  std::uint64_t return_trampoline() const;
  std::optional<Symbol> symbolize(std::uint64_t address) const override { return symbols_.covering(address); }
  unsigned possible_cpus() const override { return cpus_; }
  TypeSource type_source() const override { return btf_ ? types_ : TypeSource::None; }
  std::expected<FunctionTypes, TypesError> function_types(std::optional<std::string_view> module,
                                                          std::string_view name) const override;
  std::expected<FunctionTypes, TypesError> tracepoint_types(std::string_view name) const override;
  std::expected<Symbol, LookupError> find_tracepoint(std::string_view name) const override;
  bool is_running_kernel() const override { return true; }
  // The types of the kernel image, without its modules'.
  const TypeTable* named_types() const override;
  std::uint32_t max_stack_slots() const override { return 2048; }  // THREAD_SIZE of x86-64 in words

  const KernelSymbols& symbols() const { return symbols_; }

 private:
  explicit KernelEnv(KernelSymbols symbols) : symbols_(std::move(symbols)) {}
  LookupError near_misses(std::string_view name) const;
  Symbol symbol_of(const KernelSymbol& symbol) const;
  bool is_trampoline(std::uint64_t address) const;
  Traced is_traced_at(std::uint64_t address, std::uint64_t size) const;
  Traced traced_function(const Symbol& function) const;

  KernelSymbols symbols_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> blacklist_;  // [begin, end), sorted
  std::unique_ptr<KernelText> text_;                                // absent: instructions are not known
  KernelPatches patches_;
  std::unique_ptr<KernelBtf> btf_;  // absent: types are not known
  TypeSource types_ = TypeSource::None;
  unsigned cpus_ = 1;
};

// "0-3,8-11" → 12: one more than the last number; 1 if there is none.
unsigned parse_cpu_list(std::string_view text);

}  // namespace kevt::target
