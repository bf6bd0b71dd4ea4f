// trace.dat(5) put together in memory. Texts that grow get room from the beginning and are filled up with line ends,
// which every reader of them skips: a recording that is never finished has its names all the same.
#include "tracefs-compat/record/dat/dat_head.h"

#include <fmt/format.h>

#include <map>

#include "compiler/layout/ring_page.h"
#include "tracefs-compat/record/dat/dat_ids.h"
#include "tracefs-compat/record/metadata_text.h"

namespace kevt::record {
namespace {

void put(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> 8 * i);
}

void put_string(std::string& out, std::string_view text) {
  out += text;
  out += '\0';
}

std::string filled_up(std::string text, std::uint64_t room) {
  if (room > text.size()) text.append(room - text.size(), '\n');
  if (room && text.size() > room) text.resize(text.rfind('\n', room - 1) + 1), text.append(room - text.size(), '\n');
  return text;
}

std::string clock_text(const std::string& clock) {
  std::string out;
  for (std::string_view one : {"local", "global", "counter", "uptime", "perf", "mono", "mono_raw", "boot", "tai"})
    out += fmt::format(fmt::runtime(one == clock ? "[{}] " : "{} "), one);
  if (out.find('[') == std::string::npos) out += fmt::format("[{}] ", clock);
  out.back() = '\n';
  return out;
}

}  // namespace

void put16(std::string& out, std::uint16_t value) { put(out, value, 2); }
void put32(std::string& out, std::uint32_t value) { put(out, value, 4); }
void put64(std::string& out, std::uint64_t value) { put(out, value, 8); }

std::string dat_magic(char version) {
  std::string out(dat::kMagic);
  out += version;
  out += '\0';
  out += '\0';    // little endian
  out += '\x08';  // bytes of a long
  put32(out, layout::kRingPageBytes);
  return out;
}

std::string header_info_bytes() {
  std::string out;
  put_string(out, "header_page");
  put64(out, layout::header_page_text().size());
  out += layout::header_page_text();
  put_string(out, "header_event");
  put64(out, layout::header_event_text().size());
  out += layout::header_event_text();
  return out;
}

std::string ftrace_formats_bytes(const Metadata& metadata) {
  std::string out, events;
  std::uint32_t count = 0;
  for (const EventFormat& event : metadata.formats.all()) {
    if (event.system != "ftrace") continue;
    ++count;
    put64(events, event.text.size());
    events += event.text;
  }
  put32(out, count);
  return out + events;
}

std::string event_formats_bytes(const Metadata& metadata, const FormatText& format) {
  std::map<std::string, std::vector<const EventFormat*>> systems;
  for (const EventFormat& event : metadata.formats.all())
    if (event.system != "ftrace") systems[event.system].push_back(&event);
  std::string out;
  put32(out, static_cast<std::uint32_t>(systems.size()));
  for (const auto& [system, events] : systems) {
    put_string(out, system);
    put32(out, static_cast<std::uint32_t>(events.size()));
    for (const EventFormat* event : events) {
      const std::string text = format(*event);
      put64(out, text.size());
      out += text;
    }
  }
  return out;
}

std::vector<DatOption> dat_options(const Metadata& metadata, std::uint64_t metadata_room) {
  std::vector<DatOption> out;
  const auto add = [&](std::uint16_t id, std::string text) {
    text += '\0';
    out.push_back({id, std::move(text)});
  };
  add(dat::kTraceClock, clock_text(metadata.clock));
  if (!metadata.host.empty()) add(dat::kUname, metadata.host);
  add(dat::kVersion, metadata.maker.empty() ? "kevtrace" : metadata.maker);
  for (const std::string& text : metadata.cpu_statistics) add(dat::kCpuStat, text);
  std::string cpus;
  put32(cpus, metadata.cpus);
  out.push_back({dat::kCpuCount, cpus});
  if (const std::string maps = process_maps_text(metadata); !maps.empty()) add(dat::kProcMaps, maps);
  add(dat::kCpuStat, filled_up(metadata_text(metadata), metadata_room));
  return out;
}

std::string option_bytes(const DatOption& option) {
  std::string out;
  put16(out, option.id);
  put32(out, static_cast<std::uint32_t>(option.data.size()));
  return out + option.data;
}

DatHeadBytes dat6_head(const Metadata& metadata, const FormatText& format, const DatRoom& room,
                       const std::vector<CpuExtent>& cpus) {
  DatHeadBytes made;
  std::string& out = made.bytes;
  out = dat_magic('6') + header_info_bytes() + ftrace_formats_bytes(metadata) + event_formats_bytes(metadata, format);
  const std::string kallsyms = filled_up(kallsyms_text(metadata), room.kallsyms);
  put32(out, static_cast<std::uint32_t>(kallsyms.size()));
  made.kallsyms_at = out.size();
  out += kallsyms;
  const std::string printk = printk_formats_text(metadata);
  put32(out, static_cast<std::uint32_t>(printk.size()));
  out += printk;
  const std::string comms = filled_up(comms_text(metadata), room.comms);
  put64(out, comms.size());
  made.comms_at = out.size();
  out += comms;
  put32(out, static_cast<std::uint32_t>(cpus.size()));
  put_string(out, "options  ");
  for (const DatOption& option : dat_options(metadata, room.metadata)) {
    made.metadata_at = out.size() + 6;  // it is the last one
    out += option_bytes(option);
  }
  put16(out, dat::kDone);
  put_string(out, "flyrecord");
  made.table_at = out.size();
  for (const CpuExtent& cpu : cpus) {
    put64(out, cpu.offset);
    put64(out, cpu.size);
  }
  return made;
}

}  // namespace kevt::record
