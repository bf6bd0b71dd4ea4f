// events/*/*/format of the kernel's tracefs. Probes that others have defined there are events like any other; ftrace's
// own records are the tree's (ftrace_formats.cpp).
#include "runtime-user/session/kernel_statics.h"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "runtime-user/session/kernel_formats.h"

namespace kevt::session {

namespace {

constexpr std::string_view kFtraceGroup = "ftrace";
// perf refuses to sample what its own samples would raise again (arch/x86/include/asm/trace/irq_vectors.h).
constexpr std::string_view kRaisedByPerf = "irq_vectors/irq_work_exit";

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

}  // namespace

Result<std::unique_ptr<KernelStatics>> KernelStatics::read(unsigned cpus, std::uint32_t ring_bytes,
                                                           const std::optional<std::set<model::EventName>>& only) {
  auto reader = KEVT_TRY(bpf::TracepointReader::create(cpus, ring_bytes));
  std::unique_ptr<KernelStatics> made(new KernelStatics(std::move(reader)));
  made->tracefs_ = open_tracefs();
  if (!made->tracefs_) return made;
  if (!only) made->add_all();
  for (const model::EventName& name : only.value_or(std::set<model::EventName>()))
    if (is_folder_of_events(name.system) && is_folder_of_events(name.event))
      made->add(name.system, name.event,
                text_in(made->tracefs_.get(), "events/" + name.system + "/" + name.event + "/format"));
  std::ranges::sort(made->all_, {}, &engine::StaticEvent::id);
  return made;
}

void KernelStatics::add_all() {
  for (const std::string& group : folders_in(tracefs_.get(), "events")) {
    if (group == kFtraceGroup) continue;
    const std::string folder = "events/" + group;
    for (const std::string& name : folders_in(tracefs_.get(), folder))
      if (group + "/" + name != kRaisedByPerf)
        add(group, name, text_in(tracefs_.get(), folder + "/" + name + "/format"));
  }
}

std::string KernelStatics::functions() const {
  return tracefs_ ? text_in(tracefs_.get(), "available_filter_functions") : "";
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
  if (!strings_) {
    strings_.emplace();
    if (tracefs_) strings_->parse_printk_formats(text_in(tracefs_.get(), "printk_formats"));
  }
  if (format.print_fmt.find("%pS") == std::string::npos && format.print_fmt.find("%ps") == std::string::npos)
    return *strings_;
  if (!symbols_) {
    symbols_ = strings_;
    std::ifstream file("/proc/kallsyms");
    std::stringstream text;
    text << file.rdbuf();
    symbols_->parse_kallsyms(text.view());
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

}  // namespace kevt::session
