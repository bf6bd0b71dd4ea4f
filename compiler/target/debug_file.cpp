// Where distributions put debug information: in the file, or in another one that carries the same build id.
//
//   libc.so.6 (build id 58254ca9…)  ->  /usr/lib/debug/.build-id/58/254ca9….debug
//
// A file with another build id is never taken, whatever its name says. libdebuginfod is opened only where the user has
// set DEBUGINFOD_URLS: nothing is fetched from a network that nobody asked for.
#include "compiler/target/debug_file.h"

#include <dlfcn.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gelf.h>
#include <libelf.h>

#include <cstdlib>
#include <cstring>
#include <memory>

namespace kevt::target {

namespace {

struct EndElf {
  void operator()(Elf* elf) const { elf_end(elf); }
};
using OpenElf = std::unique_ptr<Elf, EndElf>;

struct Opened {
  UniqueFd fd;
  OpenElf elf;
};

Opened open_elf(const std::string& path) {
  elf_version(EV_CURRENT);
  Opened opened{UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), nullptr};
  if (opened.fd) opened.elf.reset(elf_begin(opened.fd.get(), ELF_C_READ_MMAP, nullptr));
  if (opened.elf && elf_kind(opened.elf.get()) != ELF_K_ELF) opened.elf.reset();
  return opened;
}

bool has_debug_info(Elf* elf) {
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return false;
  for (Elf_Scn* section = elf_nextscn(elf, nullptr); section != nullptr; section = elf_nextscn(elf, section)) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS) continue;
    const char* name = elf_strptr(elf, names, header.sh_name);
    if (name != nullptr && (std::strcmp(name, ".debug_info") == 0 || std::strcmp(name, ".zdebug_info") == 0))
      return true;
  }
  return false;
}

std::vector<std::uint8_t> build_id(Elf* elf) {
  const void* bytes = nullptr;
  const ssize_t length = dwelf_elf_gnu_build_id(elf, &bytes);
  if (length <= 0 || length > 64) return {};
  const auto* begin = static_cast<const std::uint8_t*>(bytes);
  return {begin, begin + length};
}

std::string hexadecimal(const std::vector<std::uint8_t>& bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

UniqueFd try_file(const std::string& path, const std::vector<std::uint8_t>& wanted) {
  Opened opened = open_elf(path);
  if (!opened.elf || build_id(opened.elf.get()) != wanted || !has_debug_info(opened.elf.get())) return {};
  opened.elf.reset();
  return std::move(opened.fd);
}

// The client library's own interface, looked up by name.
UniqueFd ask_debuginfod(const std::vector<std::uint8_t>& id) {
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

}  // namespace

DebugFile find_debug_file(const std::string& path) {
  Opened own = open_elf(path);
  const std::string name = path.substr(path.rfind('/') + 1);
  if (!own.elf) return {{}, fmt::format("`{}` cannot be read", path)};
  const auto id = build_id(own.elf.get());
  if (has_debug_info(own.elf.get())) {
    own.elf.reset();
    return {std::move(own.fd), ""};
  }
  if (id.empty())
    return {{}, fmt::format("`{}` has neither debug information nor a build id; compile it with -g", name)};
  const std::string text = hexadecimal(id);
  DebugFile found;
  found.fd = try_file(fmt::format("/usr/lib/debug/.build-id/{}/{}.debug", text.substr(0, 2), text.substr(2)), id);
  GElf_Word crc = 0;
  const char* link = dwelf_elf_gnu_debuglink(own.elf.get(), &crc);
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  if (!found.fd && link != nullptr && std::strchr(link, '/') == nullptr) {
    for (const std::string& place : {folder, folder + ".debug/", "/usr/lib/debug" + folder})
      if (!found.fd) found.fd = try_file(place + link, id);
  }
  if (!found.fd) found.fd = ask_debuginfod(id);
  if (!found.fd)
    found.why = fmt::format(
        "`{}` (build id {}) has no debug information here; install its -dbg or -dbgsym package, set DEBUGINFOD_URLS, "
        "or "
        "compile it with -g",
        name, text);
  return found;
}

}  // namespace kevt::target
