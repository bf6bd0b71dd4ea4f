// The files that a process has loaded, and the names by which a definition may call them.
//
// Files are opened as mapped_file.h finds them, so containers and replaced files work.
// `libc` and `libc.so.6` both name /usr/lib/x86_64-linux-gnu/libc.so.6; `python3` names /usr/bin/python3.11 where the
// program was started as python3.
#include "compiler/target/process/process_modules.h"

#include <fmt/format.h>

#include <fstream>

#include "common/error.h"
#include "common/proc.h"
#include "compiler/target/elf/source_names.h"

namespace kevt::target {

std::string_view base_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

Result<std::shared_ptr<const ElfImage>> open_own_image(const std::string& path) {
  auto image = KEVT_TRY(ElfImage::open(path));
  return std::make_shared<const ElfImage>(std::move(image));
}

bool Loaded::covers(RemoteAddr address) const {
  if (!object.ranges.empty()) return object.contains(address);
  return image && image->is_mapped({address.value - module.bias});
}

const ElfImage* image_of(Loaded& loaded) {
  if (!loaded.tried) {
    loaded.tried = true;
    if (loaded.open_path.empty()) return nullptr;  // this process cannot read it
    auto image = loaded.open_image(loaded.open_path);
    if (!image) {
      loaded.why = image.error().message();
    } else {
      const std::optional<std::uint64_t> bias = load_bias(loaded.object, **image);
      if (bias) {
        loaded.module.bias = *bias;
        loaded.image = std::move(*image);
      }
    }
  }
  return loaded.image.get();
}

std::string trouble_with(const Loaded& loaded) {
  const auto problem = loaded.image ? loaded.image->problem() : std::nullopt;
  return problem ? problem->message() : loaded.why;
}

bool module_matches(const Loaded& loaded, std::string_view wanted) {
  if (wanted.contains('/')) {
    if (loaded.module.path == wanted) return true;
    return loaded.id && file_id(std::string(wanted)) == loaded.id;
  }
  const std::string_view name = loaded.module.name;
  return name == wanted || library_stem(name) == wanted;
}

bool is_started_as(pid_t pid, std::string_view wanted) {
  constexpr std::size_t kMostOfComm = 15;
  if (wanted.empty() || proc::comm(pid) != wanted.substr(0, kMostOfComm)) return false;
  std::ifstream words(fmt::format("/proc/{}/cmdline", pid));  // of a script it begins with the interpreter
  std::string first;
  std::getline(words, first, '\0');
  return base_name(first) == wanted;
}

std::string label(const Loaded& loaded, const ElfSymbol& symbol) {
  std::string text = loaded.module.name + ":" + std::string(symbol.name);
  if (const std::string name = source_name(symbol.name); !name.empty()) text += " (" + name + ")";
  if (symbol.versioning == SymbolVersion::Hidden) text += "@" + std::string(symbol.version);
  return text;
}

}  // namespace kevt::target
