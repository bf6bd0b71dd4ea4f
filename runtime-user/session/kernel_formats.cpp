// Formats in the kernel's tracefs: where it is mounted, or in a mount of our own that nobody else sees.
//
// What others have defined there as probes is left out, as far as its group says so: no program can be attached to it
// as to a static event.
#include "runtime-user/session/kernel_formats.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace kevt::session {

// A descriptor of the tracing directory; an empty one if there is no tracefs that we may read.
UniqueFd open_tracefs() {
  std::ifstream mounts("/proc/self/mounts");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string source, place, type;
    words >> source >> place >> type;
    if (type != "tracefs") continue;
    UniqueFd found(::open(place.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (found) return found;
  }
  const UniqueFd context(static_cast<int>(::syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC)));
  if (!context || ::syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) return {};
  return UniqueFd(static_cast<int>(::syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC, MOUNT_ATTR_RDONLY)));
}

std::string text_in(int at, const std::string& path) {
  const UniqueFd fd(::openat(at, path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  char piece[8192];
  for (ssize_t got; fd && (got = ::read(fd.get(), piece, sizeof piece)) > 0;)
    text.append(piece, static_cast<std::size_t>(got));
  return text;
}

namespace {

model::TypeSpec type_of(const record::Field& field) {
  model::TypeSpec type{.text = field.type};
  type.bytes = static_cast<std::uint8_t>(field.size <= 8 ? field.size : field.item_bytes ? field.item_bytes : 1);
  switch (field.kind) {
    case record::FieldKind::Number:
      type.kind = field.is_signed ? model::TypeKind::Signed : model::TypeKind::Unsigned;
      if (field.type.ends_with("char *")) type = {.text = field.type};
      break;
    case record::FieldKind::Text:
      type.kind = model::TypeKind::Char;
      type.bytes = 1;
      type.array_count = field.size;
      break;
    case record::FieldKind::DynamicText:
      type.kind = model::TypeKind::String;
      break;
    case record::FieldKind::Numbers:
    case record::FieldKind::DynamicTexts:
    case record::FieldKind::DynamicBytes:
    case record::FieldKind::DynamicNumbers:
      type.kind = model::TypeKind::Unsigned;
      type.array_count = std::max(field.size / std::max<std::uint32_t>(type.bytes, 1), 1u);
      break;
  }
  return type;
}

}  // namespace

bool is_folder_of_events(std::string_view word) {
  return !word.empty() && word.find_first_of("./") == std::string_view::npos &&
         word.find('\0') == std::string_view::npos;
}

bool is_of_probes(std::string_view group) {
  constexpr std::string_view kGroups[] = {"kprobes", "uprobes", "eprobes", "fprobes", "tracepoints", "ftrace"};
  return std::ranges::find(kGroups, group) != std::end(kGroups);
}

model::RecordLayout layout_of(const record::EventFormat& format) {
  model::RecordLayout layout;
  layout.fixed_size = std::max<std::uint32_t>(format.fixed_size(), model::kCommonBytes);
  for (const record::Field& field : format.fields) {
    model::RecordField made;
    made.name = field.name;
    made.type = type_of(field);
    made.offset = field.offset;
    made.size = field.size;
    made.is_signed = field.is_signed;
    if (field.is_relative) made.located_from = field.offset + field.size;
    layout.has_dynamic = layout.has_dynamic || model::RecordLayout::is_string(made);
    layout.fields.push_back(std::move(made));
  }
  return layout;
}

KernelCatalog::KernelCatalog() : tracefs_(open_tracefs()) {}

bool KernelCatalog::is_readable() const {
  return tracefs_ && ::faccessat(tracefs_.get(), "events", R_OK | X_OK, AT_EACCESS) == 0;
}

const KernelCatalog::Found* KernelCatalog::look_up(std::string_view group, std::string_view event) const {
  if (!tracefs_ || !is_folder_of_events(group) || !is_folder_of_events(event) || is_of_probes(group)) return nullptr;
  const std::string path = std::string(group) + "/" + std::string(event);
  const auto [it, is_new] = found_.try_emplace(path);
  if (is_new) {
    const auto format = record::parse_format(group, text_in(tracefs_.get(), "events/" + path + "/format"));
    if (format && format->id != 0)
      it->second = Found{.id = format->id,
                         .entry = {.group = std::string(group),
                                   .event = std::string(event),
                                   .owner = target::EventOwner::Static,
                                   .siblings = {},
                                   .layout = layout_of(*format)}};
  }
  return it->second ? &*it->second : nullptr;
}

const target::CatalogEntry* KernelCatalog::find(std::string_view group, std::string_view event) const {
  const Found* found = look_up(group, event);
  return found ? &found->entry : nullptr;
}

std::optional<std::uint32_t> KernelCatalog::id_of(const model::EventPlace& place) const {
  const Found* found = look_up(place.system, place.event);
  return found ? std::optional(found->id) : std::nullopt;
}

}  // namespace kevt::session
