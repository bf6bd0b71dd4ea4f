// saved_cmdlines, saved_tgids, printk_formats; trace_marker, trace_marker_raw.
//
// Mirrors saved_cmdlines_show(), tracing_mark_write(), tracing_mark_raw_write() of kernel/trace/trace.c (6.1): a marker
// of more than 1024 bytes is cut, and the write says how much was taken.
#include <fmt/format.h>

#include <cerrno>

#include "common/error.h"
#include "tracefs-compat/tree/node_table.h"

namespace kevt::tree {

namespace {

constexpr std::size_t kMaxMarker = 1024;
constexpr std::size_t kMaxRawMarker = 3072;
constexpr std::size_t kTagBytes = 4;
constexpr std::uint64_t kMaxSavedTasks = 1 << 20;

enum class Form : std::uint8_t { Text, Raw };

class MarkerHandle final : public Handle {
 public:
  MarkerHandle(const Place& place, Form form) : place_(place), form_(form) {}
  Result<std::size_t> read(std::uint64_t, std::span<char>, Waiting) override { return fails(EINVAL); }
  Result<std::size_t> write(std::string_view data, const Caller& caller) override {
    engine::Instance& instance = *place_.instance;
    if (!instance.options.has(engine::TraceOption::Markers)) return fails(EINVAL);
    if (!instance.tracing_on) return fails(EBADF);
    if (form_ == Form::Raw) {
      if (data.size() < kTagBytes || data.size() > kMaxRawMarker) return fails(EINVAL);
      place_.tracing->markers().write_raw(instance, caller.tid, caller.comm,
                                          {reinterpret_cast<const std::uint8_t*>(data.data()), data.size()});
      return data.size();
    }
    data = data.substr(0, kMaxMarker);
    if (data.empty()) return 0;
    place_.tracing->markers().write(instance, caller.tid, caller.comm, data);
    return data.size();
  }

 private:
  Place place_;
  Form form_;
};

}  // namespace

Opened open_saved_cmdlines(const Place& place, const OpenRequest&) {
  return read_only([place]() -> Result<std::string> {
    place.tracing->drain();
    std::string text;
    for (const engine::SavedTask& task : place.tracing->tasks().saved().all())
      if (!task.comm.empty()) text += fmt::format("{} {}\n", task.tid, task.comm);
    return text;
  });
}

Opened open_saved_cmdlines_size(const Place& place, const OpenRequest&) {
  return open_text(
      {.read = [place]() -> Result<std::string> { return fmt::format("{}\n", place.tracing->tasks().saved().limit()); },
       .write = [place](std::string_view text, const Caller&) -> Result<void> {
         auto value = KEVT_TRY(parse_number(text, 10));
         if (value == 0 || value > kMaxSavedTasks) return fails(EINVAL);
         place.tracing->tasks().saved().set_limit(value);
         return {};
       },
       .write_some = {}});
}

Opened open_saved_tgids(const Place& place, const OpenRequest&) {
  return read_only([place]() -> Result<std::string> {
    place.tracing->drain();
    std::string text;
    for (const engine::SavedTask& task : place.tracing->tasks().saved().all())
      if (task.tgid != 0) text += fmt::format("{} {}\n", task.tid, task.tgid);
    return text;
  });
}

Opened open_printk_formats(const Place&, const OpenRequest&) {
  return read_only([]() -> Result<std::string> { return std::string(); });
}

Opened open_trace_marker(const Place& place, const OpenRequest&) {
  return std::make_unique<MarkerHandle>(place, Form::Text);
}
Opened open_trace_marker_raw(const Place& place, const OpenRequest&) {
  return std::make_unique<MarkerHandle>(place, Form::Raw);
}

}  // namespace kevt::tree
