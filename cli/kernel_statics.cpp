// events/*/*/format of the kernel's tracefs: where it is mounted, or in a mount of our own that nobody else sees.
// Probes that others have defined there are events like any other; ftrace's own records are the tree's
// (ftrace_formats.cpp).
#include "cli/kernel_statics.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace kevt::cli {

namespace {

constexpr std::string_view kFtraceGroup = "ftrace";
// perf refuses to sample what its own samples would raise again (arch/x86/include/asm/trace/irq_vectors.h).
constexpr std::string_view kRaisedByPerf = "irq_vectors/irq_work_exit";

// A descriptor of the directory; none: there is no tracefs for us.
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

std::vector<std::string> folders_in(int at, const std::string& path) {
  std::vector<std::string> names;
  const int fd = ::openat(at, path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* directory = fd < 0 ? nullptr : ::fdopendir(fd);
  if (!directory) return names;
  while (const dirent* entry = ::readdir(directory))
    if (entry->d_type == DT_DIR && entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  ::closedir(directory);
  return names;
}

std::string text_of(int at, const std::string& path) {
  const UniqueFd fd(::openat(at, path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  char piece[8192];
  for (ssize_t got; fd && (got = ::read(fd.get(), piece, sizeof piece)) > 0;)
    text.append(piece, static_cast<std::size_t>(got));
  return text;
}

model::TypeSpec type_of(const record::Field& field) {
  model::TypeSpec type;
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
      type.kind = model::TypeKind::Unsigned;
      type.array_count = std::max(field.size / std::max<std::uint32_t>(type.bytes, 1), 1u);
      break;
  }
  return type;
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
    layout.has_dynamic = layout.has_dynamic || model::RecordLayout::is_string(made);
    layout.fields.push_back(std::move(made));
  }
  return layout;
}

}  // namespace

Result<std::unique_ptr<KernelStatics>> KernelStatics::read(unsigned cpus, std::uint32_t ring_bytes) {
  auto reader = bpf::TracepointReader::create(cpus, ring_bytes);
  if (!reader) return std::unexpected(std::move(reader.error()));
  std::unique_ptr<KernelStatics> made(new KernelStatics(std::move(*reader)));
  made->tracefs_ = open_tracefs();
  const UniqueFd& tracefs = made->tracefs_;
  if (!tracefs) return made;
  for (const std::string& group : folders_in(tracefs.get(), "events")) {
    if (group == kFtraceGroup) continue;
    const std::string folder = "events/" + group;
    for (const std::string& name : folders_in(tracefs.get(), folder))
      if (group + "/" + name != kRaisedByPerf)
        made->add(group, name, text_of(tracefs.get(), folder + "/" + name + "/format"));
  }
  std::ranges::sort(made->all_, {}, &engine::StaticEvent::id);
  return made;
}

std::string KernelStatics::functions() const {
  return tracefs_ ? text_of(tracefs_.get(), "available_filter_functions") : "";
}

void KernelStatics::add(const std::string& group, const std::string& name, std::string text) {
  auto format = record::parse_format(group, text);
  if (!format || format->id == 0) return;
  all_.push_back(
      {.id = format->id, .group = group, .name = name, .format = std::move(text), .layout = layout_of(*format)});
  Printer& printer = printers_[format->id];
  printer.format = *std::move(format);
}

const record::Symbols& KernelStatics::symbols(const record::EventFormat& format) const {
  static const record::Symbols none;
  if (format.print_fmt.find("%pS") == std::string::npos && format.print_fmt.find("%ps") == std::string::npos)
    return none;
  if (!symbols_) {
    std::ifstream file("/proc/kallsyms");
    std::stringstream text;
    text << file.rdbuf();
    symbols_.emplace().parse_kallsyms(text.view());
  }
  return *symbols_;
}

void KernelStatics::append_text(std::uint32_t id, std::span<const std::uint8_t> record, std::string& out) const {
  const auto it = printers_.find(id);
  if (it == printers_.end()) return;
  Printer& printer = it->second;
  if (!printer.is_compiled) printer.print = record::PrintFormat::compile(printer.format);
  printer.is_compiled = true;
  if (printer.print)
    printer.print->print(record, symbols(printer.format), record::PlaceStyle::Symbols, out);
  else
    record::print_fields(printer.format, record, out);
}

}  // namespace kevt::cli
