// TypedKernel: a kernel known from files: its kallsyms, its BTF, or both. Questions that the files do not answer are
// NotChecked.
//
// The kernel may run on another machine, so instructions and CPUs of this machine are not looked at, and files of
// uprobes only if they are said to be this machine's.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/error.h"
#include "compiler/target/kernel/kernel_btf.h"
#include "compiler/target/kernel/kernel_env.h"
#include "compiler/target/target_env.h"
#include "compiler/target/types/type_table.h"

namespace kevt::target {

struct KernelFiles {
  std::string kallsyms;             // path; empty: no symbols are known
  std::vector<std::string> btf;     // paths: the kernel's, then modules'; empty: no types are known
  bool is_of_this_machine = false;  // so are files of uprobes
};

class TypedKernel final : public TargetEnv {
 public:
  static Result<TypedKernel> open(const KernelFiles& files);
  // For tests, and for callers that have read the files already.
  TypedKernel(std::optional<KernelEnv> symbols, std::shared_ptr<const TypeTable> types)
      : symbols_(std::move(symbols)), types_(std::move(types)) {}

  std::expected<Symbol, LookupError> find_function(std::optional<std::string_view> module,
                                                   std::string_view name) const override;
  std::expected<Symbol, LookupError> find_data(std::string_view name) const override;
  std::expected<std::uint64_t, LookupError> find_file_offset(std::string_view path,
                                                             std::uint64_t offset) const override;
  Probeability probeability(std::uint64_t address) const override;
  FileStatus file_status(std::string_view path) const override;
  std::expected<std::vector<UsdtSite>, LookupError> find_usdt(std::string_view module, std::string_view provider,
                                                              std::string_view name) const override;
  std::expected<LinePlaces, LookupError> find_line(const LineQuestion& question) const override;
  std::expected<ListedSource, LookupError> list_lines(const LinesWanted& wanted) const override;
  std::optional<Symbol> symbolize(std::uint64_t address) const override;
  TypeSource type_source() const override { return types_ ? TypeSource::Kernel : TypeSource::None; }
  std::expected<FunctionTypes, TypesError> function_types(std::optional<std::string_view> module,
                                                          std::string_view name) const override;
  std::expected<FunctionTypes, TypesError> tracepoint_types(std::string_view name) const override;
  const TypeTable* named_types() const override { return types_.get(); }
  std::expected<Symbol, LookupError> find_tracepoint(std::string_view name) const override;
  unsigned possible_cpus() const override { return 1; }
  std::uint32_t max_stack_slots() const override { return 2048; }

 private:
  std::optional<KernelEnv> symbols_;
  std::shared_ptr<const TypeTable> types_;
  bool is_of_this_machine_ = false;
};

}  // namespace kevt::target
