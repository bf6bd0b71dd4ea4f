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
  LoadedObject object;  // without ranges: a file nobody has mapped, at bias 0
  ProcessModule module;
  std::string open_path;     // where we can read the file; empty: nowhere
  std::optional<FileId> id;  // of open_path
  bool tried = false;        // to open the image
  ImageOpener open_image = open_own_image;
  std::shared_ptr<const ElfImage> image;  // empty after trying: unreadable, not ELF, or not what is mapped
  std::string why;                        // it is unreadable or not ELF

  bool covers(RemoteAddr address) const;
};

// Opens the image, and finds the bias, at the first call.
const ElfImage* image_of(Loaded& loaded);
// Why nothing is known of the file, or what was known is not to be believed any more; empty: there is no trouble.
std::string trouble_with(const Loaded& loaded);
// By file name, stem or path; sonames are the caller's business.
bool module_matches(const Loaded& loaded, std::string_view wanted);

}  // namespace kevt::target
