// Writes to the files of the tree: any path, any text. Promise: an answer, or an errno; what was written reads back
// without a mistake; what holds of the whole tree holds afterwards.
//
// One line of the input is one write: PATH|TEXT, `>` in front of the path truncates, `/` makes or removes an instance.
// There is no target, so switching events on is refused, and nothing is compiled.
#include <algorithm>
#include <cstdlib>

#include "runtime-user/engine/tracing.h"
#include "tests/fuzz/fuzz_entry.h"
#include "tests/golden/definition_world.h"
#include "tracefs-compat/tree/tracing_dir.h"

namespace {

using namespace kevt;

void require(bool holds) {
  if (!holds) std::abort();
}

void write_one(tree::TracingDir& dir, std::string_view line) {
  const std::size_t bar = line.find('|');
  std::string_view path = line.substr(0, bar);
  const std::string_view text = bar == std::string_view::npos ? std::string_view() : line.substr(bar + 1);
  if (path.starts_with('/')) {
    auto done = text.empty() ? dir.make_directory(path.substr(1)) : dir.remove_directory(path.substr(1));
    require(done || done.error().errno_value() != 0);
    return;
  }
  const auto mode = path.starts_with('>') ? tree::WriteMode::Replace : tree::WriteMode::Add;
  if (path.starts_with('>')) path.remove_prefix(1);
  auto done = dir.write(path, text, mode);
  require(done || done.error().errno_value() != 0);
  auto now = dir.read_ready(path, 4096);
  require(now || now.error().errno_value() != 0);
}

// A name made from the place (`p a'b` → p_a'b_0) may have characters that a written one must not have
// (sanitize_event_name() of kernel/trace/trace_probe.h replaces two of them only).
bool has_good_names(std::string_view listing) {
  constexpr std::string_view kGood = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_/";
  while (!listing.empty()) {
    const std::string_view line = listing.substr(0, listing.find('\n'));
    const std::size_t from = line.find(':') + 1;
    if (line.substr(from, line.find(' ') - from).find_first_not_of(kGood) != std::string_view::npos) return false;
    listing.remove_prefix(std::min(line.size() + 1, listing.size()));
  }
  return true;
}

}  // namespace

namespace kevt::fuzz {

std::vector<std::string> seeds() {
  return {
      "kprobe_events|p:a vfs_read fd=%di:s32\nevents/kprobes/a/filter|fd > 3 && common_pid != 0\n"
      "events/kprobes/a/trigger|traceoff:3 if fd == 1\nevents/kprobes/a/enable|1\nset_event|kprobes:a\n",
      "dynamic_events|s:lat u64 d; pid_t p\nsynthetic_events|!lat\n>dynamic_events|\nerror_log|\n",
      "/instances/one|\ninstances/one/tracing_cpumask|1\ninstances/one/trace_clock|counter\n/instances/one|x\n",
      "trace_marker|hello\ntrace_marker_raw|\x01zzzz\ntrace_options|noirq-info\noptions/raw|1\n>trace|\n",
      "buffer_size_kb|64\nper_cpu/cpu0/buffer_size_kb|8\nset_event_pid|1 2 3\n>set_event_notrace_pid|7\n"
      "saved_cmdlines_size|16\nsnapshot|1\nsnapshot|2\ncurrent_tracer|nop\ntracing_on|0\n",
      "kprobe_events|p:g/a vfs_read\nkprobe_events|-:g/a\nevents/g/filter|x == 1\nevents/header_page|\n"};
}

}  // namespace kevt::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const golden::DefinitionWorld world;
  engine::TracingOptions options{.cpus = 2};
  options.buffer_kb = 64;
  options.env = &world.env();
  engine::Tracing tracing({}, options);
  tree::Tree tree(tracing);
  const auto dir = tree::tracing_dir(tree);
  std::string_view text(reinterpret_cast<const char*>(data), size);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    write_one(*dir, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  for (const char* file : {"dynamic_events", "set_event", "trace", "error_log", "trace_options", "saved_cmdlines"})
    require(dir->read(file).has_value());
  // What is listed can be defined again, as a script that saves and restores does.
  auto listing = dir->read("kprobe_events");
  require(listing.has_value());
  if (dir->write("kprobe_events", "", tree::WriteMode::Replace) && has_good_names(*listing))
    require(dir->write("kprobe_events", *listing, tree::WriteMode::Add).has_value());
  return 0;
}
