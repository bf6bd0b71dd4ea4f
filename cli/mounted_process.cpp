// A mount lives long: its processes load libraries, end, or become other programs. Whether the libraries changed is
// seen in /proc/PID/maps; only then they are looked at again. The environment stays where it is, since printers refer
// to it.
#include "cli/mounted_process.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "common/proc.h"
#include "compiler/target/elf_image.h"

namespace kevt::cli {

namespace {

std::string file_mappings(pid_t pid) {
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  std::string files;
  for (std::string line; std::getline(maps, line);)
    if (line.find('/') != std::string::npos) files += line + '\n';
  return files;
}

}  // namespace

MountedProcess::MountedProcess(HeldProgram program)
    : held_(std::move(program)), name_(fmt::format("process {} ({})", pid(), proc::comm(pid()))) {
  mappings_ = file_mappings(pid());
}

const target::TargetEnv& MountedProcess::env() {
  std::string now = file_mappings(pid());
  if (now.empty() || now == mappings_) return *held_.env;
  target::ProcessEnvOptions options;
  options.resolve_ifunc = [runtime = held_.runtime.get()](RemoteAddr resolver) {
    return runtime->resolve_indirect(resolver);
  };
  auto fresh = target::ProcessEnv::of_process(pid(), std::move(options));
  if (!fresh) return *held_.env;  // it is ending
  *held_.env = std::move(*fresh);
  mappings_ = std::move(now);
  if (unwinder_) read_all_files();
  return *held_.env;
}

// Of the program and its libraries.
std::string MountedProcess::functions() const {
  std::set<std::string> files, lines;
  std::istringstream maps(file_mappings(pid()));
  for (std::string line; std::getline(maps, line);) {
    const std::size_t path = line.find('/');
    if (line.find(" r-xp ") != std::string::npos) files.insert(line.substr(path));
  }
  for (const std::string& file : files) {
    const auto image = target::ElfImage::open(file);
    if (!image) continue;
    const std::string module = std::filesystem::path(file).filename();
    for (const target::ElfSymbol& symbol : image->symbols())
      if (symbol.kind != target::SymbolKind::Object && symbol.versioning != target::SymbolVersion::Hidden)
        lines.insert(fmt::format("{} [{}]\n", symbol.name, module));
  }
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

Result<target::StackUnwinder*> MountedProcess::unwinder() {
  if (!unwinder_) {
    auto made = target::StackUnwinder::of_process(pid());
    if (!made) return std::unexpected(std::move(made.error()));
    unwinder_.emplace(std::move(*made));
    read_all_files();
  }
  return &*unwinder_;
}

// Files are read when an address of theirs is first looked at, which may be too late: they are found through /proc/PID.
void MountedProcess::read_all_files() const {
  std::istringstream maps(mappings_);
  for (std::string line; std::getline(maps, line);) {
    std::uint64_t start = 0;
    if (line.find(" r-xp ") != std::string::npos && std::sscanf(line.c_str(), "%lx-", &start) == 1)
      held_.env->symbolize(start);
  }
}

std::optional<engine::TracedTarget::MappedFile> MountedProcess::file_at(std::uint64_t address) const {
  std::istringstream maps(mappings_);
  for (std::string line; std::getline(maps, line);) {
    std::uint64_t start = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx", &start, &end) != 2 || address < start || address >= end) continue;
    return MappedFile{.path = line.substr(line.find('/')), .start = start};
  }
  return std::nullopt;
}

bool MountedProcess::is_alive() {
  constexpr unsigned kSeldom = 64;  // looking for an exec is a read of the target's memory
  if (held_.runtime->poll_exit()) return false;
  if (!replaced_ && ++looks_ % kSeldom == 0) replaced_ = held_.runtime->was_replaced();
  return !replaced_;
}

bool MountedProcess::has_become_another() {
  if (told_replaced_ || is_alive() || !replaced_) return false;
  return told_replaced_ = true;
}

bool MountedProcess::settle_if_ended() {
  if (settled_ || !held_.runtime->poll_exit()) return false;
  settled_ = true;
  held_.runtime->settle();
  return true;
}

}  // namespace kevt::cli
