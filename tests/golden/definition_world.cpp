// The miniature tracing directory.
//
//   write(Kprobe, "p:m vfs_read a=%di")  →  listing() == {"p:kprobes/m vfs_read a=%di"}
//
// Problem: goldens and the corpus speak of what a write did to a whole directory. Idea: the same stages as
// the pipeline's (parse leniently, check, lay out), and a list of probes in order of definition.
// Not here: enabling, so nothing is ever busy. Deletions mirror dyn_event_release() (trace_dynevent.c, 6.1).
#include "tests/golden/definition_world.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <sstream>
#include <utility>

#include "compiler/layout/layout.h"
#include "compiler/sema/sema.h"

namespace kevt::golden {
namespace {

constexpr std::string_view kFunctions[] = {
    "vfs_read",  "vfs_write",    "vfs_open",   "vfs_fsync", "do_sys_openat2",
    "ksys_read", "kernel_clone", "ksys_write", "schedule",  "do_exit",
};
constexpr std::uint64_t kFunctionBytes = 0x1000;
constexpr std::uint64_t kFirstFunction = 0xffffffff81000000;
constexpr std::string_view kData[] = {"jiffies", "init_task", "linux_proc_banner"};
constexpr std::uint64_t kFirstData = 0xffffffff82000000;

struct StaticEvent {
  std::string_view group;
  std::string_view event;
  std::vector<std::string_view> fields;  // "kind:name": t text, u/s and bytes
};

const std::vector<StaticEvent>& static_events() {
  static const std::vector<StaticEvent> events = {
      {"sched",
       "sched_switch",
       {"t:prev_comm", "s4:prev_pid", "s4:prev_prio", "s8:prev_state", "t:next_comm", "s4:next_pid", "s4:next_prio"}},
      {"sched", "sched_process_exec", {"t:filename", "s4:pid", "s4:old_pid"}},
      {"syscalls", "sys_enter_openat", {"s4:__syscall_nr", "u8:dfd", "u8:filename", "u8:flags", "u8:mode"}},
      {"syscalls", "sys_exit_openat", {"s4:__syscall_nr", "s8:ret"}},
      {"syscalls", "sys_enter_read", {"s4:__syscall_nr", "u8:fd", "u8:buf", "u8:count"}},
      {"syscalls", "sys_exit_read", {"s4:__syscall_nr", "s8:ret"}},
      {"raw_syscalls", "sys_enter", {"s8:id", "u8:args"}},
      {"ftrace", "function", {"u8:ip"}},
  };
  return events;
}

model::RecordField static_field(std::string_view text) {
  const std::size_t colon = text.find(':');
  model::RecordField field{.name = std::string(text.substr(colon + 1))};
  if (text[0] == 't') {
    field.type = {.kind = model::TypeKind::String, .bytes = 4};
    field.size = 4;
  } else {
    field.type.kind = text[0] == 's' ? model::TypeKind::Signed : model::TypeKind::Unsigned;
    field.type.bytes = static_cast<std::uint8_t>(text[1] - '0');
    field.size = field.type.bytes;
    field.is_signed = text[0] == 's';
  }
  return field;
}

target::CatalogEntry static_entry(const StaticEvent& event) {
  target::CatalogEntry entry{.group = std::string(event.group), .event = std::string(event.event)};
  for (const std::string_view text : event.fields) {
    model::RecordField field = static_field(text);
    field.offset = entry.layout.fixed_size;
    entry.layout.fixed_size += field.size;
    entry.layout.fields.push_back(std::move(field));
  }
  return entry;
}

void add_files(target::FixedTargetEnv& env) {
  const std::string folder(kFolder);
  const std::string long_name = "averyveryverylongprogramnamethatgoesonandonandonforsixtyfourcharactersormore";
  for (const std::string& name : {std::string("target"), std::string("odd-name_x.1.bin"), std::string("with:colon"),
                                  long_name, std::string("data.txt"), std::string("empty"), std::string("link"),
                                  std::string("/target"), std::string("./target")}) {
    env.add_file(folder + "/" + name, target::FileStatus::Regular);
  }
  for (const std::string& path :
       {folder, folder + "/", folder + "/sub", folder + "/sub/", std::string("/"), std::string("/sys"),
        std::string("/bin"), std::string("."), std::string("/proc"), std::string("/proc/self"), std::string("//"),
        std::string("/dev/null"), folder + "//", folder + "/."}) {
    env.add_file(path, target::FileStatus::NotRegular);
  }
  for (const char* path : {"./target", "/proc/self/exe", "/bin/sh"}) env.add_file(path, target::FileStatus::Regular);
}

bool belongs_to(grammar::EventsFile file, model::EventKind kind) {
  switch (file) {
    case grammar::EventsFile::Kprobe:
      return kind == model::EventKind::Kprobe;
    case grammar::EventsFile::Uprobe:
      return kind == model::EventKind::Uprobe;
    case grammar::EventsFile::Synthetic:
      return kind == model::EventKind::Synthetic;
    case grammar::EventsFile::Dynamic:
      return true;
  }
  return false;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

// `f` probes say themselves what they are: f[N]:G/E SYM[%return].
std::string listing_of(const model::Definition& definition, unsigned cpus) {
  std::string text = layout::listing(definition, cpus);
  if (definition.kind != model::EventKind::Fprobe || definition.probe_kind != model::ProbeKind::Return) return text;
  if (definition.maxactive) text.insert(1, std::to_string(*definition.maxactive));
  const std::size_t place = text.find(' ') + 1;
  text.insert(std::min(text.find(' ', place), text.size()), "%return");
  return text;
}

// Place and arguments, as far as they were given, must be the listing's.
bool matches(const model::Deletion& deletion, const model::Definition& probe, const std::string& listing) {
  if (deletion.group && *deletion.group != probe.group) return false;
  if (deletion.event && *deletion.event != probe.event) return false;
  // A whole group is nothing that synthetic events know.
  if (!deletion.event && probe.kind == model::EventKind::Synthetic) return false;
  if (!deletion.location || probe.kind == model::EventKind::Synthetic) return true;
  auto words = words_of(listing);
  std::string location = *deletion.location;
  if (probe.kind == model::EventKind::Eprobe) std::ranges::replace(location, '/', '.');
  if (probe.kind == model::EventKind::Fprobe && words.size() > 1) words[1] = words[1].substr(0, words[1].find('%'));
  if (words.size() < 2 + deletion.args.size() || words[1] != location) return false;
  return std::equal(deletion.args.begin(), deletion.args.end(), words.begin() + 2);
}

}  // namespace

DefinitionWorld::DefinitionWorld(dialect::Dialect dialect) : dialect_(dialect) {
  std::uint64_t address = kFirstFunction;
  for (const std::string_view name : kFunctions) {
    env_.add_function({.name = std::string(name), .module = "", .address = address, .size = kFunctionBytes});
    address += kFunctionBytes;
  }
  address = kFirstData;
  for (const std::string_view name : kData) {
    env_.add_data({.name = std::string(name), .module = "", .address = address, .size = 64});
    address += 64;
  }
  add_files(env_);
  for (const StaticEvent& event : static_events()) catalog_.add(static_entry(event));
}

WriteResult DefinitionWorld::write(grammar::EventsFile file, std::string_view text) {
  WriteResult result;
  for (const grammar::Line& line : grammar::split_lines(text)) {
    if (!write_line(file, line.text, result)) break;
  }
  return result;
}

bool DefinitionWorld::write_line(grammar::EventsFile file, std::string_view line, WriteResult& result) {
  diag::Sink sink;
  auto statement = grammar::parse_line_leniently(line, file, sink, dialect_);
  if (statement && std::holds_alternative<model::Deletion>(*statement)) {
    result.errno_value = remove(std::get<model::Deletion>(*statement), file, result);
    return result.errno_value == 0;
  }
  if (statement && define(std::move(std::get<model::Definition>(*statement)), sink, result)) return true;
  if (sink.empty()) return true;
  result.mistakes = sink.take();
  result.errno_value = result.mistakes.front().errno_value;
  return false;
}

bool DefinitionWorld::define(model::Definition definition, diag::Sink& sink, WriteResult& result) {
  auto checked = sema::check_definition(std::move(definition), env_, catalog_, sink,
                                        {.dialect = dialect_, .newer_forms = sema::NewerForms::Judged});
  if (!checked) return false;
  result.needs_types = std::ranges::any_of(checked->definition.args, &model::FetchArg::needs_types);
  const auto layout = layout::layout_record(checked->definition, sink);
  if (!layout) return false;
  const std::string name = checked->definition.group + "/" + checked->definition.event;
  result.format[name] = layout::format_text(checked->definition, *layout, 0);
  const unsigned cpus = checked->is_deferred ? 0 : env_.possible_cpus();
  probes_.push_back({.definition = checked->definition, .listing = listing_of(checked->definition, cpus)});
  rebuild(checked->definition.group, checked->definition.event);
  return true;
}

int DefinitionWorld::remove(const model::Deletion& deletion, grammar::EventsFile file, WriteResult& result) {
  const auto gone = [&](const Probe& probe) {
    return belongs_to(file, probe.definition.kind) && matches(deletion, probe.definition, probe.listing);
  };
  std::vector<std::pair<std::string, std::string>> names;
  for (const Probe& probe : probes_) {
    if (gone(probe)) names.emplace_back(probe.definition.group, probe.definition.event);
  }
  std::erase_if(probes_, gone);
  for (const auto& [group, event] : names) {
    rebuild(group, event);
    if (std::as_const(catalog_).find(group, event) == nullptr) result.format.erase(group + "/" + event);
  }
  return names.empty() ? ENOENT : 0;
}

// The catalog's entry of one event, from the probes that are left.
void DefinitionWorld::rebuild(std::string_view group, std::string_view event) {
  catalog_.remove(group, event);
  target::CatalogEntry entry{.group = std::string(group), .event = std::string(event)};
  for (const auto& [definition, unused] : probes_) {
    if (definition.group == group && definition.event == event)
      entry.siblings.push_back(std::make_shared<const model::Definition>(definition));
  }
  if (entry.siblings.empty()) return;
  diag::Sink unused;
  entry.owner = target::owner_of(entry.siblings.front()->kind);
  entry.layout = *layout::layout_record(*entry.siblings.front(), unused);
  catalog_.add(std::move(entry));
}

std::vector<std::string> DefinitionWorld::listing() const {
  std::vector<std::string> lines;
  for (const Probe& probe : probes_) lines.push_back(probe.listing);
  return lines;
}

std::vector<target::CatalogEntry> static_catalog() {
  std::vector<target::CatalogEntry> entries;
  for (const StaticEvent& event : static_events()) entries.push_back(static_entry(event));
  return entries;
}

std::optional<grammar::EventsFile> events_file(std::string_view name) {
  if (name == "kprobe_events") return grammar::EventsFile::Kprobe;
  if (name == "uprobe_events") return grammar::EventsFile::Uprobe;
  if (name == "synthetic_events") return grammar::EventsFile::Synthetic;
  if (name == "dynamic_events") return grammar::EventsFile::Dynamic;
  return std::nullopt;
}

std::string error_name(int value) {
  const char* name = strerrorname_np(value);
  return value == 0 || name == nullptr ? "" : name;
}

}  // namespace kevt::golden
