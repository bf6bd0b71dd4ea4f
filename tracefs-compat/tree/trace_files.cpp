// trace and snapshot read the buffer without consuming it; trace_pipe consumes it and waits for more.
//
// A reader of `trace` walks a cursor and holds only the next piece of text: 64 MiB of records never become one text. A
// walk ends after as many records as there were at its begin, since it would never end if reading itself is traced.
// Reading an earlier offset starts a new walk. While the reader sleeps, records may be overwritten under its cursor; it
// goes on with the oldest there is, as the kernel's readers do. Mirrors s_start() … s_show(), tracing_read_pipe(),
// tracing_open_pipe() of kernel/trace/trace.c (6.1).
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "common/error.h"
#include "runtime-user/engine/text/trace_text.h"
#include "tracefs-compat/tree/node_table.h"
#include "tracefs-compat/tree/trace_stream.h"

namespace kevt::tree {

namespace {

enum class Which : std::uint8_t { Buffer, Snapshot };

class TraceHandle final : public Handle {
 public:
  TraceHandle(const Place& place, Which which)
      : place_(place), which_(which), cpu_(cpu_of(place)), text_(*place.tracing) {
    pauses_ = which == Which::Buffer && place.instance->options.has(engine::TraceOption::PauseOnTrace);
    if (!pauses_) return;
    place.tracing->drain();  // earlier hits are recorded
    ++place.instance->pauses;
  }
  ~TraceHandle() override {
    if (!pauses_) return;
    place_.tracing->drain();  // hits during the pause are not
    --place_.instance->pauses;
  }

  Result<std::size_t> read(std::uint64_t offset, std::span<char> out, Waiting) override {
    place_.tracing->drain();
    if (offset == 0 || offset < begin_) restart();
    const engine::TraceBuffer* buffer = shown();
    while (buffer && begin_ + made_.size() < offset + out.size()) {
      if (offset > begin_) drop(std::min<std::uint64_t>(offset - begin_, made_.size()));
      if (!make_more(*buffer)) break;
    }
    if (buffer) engine::TraceBuffer::pause(cursor_);
    if (offset > begin_) drop(std::min<std::uint64_t>(offset - begin_, made_.size()));
    if (offset != begin_) return 0;
    const std::size_t count = std::min(out.size(), made_.size());
    std::memcpy(out.data(), made_.text().data() + dropped_, count);
    if (count == 0 && buffer) left_ = buffer->stats(cpu_).entries;  // the next read gets records that came since
    return count;
  }

  // `echo > trace` truncates when it opens the file; the text that it writes is ignored.
  Result<std::size_t> write(std::string_view data, const Caller& caller) override {
    if (which_ == Which::Buffer) return data.size();
    KEVT_TRY(write_snapshot(data, caller));
    return data.size();
  }

 private:
  const engine::TraceBuffer* shown() const {
    engine::Instance& instance = *place_.instance;
    if (which_ == Which::Buffer) return &instance.buffer;
    return instance.snapshot ? &*instance.snapshot : nullptr;
  }

  void restart() {
    cursor_ = {};
    begin_ = 0;
    dropped_ = 0;
    entries_ = left_ = 0;
    started_.assign(place_.tracing->options().cpus, false);
    made_.clear();
    const engine::TraceBuffer* buffer = shown();
    if (buffer) left_ = buffer->stats(cpu_).entries;
    const bool is_help = which_ == Which::Snapshot && (!buffer || buffer->stats(cpu_).entries == 0);
    if (is_help) return append_help(buffer != nullptr);
    annotates_ = place_.instance->options.has(engine::TraceOption::Annotate) && buffer->stats(cpu_).overrun > 0;
    made_.text() += engine::TraceText::header(*place_.instance, *buffer, cpu_);
  }

  // Drops bytes at the front; the string is cut only when many were dropped.
  void drop(std::size_t count) {
    begin_ += count;
    dropped_ += count;
    if (dropped_ < kCut && dropped_ < made_.text().size()) return;
    made_.text().erase(0, dropped_);
    dropped_ = 0;
  }

  bool make_more(const engine::TraceBuffer& buffer) {
    if (left_ == 0) return false;
    const auto entry = buffer.next(cursor_, cpu_);
    if (!entry) return false;
    --left_;
    if (annotates_ && !started_[entry->cpu]) {
      started_[entry->cpu] = true;
      if (entries_ > 0) made_.text() += fmt::format("##### CPU {} buffer started ####\n", entry->cpu);
    }
    ++entries_;
    text_.append(*place_.instance, *entry, made_.text());
    return true;
  }

  void append_help(bool is_allocated) {
    made_.text() += fmt::format("# tracer: nop\n#\n#\n# * Snapshot is {} *\n#\n# Snapshot commands:\n",
                                is_allocated ? "allocated" : "freed");
    made_.text() += cpu_ ? "# echo 0 > snapshot : Invalid for per_cpu snapshot file.\n"
                           "# echo 1 > snapshot : Not supported with this kernel.\n"
                           "#                     Must use main snapshot file to allocate.\n"
                           "# echo 2 > snapshot : Clears this cpu's snapshot buffer (but does not allocate)\n"
                           "#                      (Doesn't have to be '2' works with any number that\n"
                           "#                       is not a '0' or '1')\n"
                         : "# echo 0 > snapshot : Clears and frees snapshot buffer\n"
                           "# echo 1 > snapshot : Allocates snapshot buffer, if not already allocated.\n"
                           "#                      Takes a snapshot of the main buffer.\n"
                           "# echo 2 > snapshot : Clears snapshot buffer (but does not allocate or free)\n"
                           "#                      (Doesn't have to be '2' works with any number that\n"
                           "#                       is not a '0' or '1')\n";
  }

  Result<void> write_snapshot(std::string_view data, const Caller&) {
    auto value = KEVT_TRY(parse_number(stripped(data), 0));
    engine::Instance& instance = *place_.instance;
    if (cpu_ && value < 2) return fails(EINVAL);
    place_.tracing->drain();
    if (value == 0) {
      instance.snapshot.reset();
    } else if (value == 1) {
      instance.take_snapshot();
    } else if (instance.snapshot) {
      if (cpu_)
        instance.snapshot->cpu(*cpu_).clear();
      else
        instance.snapshot->clear();
    }
    return {};
  }

  // The text without the dropped bytes.
  struct Made {
    explicit Made(std::size_t& dropped) : dropped_(dropped) {}
    std::string& text() { return text_; }
    std::size_t size() const { return text_.size() - dropped_; }
    void clear() { text_.clear(); }
    std::string text_;
    std::size_t& dropped_;
  };

  static constexpr std::size_t kCut = 1 << 20;
  Place place_;
  Which which_;
  std::optional<std::uint32_t> cpu_;
  engine::TraceText text_;
  engine::TraceBuffer::Cursor cursor_;
  std::size_t dropped_ = 0;  // of made_, at its front
  Made made_{dropped_};
  std::uint64_t begin_ = 0;  // offset in the file of made_ behind what was dropped
  std::uint64_t entries_ = 0;
  std::uint64_t left_ = 0;  // records until this walk ends
  std::vector<bool> started_;
  bool annotates_ = false;
  bool pauses_ = false;
};

// Only one consumer may read a CPU.
class PipeHandle final : public Handle {
 public:
  explicit PipeHandle(const Place& place)
      : place_(place), cpu_(cpu_of(place)), key_(cpu_ ? static_cast<std::int64_t>(*cpu_) : -1), text_(*place.tracing) {
    place_.instance->consumers.insert(key_);
  }
  ~PipeHandle() override { place_.instance->consumers.erase(key_); }

  static bool is_taken(const Place& place) {
    const auto& consumers = place.instance->consumers;
    const auto cpu = cpu_of(place);
    if (!cpu) return !consumers.empty();
    return consumers.contains(-1) || consumers.contains(static_cast<std::int64_t>(*cpu));
  }

  Result<std::size_t> read(std::uint64_t, std::span<char> out, Waiting waiting) override {
    if (left_.size() > 0) return left_.take(out);
    place_.tracing->drain();
    engine::Instance& instance = *place_.instance;
    while (left_.size() < out.size()) {
      const auto entry = instance.buffer.peek(cpu_);
      if (!entry) break;
      text_.append(instance, *entry, left_.text());
      instance.buffer.consume(entry->cpu);
    }
    if (left_.size() > 0) {
      has_read_ = true;
      return left_.take(out);
    }
    if (place_.tracing->records().is_finished()) {
      was_told_end_ = true;
      return 0;
    }
    if (waiting == Waiting::Allowed && !instance.tracing_on && has_read_) return 0;
    return fails(EAGAIN);
  }
  Result<std::size_t> write(std::string_view, const Caller&) override { return fails(EINVAL); }
  bool is_ready() override {
    engine::Instance& instance = *place_.instance;
    return left_.size() > 0 || instance.buffer.peek(cpu_) || (!instance.tracing_on && has_read_) ||
           place_.tracing->records().is_finished();
  }
  bool awaits_end() const override { return !was_told_end_; }

 private:
  Place place_;
  std::optional<std::uint32_t> cpu_;
  std::int64_t key_;
  engine::TraceText text_;
  Leftover left_;
  bool has_read_ = false;
  bool was_told_end_ = false;
};

}  // namespace

Opened open_trace(const Place& place, const OpenRequest& request) {
  if (request.writes && request.truncates) {
    place.tracing->drain();
    if (const auto cpu = cpu_of(place))
      place.instance->buffer.cpu(*cpu).clear();
    else
      place.instance->clear();
  }
  return std::make_unique<TraceHandle>(place, Which::Buffer);
}

Opened open_snapshot(const Place& place, const OpenRequest&) {
  return std::make_unique<TraceHandle>(place, Which::Snapshot);
}

Opened open_trace_pipe(const Place& place, const OpenRequest&) {
  if (PipeHandle::is_taken(place)) return fails(EBUSY);
  return std::make_unique<PipeHandle>(place);
}

}  // namespace kevt::tree
