// Places in files: does the file exist, and is it one?
//
//   p /nofile:0x10  →  FileNotFound, ENOENT      p /etc:0x10  →  NoRegularFile      p /bin/sh/x:0  →  ENOTDIR
//
// The errno is the path walk's own, so a component that is too long or not a folder has its own.
// Mirrors __trace_uprobe_create() of kernel/trace/trace_uprobe.c (6.1).
#include <algorithm>

#include "compiler/sema/definition_check.h"

namespace kevt::sema {
namespace {

constexpr std::size_t kMaxComponentBytes = 255;
constexpr std::size_t kMaxPathBytes = 4095;

// The errno of a path that does not exist: that of the first component that cannot be walked.
int walk_errno(const DefinitionCheck& check, std::string_view path) {
  if (path.size() > kMaxPathBytes) return ENAMETOOLONG;
  std::size_t begin = 0;
  while (begin <= path.size()) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    if (end - begin > kMaxComponentBytes) return ENAMETOOLONG;
    const target::FileStatus status =
        end == begin ? target::FileStatus::NotRegular : check.env.file_status(path.substr(0, end));
    if (status == target::FileStatus::Regular) return ENOTDIR;
    if (status == target::FileStatus::Missing) return ENOENT;
    begin = end + 1;
  }
  return ENOENT;
}

}  // namespace

void check_file_place(DefinitionCheck& check, const model::FilePlace& place) {
  switch (check.env.file_status(place.path)) {
    case target::FileStatus::Regular:
      if (const auto address = check.env.find_file_offset(place.path, place.offset)) check.place_address = *address;
      return;
    case target::FileStatus::NotRegular:
      return check.report(
          {.kind = diag::Kind::NoRegularFile, .column = check.place_column(), .order = diag::kStepFile});
    case target::FileStatus::Missing:
      return check.report({.kind = diag::Kind::FileNotFound,
                           .column = check.place_column(),
                           .order = diag::kStepFile,
                           .errno_value = walk_errno(check, place.path)});
    case target::FileStatus::NotChecked:
      return;
  }
}

}  // namespace kevt::sema
