// The programs and libraries of a ProcessEnv; private to process_*.cpp.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "compiler/target/elf/elf_image.h"
#include "compiler/target/elf/mapped_file.h"
#include "compiler/target/process/process_env.h"
#include "compiler/target/process/process_map.h"

namespace kevt::target {

std::string_view base_name(std::string_view path);

struct Loaded {
  LoadedObject object;  // without ranges: a file of of_files(), at bias 0
  ProcessModule module;
  std::string open_path;     // where this process can read the file; empty: nowhere
  std::optional<FileId> id;  // of open_path
  bool tried = false;        // whether image_of() has tried to open the image
  ImageOpener open_image = open_own_image;
  std::shared_ptr<const ElfImage> image;  // empty after trying: unreadable, not ELF, or not what is mapped
  std::string why;                        // why the file could not be opened; or empty

  bool covers(RemoteAddr address) const;
};

// The image; the first call opens it and finds the bias. nullptr: see Loaded::image.
const ElfImage* image_of(Loaded& loaded);
// Why the file could not be opened, or why its image cannot be trusted any more; empty: there is no trouble.
std::string trouble_with(const Loaded& loaded);
// Whether `wanted` is the file name, stem or path of `loaded`. The caller compares sonames, which needs the file.
bool module_matches(const Loaded& loaded, std::string_view wanted);
// Whether `wanted` is the name that the program was started by: `python3` of the file python3.11. exec(2) gives that
// name to the process, cut to 15 bytes, and who starts it says it again. Of a script the two differ.
bool is_started_as(pid_t pid, std::string_view wanted);
// A symbol as an error lists it: `libm.so.6:exp@GLIBC_2.2.5`, `program:_ZN4Pool4growEi (Pool::grow(int))`.
std::string label(const Loaded& loaded, const ElfSymbol& symbol);

}  // namespace kevt::target
