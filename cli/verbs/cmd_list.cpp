// kevtrace list: the functions of programs and libraries, and the words of the language.
//
//   kevtrace list 'sqlite3_prep*' /usr/lib/x86_64-linux-gnu/libsqlite3.so.0
//   sqlite3_prepare  0x21ef0  16
//
// Addresses are those of the file (as nm prints them), sizes bytes; one line per name and version, in
// the order of names. -v plans a probe for each: jump, int3 with the reason, or refused with the reason.
// Aliases of one address are planned once. --usdt lists markers: PROVIDER:NAME, how many places it has, its arguments.
// -L lists lines of the source (list_lines.cpp).
#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "cli/definitions/list_lines.h"
#include "cli/definitions/list_words.h"
#include "cli/exit_status.h"
#include "cli/reporter.h"
#include "cli/verbs/commands.h"
#include "common/print.h"
#include "compiler/target/elf/elf_image.h"
#include "compiler/target/elf/linked_files.h"
#include "compiler/target/elf/mapped_file.h"
#include "compiler/target/elf/source_names.h"
#include "compiler/target/elf/usdt.h"
#include "compiler/target/near_misses.h"
#include "compiler/target/process/jit_code.h"
#include "compiler/target/process/process_map.h"
#include "runtime-user/runtime/inproc/x86/site_plan.h"

namespace kevt::cli {

namespace {

struct Row {
  std::string name;
  ImageAddr address;
  std::uint64_t size = 0;
  bool indirect = false;
  std::string in_source;  // its name there; empty: the same
  friend auto operator<=>(const Row&, const Row&) = default;
};

struct Tally {
  std::size_t jump = 0;
  std::size_t breakpoint = 0;
  std::size_t refused = 0;
};

bool matches(const std::string& name, const std::vector<std::string>& patterns) {
  if (patterns.empty()) return true;
  return std::ranges::any_of(patterns, [&](const std::string& p) { return fnmatch(p.c_str(), name.c_str(), 0) == 0; });
}

// The name in the source, whole or without its parameters.
bool matches_source(const std::string& name, const std::vector<std::string>& patterns) {
  return matches(name, patterns) || matches(std::string(target::qualified_name(name)), patterns);
}

// Behind the columns, since it has blanks.
std::string source_of(const Row& row) { return row.in_source.empty() ? "" : "  " + row.in_source; }

std::vector<Row> functions_of(const target::ElfImage& image, const std::vector<std::string>& patterns) {
  std::set<Row> rows;
  for (const target::ElfSymbol& symbol : image.symbols()) {
    if (symbol.kind == target::SymbolKind::Object) continue;
    std::string name(symbol.name), in_source = target::source_name(symbol.name);
    if (image.is_jit()) {
      in_source = std::exchange(name, target::jit_function_name(name));
      if (name.empty() || name == in_source) name = std::exchange(in_source, "");
    }
    if (!matches(name, patterns) && (in_source.empty() || !matches_source(in_source, patterns))) continue;
    if (symbol.versioning == target::SymbolVersion::Hidden) name += fmt::format("@{}", symbol.version);
    rows.insert(
        {std::move(name), symbol.address, symbol.size, symbol.kind == target::SymbolKind::IFunc, std::move(in_source)});
  }
  std::vector<Row> listed;
  for (const Row& row : rows) {
    // What a JIT compiler has made is there by its name and by its line of the perf map, which tells more.
    const bool is_again = image.is_jit() && !listed.empty() && listed.back().in_source.empty() &&
                          listed.back().name == row.name && listed.back().address == row.address;
    if (is_again) listed.pop_back();
    listed.push_back(row);
  }
  return listed;
}

std::string how_armed(const x86::SitePlan& plan) {
  switch (plan.kind) {
    case x86::ArmKind::Jump:
      return "jump";
    case x86::ArmKind::Breakpoint:
      return "int3: " + plan.reason;
    case x86::ArmKind::Refused:
      return "refused: " + plan.reason;
  }
  return "";
}

void count(const x86::SitePlan& plan, Tally& tally) {
  switch (plan.kind) {
    case x86::ArmKind::Jump:
      ++tally.jump;
      break;
    case x86::ArmKind::Breakpoint:
      ++tally.breakpoint;
      break;
    case x86::ArmKind::Refused:
      ++tally.refused;
      break;
  }
}

void print_brief(const std::vector<Row>& rows) {
  for (const Row& row : rows) print("{}  0x{:x}  {}{}\n", row.name, row.address.value, row.size, source_of(row));
}

void print_planned(const target::ElfImage& image, const std::vector<Row>& rows) {
  x86::SitePlanner planner(image);
  std::map<ImageAddr, x86::SitePlan> plans;
  Tally tally;
  for (const Row& row : rows) {
    auto it = plans.find(row.address);
    if (it == plans.end()) {
      it = plans.emplace(row.address, planner.plan(row.address)).first;
      count(it->second, tally);
    }
    print("{}  0x{:x}  {}  {}{}{}\n", row.name, row.address.value, row.size, how_armed(it->second), source_of(row),
          row.indirect ? "  (chooses the function that is called; a definition means the chosen one)" : "");
  }
  const std::size_t all = tally.jump + tally.breakpoint + tally.refused;
  if (all)
    print("{}: {} functions, by a jump {} ({:.1f} %), by int3 {}, refused {}\n", image.path(), all, tally.jump,
          100.0 * static_cast<double>(tally.jump) / static_cast<double>(all), tally.breakpoint, tally.refused);
}

// Somebody may have changed the file while it was read.
bool can_be_believed(const target::ElfImage& image, const Reporter& report, int& status) {
  const auto problem = image.problem();
  if (!problem) return true;
  report.error(*problem);
  status = kFailed;
  return false;
}

// The path of a program in PATH or of a library with this name; empty: none.
std::string installed_file(const std::string& word) {
  const std::string program = target::program_path(word);
  return program.empty() ? target::installed_library("", word) : program;
}

std::string which_file(const std::vector<std::string>& words) {
  for (const std::string& word : words)
    if (const std::string file = installed_file(word); !file.empty())
      return fmt::format(
          "`{0}` is a name to look for, a word with a `/` is a file: write `{1}` for what is installed as `{0}`", word,
          file);
  return "which program or library? give its path, e.g. `kevtrace list 'open*' "
         "/usr/lib/x86_64-linux-gnu/libc.so.6` (a word with a `/` is a file)";
}

// A file, or the code that JIT compilers have made in a process.
struct Listed {
  std::string name;
  Result<target::ElfImage> image;
};

struct Asked {
  std::vector<std::string> patterns;
  std::vector<Listed> images;

  bool is_several() const { return images.size() > 1; }
};

void add_images_of(std::int32_t pid, std::vector<Listed>& images) {
  const auto maps = target::read_maps(pid);
  if (!maps) return images.push_back({"", std::unexpected(maps.error())});
  const std::size_t before = images.size();
  for (const target::LoadedObject& object : target::loaded_objects(*maps))
    if (auto image = target::ElfImage::open(target::readable_path(pid, object)))  // else it is no program's file
      images.push_back({object.path, std::move(image)});
  auto jit = target::read_jit_code(pid, *maps, {});
  if (!jit) return images.push_back({"", std::unexpected(jit.error())});
  if (*jit) images.push_back({fmt::format("{} of process {}", target::kJitModule, pid), std::move((*jit)->image)});
  if (images.size() == before)
    images.push_back({"", std::unexpected(Error(fmt::format("process {} has no code that can be read", pid)))});
}

Asked asked_images(const ListOptions& options) {
  Asked asked;
  for (const std::string& word : options.words) {
    if (word.contains('/'))
      asked.images.push_back({word, target::ElfImage::open(word)});
    else
      asked.patterns.push_back(word);
  }
  for (const std::int32_t pid : options.pids) add_images_of(pid, asked.images);
  return asked;
}

// Suggests existing names that are close to those asked for.
std::string near_names(const Asked& asked) {
  const auto& [patterns, images] = asked;
  std::string all;
  for (const std::string& pattern : patterns) {
    target::NearMisses misses(pattern);
    for (const auto& [_, image] : images) {
      if (!image) continue;
      const auto& symbols = image->symbols();
      if (image->problem()) continue;
      for (const target::ElfSymbol& symbol : symbols)
        if (symbol.kind != target::SymbolKind::Object) misses.consider(symbol.name, "");
    }
    for (const std::string& name : misses.best()) all += (all.empty() ? "`" : ", `") + name + "`";
  }
  if (!all.empty()) return "; near it: " + all;
  const bool has_glob = std::ranges::any_of(patterns, [](const std::string& p) { return p.contains('*'); });
  return has_glob ? "" : fmt::format("; a part of a name: `*{}*`", patterns.front());
}

int list_functions(const ListOptions& options, const Reporter& report) {
  const Asked asked = asked_images(options);
  const auto& [patterns, images] = asked;
  if (images.empty()) {
    report.error(which_file(patterns));
    return kUsage;
  }
  int status = kOk;
  std::size_t found = 0;
  for (const auto& [name, image] : images) {
    if (!image) {
      report.error(image.error());
      status = kFailed;
      continue;
    }
    const std::vector<Row> rows = functions_of(*image, patterns);
    if (!can_be_believed(*image, report, status)) continue;
    found += rows.size();
    if (rows.empty() && asked.is_several() && !patterns.empty()) continue;
    if (asked.is_several()) print("{}:\n", name);
    if (options.verbose)
      print_planned(*image, rows);
    else
      print_brief(rows);
    if (options.verbose) can_be_believed(*image, report, status);  // the plans have read the code
  }
  if (status == kOk && found == 0) {
    report.error(patterns.empty() ? "no function has a name there; an address works: FILE:0xOFFSET"
                                  : "no function of that name there" + near_names(asked));
    return kFailed;
  }
  return status;
}

// The places of one marker.
struct UsdtRow {
  std::size_t places = 0;
  bool has_semaphore = false;
  std::string arguments;  // of the first
};

int list_usdt(const ListOptions& options, const Reporter& report) {
  const Asked asked = asked_images(options);
  const auto& [patterns, images] = asked;
  if (images.empty()) {
    report.error(which_file(patterns));
    return kUsage;
  }
  int status = kOk;
  std::size_t found = 0;
  for (const auto& [file, image] : images) {
    if (image && image->is_jit()) continue;
    auto markers = image ? target::read_usdt_markers(*image) : std::unexpected(image.error());
    if (!markers) {
      report.error(markers.error());
      status = kFailed;
      continue;
    }
    std::map<std::string, UsdtRow> rows;
    for (const target::UsdtMarker& marker : *markers) {
      const std::string name = marker.provider + ":" + marker.name;
      if (!matches(name, patterns)) continue;
      UsdtRow& row = rows[name];
      if (row.places++ == 0) row.arguments = marker.arguments;
      row.has_semaphore = row.has_semaphore || marker.semaphore;
    }
    found += rows.size();
    if (rows.empty() && asked.is_several() && !patterns.empty()) continue;
    if (asked.is_several()) print("{}:\n", file);
    for (const auto& [name, row] : rows)
      print("{}  {} place{}{}  {}\n", name, row.places, row.places == 1 ? "" : "s",
            row.has_semaphore ? "  semaphore" : "", row.arguments);
  }
  if (status == kOk && found == 0) {
    report.error(patterns.empty() ? "it has no markers (.note.stapsdt)" : "no marker of that name there");
    return kFailed;
  }
  return status;
}

}  // namespace

int list(const ListOptions& options, const GlobalOptions& global) {
  const Reporter report(global);
  const bool is_of_files = options.what == ListOptions::What::Functions || options.what == ListOptions::What::Usdt;
  if (!options.pids.empty() && !is_of_files) {
    report.error("--pid is for functions and markers; lines are those of a file");
    return kUsage;
  }
  switch (options.what) {
    case ListOptions::What::Functions:
      return list_functions(options, report);
    case ListOptions::What::Usdt:
      return list_usdt(options, report);
    case ListOptions::What::Lines:
      return list_lines(options, report);
    case ListOptions::What::Events:
      print_event_kinds();
      return kOk;
    case ListOptions::What::Registers:
      print_registers();
      return kOk;
    case ListOptions::What::Types:
      print_types();
      return kOk;
  }
  return kOurFailure;
}

}  // namespace kevt::cli
