// events/header_page, header_event, and the events of group ftrace: what readers of raw pages ask for before anything
// else.
//
// Only print and raw_data are ever recorded here (trace_marker). The others are listed since trace-cmd and its like
// read them whether or not they occur. Ids are the kernel's. Mirrors kernel/trace/trace_entries.h (6.1).
#include <fmt/format.h>

#include <algorithm>

#include "compiler/layout/ring_page.h"
#include "tracefs-compat/tree/node_table.h"

namespace kevt::tree {

namespace {

struct FtraceEvent {
  std::string_view name;
  std::uint32_t id;
  std::string_view fields;  // behind the common ones
  std::string_view print;
};

constexpr std::string_view kCommonFields =
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";

#define KEVT_IP "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
#define KEVT_CALLERS                                                                 \
  "\\t=> %ps\\n\\t=> %ps\\n\\t=> %ps\\n\" \"\\t=> %ps\\n\\t=> %ps\\n\\t=> %ps\\n\" " \
  "\"\\t=> %ps\\n\\t=> %ps\\n\", (void *)REC->caller[0], (void *)REC->caller[1], "   \
  "(void *)REC->caller[2], (void *)REC->caller[3], (void *)REC->caller[4], "         \
  "(void *)REC->caller[5], (void *)REC->caller[6], (void *)REC->caller[7]"

constexpr FtraceEvent kEvents[] = {
    {"bprint", 6,
     KEVT_IP "\tfield:const char * fmt;\toffset:16;\tsize:8;\tsigned:0;\n"
             "\tfield:u32 buf[];\toffset:24;\tsize:0;\tsigned:0;\n",
     "\"%ps: %s\", (void *)REC->ip, REC->fmt"},
    {"bputs", 14, KEVT_IP "\tfield:const char * str;\toffset:16;\tsize:8;\tsigned:0;\n",
     "\"%ps: %s\", (void *)REC->ip, REC->str"},
    {"function", 1, KEVT_IP "\tfield:unsigned long parent_ip;\toffset:16;\tsize:8;\tsigned:0;\n",
     "\" %ps <-- %ps\", (void *)REC->ip, (void *)REC->parent_ip"},
    {"kernel_stack", 4,
     "\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n"
     "\tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;\n",
     "\"" KEVT_CALLERS},
    {"print", 5, KEVT_IP "\tfield:char buf[];\toffset:16;\tsize:0;\tsigned:1;\n",
     "\"%ps: %s\", (void *)REC->ip, REC->buf"},
    {"raw_data", 18,
     "\tfield:unsigned int id;\toffset:8;\tsize:4;\tsigned:0;\n"
     "\tfield:char buf[];\toffset:12;\tsize:0;\tsigned:1;\n",
     "\"id:%04x %08x\", REC->id, (int)REC->buf[0]"},
    {"user_stack", 12,
     "\tfield:unsigned int tgid;\toffset:8;\tsize:4;\tsigned:0;\n"
     "\tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;\n",
     "\"" KEVT_CALLERS},
};
#undef KEVT_IP
#undef KEVT_CALLERS

Opened fixed(std::string text) {
  return open_text(
      {.read = [text = std::move(text)]() -> Result<std::string> { return text; }, .write = {}, .write_some = {}});
}

const FtraceEvent& event_at(const Place& place) {
  return *std::ranges::find(kEvents, std::string_view(place.names.front()), &FtraceEvent::name);
}

}  // namespace

std::vector<std::string> ftrace_event_names() {
  std::vector<std::string> names;
  for (const FtraceEvent& event : kEvents) names.emplace_back(event.name);
  return names;
}

Opened open_header_page(const Place&, const OpenRequest&) { return fixed(std::string(layout::header_page_text())); }
Opened open_header_event(const Place&, const OpenRequest&) { return fixed(std::string(layout::header_event_text())); }

Opened open_ftrace_format(const Place& place, const OpenRequest&) {
  const FtraceEvent& event = event_at(place);
  return fixed(fmt::format("name: {}\nID: {}\nformat:\n{}{}\nprint fmt: {}\n", event.name, event.id, kCommonFields,
                           event.fields, event.print));
}

Opened open_ftrace_id(const Place& place, const OpenRequest&) { return fixed(fmt::format("{}\n", event_at(place).id)); }

}  // namespace kevt::tree
