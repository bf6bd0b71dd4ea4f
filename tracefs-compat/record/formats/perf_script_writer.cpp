// The text of `perf script`, which many tools read: FlameGraph's stackcollapse-perf.pl, speedscope, the Firefox
// profiler.
//
//   python3    7121 [001]   100.123456: kprobes:opened: (open64+0x0/0xd0) path="/etc/passwd"
//   	    7f32b5c0e1a0 open64+0x0 (libc.so.6)
//   	    55f1c2b4a1b2 main+0x12 (python3)
//
// The kernel's own events are told in the words of libtraceevent's plugins, which perf loads, too.
// Where there are stacks a sample ends with an empty line. Line ends inside names and texts are blanks here, since who
// reads it takes a line for a frame. Mirrors perf_sample__fprintf_start(), sample__fprintf_callchain() of
// tools/perf (6.1): without stacks names of threads stand to the right.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "tracefs-compat/record/print/trace_line.h"
#include "tracefs-compat/record/recording_formats.h"

namespace kevt::record {
namespace {

class PerfScriptWriter final : public RecordWriter {
 public:
  PerfScriptWriter(OutputFile file, const Metadata& metadata)
      : file_(std::move(file)),
        metadata_(metadata),
        lines_(metadata, {.controls = file_.controls(),
                          .is_one_line = true,
                          .words = TraceLines::Words::Plugins,
                          .is_completed_later = true}) {}
  Result<void> add(const TypedRecord& record) override;
  Result<void> flush() override;
  Result<void> finish() override;
  std::optional<std::string> take_note() override { return lines_.take_problem(); }
  std::uint64_t bytes() const override { return file_.written(); }

 private:
  void append_head(const TypedRecord& record, std::string& out) const;
  void clean_from(std::size_t begin, std::string& out) const;
  void append_stack(const TypedRecord& record, std::string& out) const;
  void end_sample(std::string& out);

  OutputFile file_;
  const Metadata& metadata_;
  TraceLines lines_;
  std::optional<bool> has_stacks_;  // as it was at the first record: the form of lines stays
  std::optional<std::pair<std::uint32_t, std::int32_t>>
      sample_;  // CPU and thread of the last one; absent: it has ended
};

// "NAME+0xOFF (FILE)".
std::string frame_text(const Symbol* symbol, std::uint64_t address) {
  if (!symbol) return "[unknown] ([unknown])";
  if (is_place(*symbol)) return fmt::format("[unknown] ({})", symbol->name.substr(0, symbol->name.rfind('+')));
  const std::string_view file = symbol->module.empty() ? std::string_view("[unknown]") : symbol->module;
  return fmt::format("{}+{:#x} ({})", symbol->name, address - symbol->address, file);
}

void PerfScriptWriter::clean_from(std::size_t begin, std::string& out) const {
  std::replace(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end(), '\n', ' ');
  escape_from(begin, file_.controls(), out);
}

void PerfScriptWriter::append_head(const TypedRecord& record, std::string& out) const {
  const std::size_t begin = out.size();
  fmt::format_to(std::back_inserter(out), fmt::runtime(*has_stacks_ ? "{} " : "{:>16} "), record.comm);
  clean_from(begin, out);
  const std::uint64_t us = record.time_ns / 1000;
  fmt::format_to(std::back_inserter(out), "{:>7} [{:03}] {:>5}.{:06}: ", record.pid, record.cpu, us / 1'000'000,
                 us % 1'000'000);
}

void PerfScriptWriter::append_stack(const TypedRecord& record, std::string& out) const {
  const Field* caller = record.event->find("caller");
  if (!caller) return;
  const Symbols& symbols = metadata_.symbols_of(record.thread());
  for (const std::uint64_t address : stack_of(*caller, record.bytes)) {
    fmt::format_to(std::back_inserter(out), "\t{:16x} ", address);
    const std::size_t begin = out.size();
    out += frame_text(symbols.find(address), address);
    clean_from(begin, out);
    out += '\n';
  }
}

void PerfScriptWriter::end_sample(std::string& out) {
  if (sample_ && *has_stacks_) out += '\n';
  sample_.reset();
}

Result<void> PerfScriptWriter::add(const TypedRecord& record) {
  if (!has_stacks_) has_stacks_ = std::ranges::any_of(metadata_.formats.all(), is_stack);
  std::string& out = file_.buffer();
  const std::pair of{record.cpu, record.pid};
  const bool is_of_stack = is_stack(*record.event);
  if (!is_of_stack || sample_ != of) {
    end_sample(out);
    if (record.lost_before == ~std::uint64_t{0})
      fmt::format_to(std::back_inserter(out), "# records were lost on CPU {}\n", record.cpu);
    else if (record.lost_before)
      fmt::format_to(std::back_inserter(out), "# {} records were lost on CPU {}\n", record.lost_before, record.cpu);
    append_head(record, out);
    const std::size_t begin = out.size();
    out += record.event->system + ':';
    if (is_of_stack) out += record.event->name + ":";
    clean_from(begin, out);
    if (!is_of_stack) lines_.append_event(record, out);
    out += '\n';
    sample_ = of;
  }
  if (is_of_stack) append_stack(record, out);
  return file_.is_long() ? flush() : Result<void>();
}

Result<void> PerfScriptWriter::flush() {
  lines_.complete(file_.buffer());
  return file_.flush();
}

Result<void> PerfScriptWriter::finish() {
  end_sample(file_.buffer());
  return flush();
}

}  // namespace

Result<std::unique_ptr<RecordWriter>> create_perf_script(const std::string& path, const Metadata& metadata) {
  return create_in_file<PerfScriptWriter>(path, metadata);
}

}  // namespace kevt::record
