#include "cli/complete/named_target.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "common/process_choice.h"
#include "compiler/target/elf/linked_files.h"
#include "compiler/target/kernel/kernel_types.h"
#include "compiler/target/process/process_env.h"
#include "runtime-user/runtime/runtime_names.h"

namespace kevt::cli {
namespace {

constexpr const char* kKallsyms = "/proc/kallsyms";
constexpr const char* kTypes = "/sys/kernel/btf/vmlinux";

void add_pids(std::string_view text, std::vector<pid_t>& pids) {
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(','));
    pid_t pid = 0;
    if (std::from_chars(word.data(), word.data() + word.size(), pid).ec == std::errc{} && pid > 0) pids.push_back(pid);
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
}

std::optional<target::ProcessEnv> process_env(const std::vector<pid_t>& pids, const std::string& program) {
  for (const pid_t pid : pids)
    if (auto env = target::ProcessEnv::of_process(pid, {})) return *std::move(env);
  if (program.empty()) return std::nullopt;
  auto env = target::ProcessEnv::of_files(target::linked_files(program), {});
  return env ? std::optional(*std::move(env)) : std::nullopt;
}

}  // namespace

NamedTarget::NamedTarget(const AskedWord& line) {
  for (const std::string& word : line.values_named("pid")) add_pids(word, pids_);
  const proc::ProcessChoice choice{.comms = line.values_named("comm"),
                                   .cgroups = line.values_named("cgroup"),
                                   .containers = line.values_named("container")};
  if (pids_.empty() && !choice.empty()) pids_ = proc::chosen_processes(choice);
  if (!line.command.empty()) program_ = target::program_path(line.command.front());
  for (const std::string& name : line.values_named("runtime"))
    is_kernel_ = is_kernel_ || runtime::traces_whole_machine(name);
}

const author::SymbolIndex& NamedTarget::symbols() {
  if (symbols_) return *symbols_;
  if (is_kernel_) return symbols_.emplace(author::SymbolIndex::of_running_kernel());
  const auto env = process_env(pids_, program_);
  return symbols_.emplace(env ? author::SymbolIndex::of_modules(env->modules()) : author::SymbolIndex());
}

const target::TargetEnv* NamedTarget::env() {
  if (env_) return env_.get();
  if (is_kernel_) {
    const target::KernelFiles files{.kallsyms = kKallsyms, .btf = {kTypes}, .is_of_this_machine = true};
    if (auto kernel = target::TypedKernel::open(files))
      env_ = std::make_unique<target::TypedKernel>(*std::move(kernel));
  } else if (auto process = process_env(pids_, program_)) {
    env_ = std::make_unique<target::ProcessEnv>(*std::move(process));
  }
  return env_.get();
}

}  // namespace kevt::cli
