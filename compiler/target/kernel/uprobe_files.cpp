#include "compiler/target/kernel/uprobe_files.h"

#include <sys/stat.h>

#include <string>

#include "compiler/target/elf/elf_image.h"
#include "compiler/target/elf/usdt.h"
#include "compiler/target/types/source_places.h"

namespace kevt::target::uprobe_files {

namespace {

std::unexpected<LookupError> no_path() {
  return std::unexpected(LookupError{.why = "the kernel's uprobes take the path of a file"});
}

}  // namespace

FileStatus status(std::string_view path) {
  struct stat found;
  if (::stat(std::string(path).c_str(), &found) != 0) return FileStatus::Missing;
  return S_ISREG(found.st_mode) ? FileStatus::Regular : FileStatus::NotRegular;
}

std::expected<std::vector<UsdtSite>, LookupError> markers(std::string_view path, std::string_view provider,
                                                          std::string_view name) {
  if (!path.contains('/')) return no_path();
  const auto image = ElfImage::open(std::string(path));
  if (!image) return std::unexpected(LookupError{.why = image.error().message()});
  return usdt_sites(*image, path, provider, name);
}

std::expected<LinePlaces, LookupError> lines(const LineQuestion& question) {
  if (question.only_copies) return std::unexpected(LookupError{LookupFailure::NotChecked, {}});
  if (!question.module.contains('/')) return no_path();
  return lines_of_file(std::string(question.module), question);
}

std::expected<ListedSource, LookupError> list_lines(const LinesWanted& wanted) {
  if (!wanted.module.contains('/')) return no_path();
  return list_lines_of_file(std::string(wanted.module), wanted);
}

}  // namespace kevt::target::uprobe_files
