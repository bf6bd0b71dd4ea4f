// A session may live long: its processes load libraries, end, or become other programs. Libraries are looked at again
// only if /proc/PID/maps has changed, the code of a JIT compiler when its perf map has. The ProcessEnv object stays the
// same, since printers hold references to it.
#include "runtime-user/session/traced_process.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "common/error.h"
#include "common/proc.h"
#include "compiler/target/elf/elf_image.h"
#include "compiler/target/elf/mapped_file.h"
#include "compiler/target/process/jit_code.h"

namespace kevt::session {

namespace {

std::string file_mappings(pid_t pid) {
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  std::string files;
  for (std::string line; std::getline(maps, line);)
    if (line.find('/') != std::string::npos) files += line + '\n';
  return files;
}

}  // namespace

TracedProcess::TracedProcess(HeldProgram program)
    : held(std::move(program)),
      pid_(held.runtime->pid()),
      name_(fmt::format("process {} ({})", pid_, proc::comm(pid_))) {
  mappings_ = file_mappings(pid());
  if (keeps_files()) held.env->keep_files();
}

const target::TargetEnv& TracedProcess::env() {
  if (!tells_of_libraries_) look_at_mappings();
  return *held.env;
}

void TracedProcess::look_at_mappings() {
  std::string now = file_mappings(pid());
  if (now.empty() || now == mappings_) return;
  look_again(std::move(now));
}

void TracedProcess::look_at_jit() {
  if (std::string now = file_mappings(pid()); !now.empty()) look_again(std::move(now));
}

void TracedProcess::look_again(std::string mappings) {
  if (!held.env->refresh()) return;  // the process is ending
  mappings_ = std::move(mappings);
  ++env_version_;
  held.runtime->note_new_files();
  if (keeps_files()) held.env->keep_files();
}

// With return probes the runtime must see every library that is loaded, since it may unwind stacks. Where only probes
// in libraries that may be unloaded need the watch, it may fail: they stay gone then.
Result<void> TracedProcess::note_armed() {
  if (!held.runtime->has_returns()) {
    const auto may_lose = held.runtime->may_lose_code();
    if (may_lose && *may_lose) (void)held.runtime->watch_libraries();
    return {};
  }
  auto watched = held.runtime->watch_libraries();  // false: a static program, which gets no more libraries
  return watched ? Result<void>() : std::unexpected(std::move(watched.error()));
}

// Of the program and its libraries.
std::string TracedProcess::functions() const {
  std::set<std::string> lines;
  const auto maps = target::read_maps(pid());
  if (!maps) return "";
  for (const target::LoadedObject& object : target::loaded_objects(*maps)) {
    const auto image = target::ElfImage::open(target::readable_path(pid(), object));
    if (!image) continue;
    const std::string module = std::filesystem::path(object.path).filename();
    for (const target::ElfSymbol& symbol : image->symbols())
      if (symbol.kind != target::SymbolKind::Object && symbol.versioning != target::SymbolVersion::Hidden)
        lines.insert(fmt::format("{} [{}]\n", symbol.name, module));
  }
  if (const auto jit = target::read_jit_code(pid(), *maps, {}); jit && *jit)
    for (const target::ElfSymbol& symbol : (*jit)->image.symbols())
      if (const std::string name = target::jit_function_name(symbol.name); !name.empty())
        lines.insert(fmt::format("{} [{}]\n", name, target::kJitModule));
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

Result<void> TracedProcess::prepare_stacks() {
  if (has_stacks_) return {};
  // Libraries are looked at when they are loaded, before stacks have their addresses; if that fails, when a stack has
  // one (HitStacks).
  (void)held.runtime->watch_libraries();
  KEVT_TRY(held.runtime->prepare_stacks());
  has_stacks_ = true;
  held.env->keep_files();
  return {};
}

std::optional<engine::TracedTarget::MappedFile> TracedProcess::file_at(std::uint64_t address) const {
  std::istringstream maps(mappings_);
  for (std::string line; std::getline(maps, line);) {
    std::uint64_t start = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx", &start, &end) != 2 || address < start || address >= end) continue;
    return MappedFile{.path = line.substr(line.find('/')), .start = start};
  }
  return std::nullopt;
}

bool TracedProcess::is_alive() {
  constexpr unsigned kSeldom = 64;  // looking for an exec is a read of the target's memory
  if (held.runtime->poll_exit()) return false;
  if (!replaced_ && ++looks_ % kSeldom == 0) replaced_ = held.runtime->was_replaced();
  return !replaced_;
}

void TracedProcess::give_way() {
  held.runtime->give_up();
  replaced_ = told_replaced_ = has_given_way_ = true;
}

void TracedProcess::keep_names() { held.runtime.reset(); }

bool TracedProcess::has_become_another() {
  if (told_replaced_ || is_alive() || !replaced_) return false;
  return told_replaced_ = true;
}

bool TracedProcess::has_just_ended() {
  if (told_ended_ || has_given_way_ || !held.runtime->poll_exit()) return false;
  return told_ended_ = true;
}

// Records are read later than they are made, perhaps after the process has ended. So the symbol files are opened now,
// and again whenever a library is loaded or unloaded.
Result<void> TracedProcess::keep_names_of_libraries() {
  names_libraries_ = true;
  held.env->keep_files();
  auto watched = held.runtime->watch_libraries();  // false: a static program, which gets no more libraries
  if (!watched) return std::unexpected(std::move(watched.error()));
  tells_of_libraries_ = *watched;
  return {};
}

bool TracedProcess::settle_if_ended() {
  if (settled_ || has_given_way_ || !held.runtime->poll_exit()) return false;
  settled_ = true;
  held.runtime->settle();
  return true;
}

}  // namespace kevt::session
