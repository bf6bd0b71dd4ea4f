// Symbols and types of one kernel, put together.
//
//   vfs_read       in kallsyms: it exists, once; in BTF: FUNC vfs_read → its prototype
//   t sched_switch __tracepoint_sched_switch in kallsyms; FUNC __probestub_sched_switch, whose first argument is the
//                  tracepoint's own
//
// Only the kernel image's types are asked: those of a module's function are in the module's own BTF, so such a function
// is NotChecked. For `MOD:SYM` the kernel finds no types either, since it looks for a function with that whole name
// (trace_kprobe.c, 6.12 and 7.3).
#include "compiler/target/kernel/kernel_types.h"

#include <fstream>
#include <sstream>

#include "compiler/target/kernel/uprobe_files.h"
#include "compiler/target/types/btf.h"

namespace kevt::target {

namespace {

constexpr std::size_t kMaxSymbolBytes = 512u << 20;

Result<std::string> read_symbols(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  char piece[1 << 16];
  while (file.read(piece, sizeof piece) || file.gcount() > 0) {
    text.append(piece, static_cast<std::size_t>(file.gcount()));
    if (text.size() > kMaxSymbolBytes) return std::unexpected(Error("`" + path + "` is too large for kallsyms"));
  }
  if (text.empty()) return std::unexpected(Error("`" + path + "` cannot be read, or is empty"));
  return text;
}

std::unexpected<TypesError> no_types() { return std::unexpected(TypesError{TypesFailure::Missing, ""}); }

}  // namespace

Result<TypedKernel> TypedKernel::open(const KernelFiles& files) {
  std::optional<KernelEnv> symbols;
  std::shared_ptr<const TypeTable> types;
  if (!files.kallsyms.empty()) {
    auto text = KEVT_TRY(read_symbols(files.kallsyms));
    auto env = KernelEnv::of_facts({.kallsyms = std::move(text), .blacklist = ""});
    if (!env) return std::unexpected(std::move(env.error()).while_doing("reading `" + files.kallsyms + "`"));
    symbols = *std::move(env);
  }
  if (!files.btf.empty()) {
    auto table = KEVT_TRY(read_btf_files(files.btf));
    types = std::make_shared<const TypeTable>(std::move(table));
  }
  TypedKernel kernel(std::move(symbols), std::move(types));
  kernel.is_of_this_machine_ = files.is_of_this_machine;
  return kernel;
}

FileStatus TypedKernel::file_status(std::string_view path) const {
  return is_of_this_machine_ ? uprobe_files::status(path) : FileStatus::NotChecked;
}

std::expected<std::vector<UsdtSite>, LookupError> TypedKernel::find_usdt(std::string_view module,
                                                                         std::string_view provider,
                                                                         std::string_view name) const {
  return is_of_this_machine_ ? uprobe_files::markers(module, provider, name)
                             : TargetEnv::find_usdt(module, provider, name);
}

std::expected<LinePlaces, LookupError> TypedKernel::find_line(const LineQuestion& question) const {
  return is_of_this_machine_ ? uprobe_files::lines(question) : TargetEnv::find_line(question);
}

std::expected<ListedSource, LookupError> TypedKernel::list_lines(const LinesWanted& wanted) const {
  return is_of_this_machine_ ? uprobe_files::list_lines(wanted) : TargetEnv::list_lines(wanted);
}

std::expected<Symbol, LookupError> TypedKernel::find_function(std::optional<std::string_view> module,
                                                              std::string_view name) const {
  if (symbols_) return symbols_->find_function(module, name);
  return std::unexpected(LookupError{.failure = LookupFailure::NotChecked, .candidates = {}});
}

std::expected<Symbol, LookupError> TypedKernel::find_data(std::string_view name) const {
  if (symbols_) return symbols_->find_data(name);
  return std::unexpected(LookupError{.failure = LookupFailure::NotChecked, .candidates = {}});
}

std::expected<std::uint64_t, LookupError> TypedKernel::find_file_offset(std::string_view path,
                                                                        std::uint64_t offset) const {
  if (is_of_this_machine_ && file_status(path) == FileStatus::Regular) return offset;
  return std::unexpected(LookupError{.failure = LookupFailure::NotChecked, .candidates = {}});
}

Probeability TypedKernel::probeability(std::uint64_t address) const {
  return symbols_ ? symbols_->probeability(address) : Probeability::NotChecked;
}

std::optional<Symbol> TypedKernel::symbolize(std::uint64_t address) const {
  return symbols_ ? symbols_->symbolize(address) : std::nullopt;
}

std::expected<FunctionTypes, TypesError> TypedKernel::function_types(std::optional<std::string_view> module,
                                                                     std::string_view name) const {
  if (!types_) return std::unexpected(TypesError{});
  if (module) return no_types();
  auto found = kernel_prototype(*types_, name, 0);
  if (found || !symbols_) return found;
  const auto symbol = symbols_->find_function({}, name);
  if (symbol && !symbol->module.empty()) return std::unexpected(TypesError{});
  return found;
}

std::expected<FunctionTypes, TypesError> TypedKernel::tracepoint_types(std::string_view name) const {
  if (!types_) return std::unexpected(TypesError{});
  auto found = kernel_prototype(*types_, "__probestub_" + std::string(name), 1);
  if (!found) found = kernel_prototype(*types_, name, 1);  // without a probestub the kernel looks for the bare name
  if (found || !symbols_) return found;
  const auto symbol = symbols_->find_data("__tracepoint_" + std::string(name));
  if (symbol && !symbol->module.empty()) return std::unexpected(TypesError{});
  return found;
}

std::expected<Symbol, LookupError> TypedKernel::find_tracepoint(std::string_view name) const {
  if (symbols_) return symbols_->find_tracepoint(name);
  return find_data("__tracepoint_" + std::string(name));
}

}  // namespace kevt::target
