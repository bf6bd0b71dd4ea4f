// The running kernel as the compiler sees it.
//
//   find_function({}, "vfs_read")      unique among all symbols, or NotUnique
//   find_function("9p", "v9fs_mount")  in that module; ModuleMissing where it is not loaded
//   probeability(vfs_read + 1)         decoded from the function's start, in /proc/kcore
//   function_types({}, "vfs_read")     its prototype in /sys/kernel/btf/vmlinux
//   find_tracepoint("sched_switch")    __probestub_sched_switch, before 6.5 __traceiter_sched_switch
//
// Mirrors number_of_same_symbols() of kernel/trace/trace_kprobe.c and register_kprobe() of kernel/kprobes.c (6.1). Some
// places only the kernel can judge (jump labels of modules): the kernel refuses them when the probe is armed.
#include "compiler/target/kernel/kernel_env.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>

#include "compiler/target/elf/elf_image.h"
#include "compiler/target/elf/instruction_start.h"
#include "compiler/target/elf/usdt.h"
#include "compiler/target/glob_matches.h"
#include "compiler/target/kernel/uprobe_files.h"
#include "compiler/target/near_misses.h"
#include "compiler/target/types/source_places.h"

namespace kevt::target {

namespace {

constexpr std::uint64_t kLongestFunction = 1 << 20;  // bytes of one function that are decoded at most

Result<std::string> read_text(const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::unexpected(Error::from_errno(path));
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

// Lines "0xBEGIN-0xEND\tNAME"; others are skipped.
std::vector<std::pair<std::uint64_t, std::uint64_t>> parse_blacklist(std::string_view text) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> out;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::size_t dash = line.find("-0x");
    std::uint64_t begin = 0, end = 0;
    if (!line.starts_with("0x") || dash == std::string_view::npos) continue;
    std::from_chars(line.data() + 2, line.data() + dash, begin, 16);
    std::from_chars(line.data() + dash + 3, line.data() + line.size(), end, 16);
    if (begin < end) out.emplace_back(begin, end);
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace

unsigned parse_cpu_list(std::string_view text) {
  const std::size_t last = text.find_last_of("-,");
  const std::string_view number = last == std::string_view::npos ? text : text.substr(last + 1);
  unsigned cpu = 0;
  const auto parsed = std::from_chars(number.data(), number.data() + number.size(), cpu);
  return parsed.ec == std::errc() && cpu < 65536 ? cpu + 1 : 1;
}

Result<KernelEnv> KernelEnv::of_facts(KernelFacts facts) {
  auto symbols = KernelSymbols::parse(std::move(facts.kallsyms));
  if (!symbols) return std::unexpected(std::move(symbols.error()).while_doing("reading the kernel's symbols"));
  KernelEnv env(std::move(*symbols));
  env.blacklist_ = parse_blacklist(facts.blacklist);
  env.cpus_ = facts.possible_cpus;
  if (!facts.btf_folder.empty()) env.btf_ = std::make_unique<KernelBtf>(std::move(facts.btf_folder));
  env.types_ = facts.types;
  if (facts.core_file.empty()) return env;
  if (auto text = KernelText::open(facts.core_file.c_str())) {
    env.patches_ = KernelPatches::read(env.symbols_, *text);
    env.text_ = std::make_unique<KernelText>(std::move(*text));
  }
  return env;
}

Result<KernelEnv> KernelEnv::of_running_kernel(TypeSource types) {
  auto kallsyms = KEVT_TRY(read_text("/proc/kallsyms"));
  const auto blacklist = read_text("/sys/kernel/debug/kprobes/blacklist");
  const auto cpus = read_text("/sys/devices/system/cpu/possible");
  return of_facts({.kallsyms = std::move(kallsyms),
                   .blacklist = blacklist.value_or(""),
                   .possible_cpus = parse_cpu_list(cpus.value_or("")),
                   .btf_folder = types == TypeSource::None ? "" : "/sys/kernel/btf",
                   .types = types,
                   .core_file = "/proc/kcore"});
}

Symbol KernelEnv::symbol_of(const KernelSymbol& symbol) const {
  return {.name = std::string(symbol.name),
          .module = std::string(symbol.module),
          .address = symbol.address,
          .size = symbols_.size_of(symbol)};
}

LookupError KernelEnv::near_misses(std::string_view name) const {
  NearMisses near(name);
  symbols_.each([&](const KernelSymbol& symbol) {
    if (symbol.is_text() && symbol.name.size() + 2 >= name.size() && symbol.name.size() <= name.size() + 2)
      near.consider(symbol.name, symbol.module);
  });
  std::vector<std::string> candidates = near.best();
  for (std::string& candidate : candidates)
    if (candidate.starts_with(':')) candidate.erase(0, 1);  // of the kernel image: no module
  return {.failure = LookupFailure::NotFound, .candidates = std::move(candidates)};
}

std::expected<Symbol, LookupError> KernelEnv::find_function(std::optional<std::string_view> module,
                                                            std::string_view name) const {
  if (module && !symbols_.has_module(*module))
    return std::unexpected(LookupError{.failure = LookupFailure::ModuleMissing, .candidates = {}});
  const std::vector<KernelSymbol> found = symbols_.named(name, module);
  if (found.empty()) return std::unexpected(near_misses(name));
  if (found.size() == 1) return symbol_of(found.front());
  LookupError error{.failure = LookupFailure::NotUnique, .candidates = {}};
  for (const KernelSymbol& symbol : found)
    error.candidates.push_back(symbol.module.empty() ? std::string(name)
                                                     : std::string(symbol.module) + ":" + std::string(name));
  return std::unexpected(std::move(error));
}

std::vector<std::string> KernelEnv::functions_matching(std::optional<std::string_view> module,
                                                       std::string_view glob) const {
  GlobMatches matches(glob);
  symbols_.each([&](const KernelSymbol& symbol) {
    if (symbol.is_text() && (!module || symbol.module == *module)) matches.consider(symbol.name);
  });
  return matches.take();
}

// The trampoline of rethook, or the one of kernels that are configured without rethook.
std::uint64_t KernelEnv::return_trampoline() const {
  for (const char* name : {"arch_rethook_trampoline", "__kretprobe_trampoline"})
    if (const auto found = symbols_.named(name, std::nullopt); !found.empty()) return found.front().address;
  return 0;
}

std::expected<Symbol, LookupError> KernelEnv::find_data(std::string_view name) const {
  std::optional<std::string_view> module;
  if (const std::size_t colon = name.find(':'); colon != std::string_view::npos) {
    module = name.substr(0, colon);
    name.remove_prefix(colon + 1);
  }
  const std::vector<KernelSymbol> found = symbols_.named(name, module);
  if (found.empty()) return std::unexpected(LookupError{});
  const auto own = std::ranges::find_if(found, [](const KernelSymbol& symbol) { return symbol.module.empty(); });
  return symbol_of(own == found.end() ? found.front() : *own);
}

std::expected<std::uint64_t, LookupError> KernelEnv::find_file_offset(std::string_view path,
                                                                      std::uint64_t offset) const {
  if (file_status(path) != FileStatus::Regular) return std::unexpected(LookupError{});
  return offset;
}

std::expected<std::vector<UsdtSite>, LookupError> KernelEnv::find_usdt(std::string_view module,
                                                                       std::string_view provider,
                                                                       std::string_view name) const {
  return uprobe_files::markers(module, provider, name);
}

std::expected<LinePlaces, LookupError> KernelEnv::find_line(const LineQuestion& question) const {
  return uprobe_files::lines(question);
}

std::expected<ListedSource, LookupError> KernelEnv::list_lines(const LinesWanted& wanted) const {
  return uprobe_files::list_lines(wanted);
}

// Whether `address` is a trampoline that ftrace made at run time. The symbol that covers `address` does not tell: the
// kernel may list freed init text of a module at the same address, and list it first.
bool KernelEnv::is_trampoline(std::uint64_t address) const {
  return std::ranges::any_of(symbols_.named("ftrace_trampoline", "__builtin__ftrace"),
                             [&](const KernelSymbol& symbol) { return symbol.address == address; });
}

Traced KernelEnv::is_traced_at(std::uint64_t address, std::uint64_t size) const {
  std::uint8_t bytes[9];
  const std::span<std::uint8_t> beginning(bytes, std::min<std::uint64_t>(size, sizeof bytes));
  if (!text_ || !text_->read(address, beginning)) return Traced::Unknown;
  return is_traced(address, beginning, [this](std::uint64_t called) {
    if (!symbols_.is_text(called) || is_trampoline(called)) return true;
    const auto function = symbols_.covering(called);
    return !function || function->name.starts_with("ftrace_") || function->name == "__fentry__";
  });
}

// `f.cold` is traced if `f` is: a part of a function that the compiler moved elsewhere has no entry of its own.
Traced KernelEnv::traced_function(const Symbol& function) const {
  const Traced traced = is_traced_at(function.address, function.size);
  const std::size_t dot = function.name.find('.');
  if (traced != Traced::No || dot == std::string::npos) return traced;
  const auto whole = symbols_.named(std::string_view(function.name).substr(0, dot), function.module);
  return whole.empty() ? traced : is_traced_at(whole.front().address, symbols_.size_of(whole.front()));
}

Probeability KernelEnv::probeability(std::uint64_t address) const {
  if (!symbols_.is_text(address)) return Probeability::NotExecutable;
  const auto after = std::ranges::upper_bound(blacklist_, std::pair(address, ~std::uint64_t{0}));
  if (after != blacklist_.begin() && address < std::prev(after)->second) return Probeability::Blacklisted;
  const auto function = symbols_.covering(address);
  if (!function) return Probeability::NotExecutable;
  if (traced_function(*function) == Traced::No || patches_.has(address)) return Probeability::Blacklisted;
  if (function->address == address) return Probeability::Ok;
  if (!text_) return Probeability::NotChecked;
  std::vector<std::uint8_t> bytes(std::min(function->size, kLongestFunction));
  if (!text_->read(function->address, bytes)) return Probeability::NotChecked;
  return starts_instruction(bytes, address - function->address) ? Probeability::Ok
                                                                : Probeability::NotInstructionBoundary;
}

// arch_adjust_kprobe_addr() of arch/x86/kernel/kprobes/core.c, is_endbr() of asm/ibt.h (6.12).
std::uint64_t KernelEnv::probed_address(std::uint64_t place) const {
  constexpr std::uint32_t kMarks[] = {0xfa1e0ff3, 0xfb1e0ff3, 0x001f0f66, 0xd6401f0f};  // endbr64, endbr32, sealed
  const auto function = symbols_.covering(place);
  std::uint8_t bytes[4];
  if (!text_ || !function || function->address != place || !text_->read(place, bytes)) return place;
  std::uint32_t word;
  std::memcpy(&word, bytes, sizeof word);
  return std::ranges::find(kMarks, word) != std::end(kMarks) ? place + sizeof word : place;
}

// A module's types stand behind the kernel's, and functions of the kernel are found first. So the types of a module's
// function that has a namesake in the kernel cannot be told.
std::expected<FunctionTypes, TypesError> KernelEnv::function_types(std::optional<std::string_view> module,
                                                                   std::string_view name) const {
  if (!btf_) return std::unexpected(TypesError{});
  const auto symbol = find_function(module, name);
  if (!symbol) return std::unexpected(TypesError{TypesFailure::Missing, ""});
  if (!symbol->module.empty() && !symbols_.named(name, "").empty())
    return std::unexpected(TypesError{TypesFailure::Missing, "the kernel and the module have a function of this name"});
  return btf_->prototype(symbol->module, name);
}

// Looks for the tracepoint's data symbol, the kernel image's first, and then for the function with the tracepoint's
// arguments, in the same module.
std::expected<Symbol, LookupError> KernelEnv::find_tracepoint(std::string_view name) const {
  const auto data = find_data("__tracepoint_" + std::string(name));
  if (!data) return std::unexpected(LookupError{});
  for (const char* prefix : {"__probestub_", "__traceiter_"}) {
    const auto found = symbols_.named(prefix + std::string(name), data->module);
    if (!found.empty()) return symbol_of(found.front());
  }
  return *data;
}

std::expected<FunctionTypes, TypesError> KernelEnv::tracepoint_types(std::string_view name) const {
  if (!btf_) return std::unexpected(TypesError{});
  const auto data = find_data("__tracepoint_" + std::string(name));
  if (!data) return std::unexpected(TypesError{TypesFailure::Missing, ""});
  const Result<TypeTable>& types = btf_->types(data->module);
  if (!types)
    return std::unexpected(TypesError{TypesFailure::Missing, "its types are not known: " + types.error().message()});
  for (const char* prefix : {"__probestub_", "__traceiter_"})  // the first argument is the callback's own
    if (auto found = kernel_prototype(*types, prefix + std::string(name), 1)) return found;
  return std::unexpected(TypesError{TypesFailure::Missing, "BTF does not tell of this tracepoint"});
}

const TypeTable* KernelEnv::named_types() const {
  const Result<TypeTable>* types = btf_ ? &btf_->types("") : nullptr;
  return types != nullptr && *types ? &**types : nullptr;
}

FileStatus KernelEnv::file_status(std::string_view path) const { return uprobe_files::status(path); }

}  // namespace kevt::target
