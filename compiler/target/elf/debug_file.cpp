// Where distributions put debug information: in the file, or in another one that carries the same build id.
//
//   libc.so.6 (build id 58254ca9…)  ->  /usr/lib/debug/.build-id/58/254ca9….debug
//
// A file with another build id is never taken, whatever its name says. Names come from files that others wrote, so a
// named file is opened only if it is a regular file. libdebuginfod is opened only if the user has set DEBUGINFOD_URLS:
// nothing is fetched from a network unless the user asked for it.
#include "compiler/target/elf/debug_file.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "common/error.h"
#include "common/hexadecimal.h"
#include "compiler/target/elf/elf_sections.h"

namespace kevt::target {

namespace {

using BuildId = std::vector<std::uint8_t>;

constexpr std::uint64_t kLongestPath = 4096;

struct Candidate {
  std::shared_ptr<FileContents> contents;
  ElfSections sections;
};

Result<Candidate> look_at(std::shared_ptr<FileContents> contents) {
  const CheckedBytes file(*contents);
  const auto header = read_elf_header(file);
  Candidate candidate{.contents = contents, .sections = header ? read_sections(file, *header) : ElfSections{}};
  if (auto problem = contents->problem()) return std::unexpected(std::move(*problem));
  if (!header) return std::unexpected(Error(header.error()).while_doing("reading `" + contents->name() + "`"));
  return candidate;
}

Result<Candidate> open_candidate(const std::string& path) {
  auto contents = KEVT_TRY(FileContents::open(path));
  return look_at(std::move(contents));
}

bool has_debug_info(const ElfSections& sections) {
  for (const char* name : {".debug_info", ".zdebug_info"})
    if (const Elf64_Shdr* section = sections.find(name); section && section->sh_type != SHT_NOBITS) return true;
  return false;
}

std::string place_of(const BuildId& id) {
  const std::string text = hexadecimal(id);
  return fmt::format("/usr/lib/debug/.build-id/{}/{}.debug", text.substr(0, 2), text.substr(2));
}

// Tries the places where the debug file may lie; the first that fits is taken.
class Search {
 public:
  explicit Search(BuildId id) : id_(std::move(id)) {}

  void try_file(const std::string& path) {
    if (found_) return;
    auto candidate = open_candidate(path);
    if (candidate) return take(*std::move(candidate));
    if (const int why = candidate.error().errno_value(); why == ENOENT || why == ENOTDIR) return;
    if (refused_.empty()) refused_ = candidate.error().message();
  }
  void take(Candidate candidate) {
    if (build_id_of(candidate.sections) == id_ && has_debug_info(candidate.sections))
      found_ = std::move(candidate.contents);
  }
  const BuildId& id() const { return id_; }
  std::shared_ptr<FileContents> found() const { return found_; }
  // Why the first file that exists could not be read; empty if there was no such file.
  const std::string& refused() const { return refused_; }

 private:
  BuildId id_;
  std::shared_ptr<FileContents> found_;
  std::string refused_;
};

// Calls libdebuginfod through dlsym(): kevtrace is not linked with it.
UniqueFd ask_debuginfod(const BuildId& id) {
  const char* urls = std::getenv("DEBUGINFOD_URLS");
  if (urls == nullptr || *urls == '\0') return {};
  void* library = ::dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {};
  const auto begin = reinterpret_cast<void* (*)()>(::dlsym(library, "debuginfod_begin"));
  const auto find = reinterpret_cast<int (*)(void*, const unsigned char*, int, char**)>(
      ::dlsym(library, "debuginfod_find_debuginfo"));
  const auto end = reinterpret_cast<void (*)(void*)>(::dlsym(library, "debuginfod_end"));
  UniqueFd found;
  if (begin != nullptr && find != nullptr && end != nullptr) {
    if (void* client = begin()) {
      const int fd = find(client, id.data(), static_cast<int>(id.size()), nullptr);
      if (fd >= 0) found = UniqueFd(fd);
      end(client);
    }
  }
  return found;
}

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }

void try_debug_link(Search& search, const ElfSections& sections, const std::string& folder) {
  const Elf64_Shdr* section = sections.find(".gnu_debuglink");
  const std::string_view link = section ? sections.contents(*section).text(0, kLongestPath) : std::string_view{};
  if (link.empty() || link.contains('/')) return;
  for (const std::string& place : {folder, folder + ".debug/", "/usr/lib/debug" + folder})
    search.try_file(place + std::string(link));
}

void try_debuginfod(Search& search) {
  if (search.found()) return;
  UniqueFd file = ask_debuginfod(search.id());
  if (!file) return;
  auto contents = FileContents::of(std::move(file), "the file from debuginfod");
  if (!contents) return;
  if (auto candidate = look_at(std::move(*contents))) search.take(*std::move(candidate));
}

}  // namespace

DebugFile find_debug_file(const std::string& path, DebugSources sources) {
  auto own = open_candidate(path);
  if (!own) return {{}, own.error().message()};
  const std::string name = path.substr(path.rfind('/') + 1);
  if (has_debug_info(own->sections)) return {std::move(own->contents), ""};
  Search search(build_id_of(own->sections));
  if (search.id().empty())
    return {{}, fmt::format("`{}` has neither debug information nor a build id; compile it with -g", name)};
  search.try_file(place_of(search.id()));
  try_debug_link(search, own->sections, folder_of(path));
  if (sources == DebugSources::All) try_debuginfod(search);
  if (search.found()) return {search.found(), ""};
  return {{},
          fmt::format("`{}` (build id {}) has no debug information here{}; install its -dbg or -dbgsym package, set "
                      "DEBUGINFOD_URLS, or compile it with -g",
                      name, hexadecimal(search.id()), search.refused().empty() ? "" : " (" + search.refused() + ")")};
}

// Section .gnu_debugaltlink: a path that may be relative to the file's folder, NUL, the build id.
std::shared_ptr<FileContents> find_alternate_file(const FileContents& file) {
  const CheckedBytes bytes(file);
  const auto header = read_elf_header(bytes);
  const ElfSections sections = header ? read_sections(bytes, *header) : ElfSections{};
  const Elf64_Shdr* section = sections.find(".gnu_debugaltlink");
  const CheckedBytes link = section ? sections.contents(*section) : CheckedBytes{};
  const std::string_view name = link.text(0, kLongestPath);
  if (name.empty() || link.size() - name.size() - 1 > kLongestBuildId) return nullptr;
  const auto id = link.part(name.size() + 1, link.size() - name.size() - 1)->span();
  if (id.empty()) return nullptr;
  Search search(BuildId(id.begin(), id.end()));
  search.try_file(place_of(search.id()));
  search.try_file(name.starts_with('/') ? std::string(name) : folder_of(file.name()) + std::string(name));
  return search.found();
}

}  // namespace kevt::target
