// The functions of kevtrace.h: one reader over a recording, or over the records of a program that is traced.
//
// A run is `kevtrace stream -f json`, whose lines tell their own formats; the recording's reader reads them, so a
// record of a run and one of a recording are the same here.
#include "library/kevtrace.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "common/kevtrace_child.h"
#include "tracefs-compat/record/formats/json_reader.h"
#include "tracefs-compat/record/histogram_object.h"
#include "tracefs-compat/record/recording.h"

namespace {

using namespace kevt;
using Child = KevtraceChild;

// $KEVTRACE, the program that was installed with this library, or "kevtrace", which PATH tells.
std::string program() {
  if (const char* named = ::secure_getenv("KEVTRACE"); named != nullptr && *named != '\0') return named;
  Dl_info here;
  if (::dladdr(reinterpret_cast<const void*>(&program), &here) != 0 && here.dli_fname != nullptr) {
    const std::unique_ptr<char, decltype(&std::free)> whole(::realpath(here.dli_fname, nullptr), &std::free);
    std::string folder(whole ? whole.get() : "");
    for (unsigned up = 0; up < 3 && folder.contains('/'); ++up) {  // lib/x86_64-linux-gnu/libkevtrace.so.0
      folder.resize(folder.rfind('/'));
      const std::string one = folder.substr(0, folder.rfind('/') + 1) + "bin/kevtrace";
      if (::access(one.c_str(), X_OK) == 0) return one;
    }
  }
  return "kevtrace";
}

thread_local std::string failure;
thread_local bool is_out_of_memory = false;  // then `failure` could not be written

// As one word each: a text may begin with a dash.
void add_list(std::vector<std::string>& words, const char* option, const char* const* list) {
  for (; list != nullptr && *list != nullptr; ++list) words.push_back(fmt::format("{}={}", option, *list));
}

// A file's name that no option is like.
std::string as_path(const char* path) { return *path == '-' ? std::string("./") + path : path; }

std::vector<std::string> words_of(const kevtrace_run_options& options) {
  // Histograms come in the stream; their tables would go to the caller's standard output.
  std::vector<std::string> words = {"stream",        "-f",       "json", "-o", std::string(Child::kOutput),
                                    "--hist-output", "/dev/null"};
  add_list(words, "--event", options.definitions);
  add_list(words, "--filter", options.filters);
  add_list(words, "--trigger", options.triggers);
  add_list(words, "--hist", options.histograms);
  if (options.script != nullptr) words.insert(words.end(), {"-p", as_path(options.script)});
  if (options.count != 0) words.insert(words.end(), {"-c", std::to_string(options.count)});
  if (options.interval > 0) words.insert(words.end(), {"--interval", fmt::format("{}", options.interval)});
  if (options.seconds > 0) words.insert(words.end(), {"-d", fmt::format("{}", options.seconds)});
  if (options.buffer_kb != 0) words.insert(words.end(), {"--buffer", std::to_string(options.buffer_kb)});
  if (options.runtime != nullptr) words.insert(words.end(), {"--runtime", options.runtime});
  if (options.follow != 0) words.emplace_back("--follow-forks");
  if (options.pid != 0) words.insert(words.end(), {"--pid", std::to_string(options.pid)});
  if (options.command == nullptr) return words;
  words.emplace_back("--");
  for (const char* const* word = options.command; *word != nullptr; ++word) words.emplace_back(*word);
  return words;
}

// No exception leaves the library: what runs out of memory fails.
template <class Result, class Do>
Result guarded(Result otherwise, Do what) noexcept {
  is_out_of_memory = false;
  try {
    try {
      return what();
    } catch (const std::bad_alloc&) {
      is_out_of_memory = true;
    } catch (const std::exception& thrown) {
      failure = thrown.what();
    }
  } catch (...) {
    is_out_of_memory = true;
  }
  return otherwise;
}

bool has_histograms(const kevtrace_run_options& options) {
  if (options.histograms != nullptr && *options.histograms != nullptr) return true;
  for (const char* const* one = options.triggers; one != nullptr && *one != nullptr; ++one)
    if (std::string_view(*one).contains("hist:")) return true;
  return false;
}

// The caller's options, as far as this version knows them. False: they have more than this version knows.
bool take_options(const kevtrace_run_options& given, kevtrace_run_options& options) {
  constexpr std::size_t kFirstVersion = offsetof(kevtrace_run_options, histograms);
  if (given.size < kFirstVersion) return false;
  const auto* bytes = reinterpret_cast<const unsigned char*>(&given);
  const std::size_t known = std::min(given.size, sizeof options);
  if (std::any_of(bytes + known, bytes + given.size, [](unsigned char byte) { return byte != 0; })) return false;
  std::memcpy(&options, &given, known);
  return true;
}

bool is_time(double seconds) { return seconds >= 0 && std::isfinite(seconds); }

// Why options cannot be taken; empty: they can, and are in `options`.
std::string why_not(const kevtrace_run_options& given, kevtrace_run_options& options) {
  if (!take_options(given, options)) return "the options are those of another version";
  if (options.pid != 0 && options.command != nullptr) return "`pid` and `command` exclude each other";
  if (!is_time(options.seconds) || !is_time(options.interval)) return "`seconds` and `interval` are seconds, 0 or more";
  return "";
}

// Runs the program to its end. Its standard output, or nullopt: it could not be run.
std::optional<std::string> run_to_end(std::vector<std::string> words, std::string_view input, int& status) {
  failure.clear();
  auto child = Child::start(program(), std::move(words), input, false);
  if (!child) {
    failure = child.error().message();
    return std::nullopt;
  }
  std::string output;
  while (!child->has_ended()) {
    child->wait(-1);
    child->read(output);
  }
  child->read(output);
  status = child->status();
  if (status != 0) failure = child->messages();
  return output;
}

}  // namespace

namespace kevt::library {

// The child's lines, as they come.
class ChildLines final : public kevt::record::LineSource {
 public:
  explicit ChildLines(kevt::KevtraceChild& child) : child_(child) {}

  bool next(std::string_view& line) override {
    if (is_held) return false;
    std::size_t end = text_.find('\n', at_ + searched_);
    if (end == std::string::npos) {
      text_.erase(0, at_);
      begin_ += std::exchange(at_, 0);
      searched_ = text_.size();
      if (text_.size() > kLongest) text_.clear(), searched_ = 0;  // no line of ours
      if (!child_.read(text_)) return false;
      end = text_.find('\n', searched_);
      if (end == std::string::npos) return false;
    }
    searched_ = 0;
    line = std::string_view(text_).substr(at_, end - at_);
    line_at_ = begin_ + at_;
    at_ = end + 1;
    return true;
  }
  std::uint64_t line_at() const override { return line_at_; }
  void rewind() override {}

  bool is_held = false;  // what follows waits

 private:
  static constexpr std::size_t kLongest = kevt::record::kMostHistogramBytes + 1024;
  kevt::KevtraceChild& child_;
  std::string text_;
  std::size_t at_ = 0, searched_ = 0;  // so many bytes from `at_` on have no end of a line
  std::uint64_t begin_ = 0, line_at_ = 0;
};

}  // namespace kevt::library

struct kevtrace_reader {
  std::optional<Child> child;            // nullopt: a recording
  bool is_of_fleet = false;              // the child reads a database, and traces nothing
  library::ChildLines* lines = nullptr;  // of the child, owned by `records`
  std::unique_ptr<record::RecordReader> records;
  record::TypedRecord record;
  std::string event, comm;
  std::optional<std::string> histogram;
  mutable std::string messages;
  std::string why;      // tracing failed, where kevtrace said nothing
  bool stands = false;  // on a record
  bool wants_histograms = false;
  std::size_t reading = 0, object = 0;  // of a recording's histograms, the next one

  // Reads what the child writes. A histogram has its place between two records: the lines behind it wait.
  void follow(Child started) {
    child.emplace(std::move(started));
    auto source = std::make_unique<library::ChildLines>(*child);
    lines = source.get();
    records = record::follow_json(std::move(source), [this](std::string object_text) {
      lines->is_held = wants_histograms;
      histogram = std::move(object_text);
    });
  }
  // To the next record, or the next histogram before it.
  kevtrace_next_result advance() {
    stands = false;
    if (lines != nullptr) lines->is_held = false;
    histogram.reset();
    if (records->next(record)) {
      event = record.event->system + "/" + record.event->name;
      comm = record.comm;
      histogram.reset();  // one that was not wanted
      stands = true;
      return KEVTRACE_RECORD;
    }
    if (!wants_histograms) histogram.reset();
    if (wants_histograms && !child) take_histogram_of_recording();
    return histogram ? KEVTRACE_HISTOGRAM : KEVTRACE_NOTHING;
  }
  void take_histogram_of_recording() {
    const auto& all = records->metadata().histograms;
    while (reading < all.size() && object >= all[reading].objects.size()) {
      ++reading;
      object = 0;
    }
    if (reading < all.size()) histogram = all[reading].objects[object++];
  }

  const record::Field* field(unsigned index) const {
    return stands && index < record.event->fields.size() ? &record.event->fields[index] : nullptr;
  }
  int end() {
    stands = false;
    // The exit status is that of the traced program; counts come when tracing has ended as it should. A run that is
    // stopped before it has begun has none.
    constexpr int kInterrupted = 128 + SIGINT;
    const bool is_good =
        is_of_fleet ? child->status() == 0
        : child     ? !records->metadata().totals.empty() || (child->was_stopped() && child->status() == kInterrupted)
                    : true;
    if (is_good && records->problems().empty()) return KEVTRACE_END;
    if (child && child->messages().empty()) why = fmt::format("kevtrace has ended with status {}\n", child->status());
    return KEVTRACE_FAILED;
  }
};

namespace {

// The program has what asks databases (libkevt-fleet.so lies beside it, not beside this library's caller).
kevtrace_reader* read_fleet(const char* address) {
  auto child = Child::start(program(), {"report", address, "-f", "json", "-o", std::string(Child::kOutput)}, "", false);
  if (!child) {
    failure = child.error().message();
    return nullptr;
  }
  auto reader = std::make_unique<kevtrace_reader>();
  reader->is_of_fleet = true;
  reader->follow(std::move(*child));
  return reader.release();
}

bool is_address(std::string_view text) { return text.starts_with("ch://") || text.starts_with("ch+http://"); }

}  // namespace

extern "C" {

const char* kevtrace_version(void) { return KEVT_VERSION; }

char* kevtrace_check(const char* text, const char* kernel) {
  return guarded(static_cast<char*>(nullptr), [&] {
    std::vector<std::string> words = {"--diagnostics=json", "check", "-"};
    if (kernel != nullptr) words.insert(words.end(), {"--kernel", kernel});
    int status = 0;
    const auto report = run_to_end(std::move(words), text, status);
    if (!report || !report->starts_with('{')) return static_cast<char*>(nullptr);
    return ::strdup(report->c_str());
  });
}

int kevtrace_compile(const char* script, const char* output) {
  return guarded(-1, [&] {
    int status = 0;
    return run_to_end({"compile", as_path(script), "-o", as_path(output)}, "", status) ? status : -1;
  });
}

void kevtrace_free(char* text) { std::free(text); }
const char* kevtrace_failure(void) { return is_out_of_memory ? "out of memory" : failure.c_str(); }

kevtrace_reader* kevtrace_run(const kevtrace_run_options* given) {
  return guarded(static_cast<kevtrace_reader*>(nullptr), [&]() -> kevtrace_reader* {
    kevtrace_run_options options{};
    failure = why_not(*given, options);
    if (!failure.empty()) return nullptr;
    auto child = Child::start(program(), words_of(options), "", true);
    if (!child) {
      failure = child.error().message();
      return nullptr;
    }
    auto reader = std::make_unique<kevtrace_reader>();
    reader->wants_histograms = has_histograms(options);
    reader->follow(std::move(*child));
    return reader.release();
  });
}

kevtrace_reader* kevtrace_open(const char* path) {
  return guarded(static_cast<kevtrace_reader*>(nullptr), [&]() -> kevtrace_reader* {
    failure.clear();
    if (is_address(path)) return read_fleet(path);
    auto records = record::open_recording(path);
    if (!records) {
      failure = records.error().message();
      return nullptr;
    }
    auto reader = std::make_unique<kevtrace_reader>();
    reader->records = std::move(*records);
    return reader.release();
  });
}

int kevtrace_next(kevtrace_reader* reader, int timeout_ms) {
  return guarded(static_cast<int>(KEVTRACE_FAILED), [&]() -> int {
    using Clock = std::chrono::steady_clock;
    const auto until = Clock::now() + std::chrono::milliseconds(std::max(timeout_ms, 0));
    for (bool was_last = false;;) {
      if (const auto came = reader->advance(); came != KEVTRACE_NOTHING) return came;
      if (!reader->child || was_last) return reader->end();
      if (reader->child->has_ended()) {
        was_last = true;  // what it wrote last is read once more
        continue;
      }
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
      const bool is_late = timeout_ms >= 0 && left <= 0;
      reader->child->wait(timeout_ms < 0 ? -1 : is_late ? 0 : static_cast<int>(left));
      if (is_late) return KEVTRACE_NOTHING;
    }
  });
}

void kevtrace_want_histograms(kevtrace_reader* reader) { reader->wants_histograms = true; }
const char* kevtrace_histogram(const kevtrace_reader* reader) {
  return reader->histogram ? reader->histogram->c_str() : nullptr;
}

int kevtrace_status(const kevtrace_reader* reader) { return reader->child ? reader->child->status() : -1; }

void kevtrace_stop(kevtrace_reader* reader) {
  if (reader->child) reader->child->stop();
}
void kevtrace_close(kevtrace_reader* reader) { delete reader; }

const char* kevtrace_messages(const kevtrace_reader* reader) {
  return guarded("", [&] {
    if (reader->child && !reader->why.empty()) return reader->why.c_str();
    if (reader->child && reader->records->problems().empty()) return reader->child->messages().c_str();
    reader->messages = reader->child ? reader->child->messages() : "";
    for (const std::string& one : reader->records->problems()) reader->messages += one + "\n";
    return reader->messages.c_str();
  });
}
int kevtrace_fd(const kevtrace_reader* reader) { return reader->child ? reader->child->fd() : -1; }

const char* kevtrace_event(const kevtrace_reader* reader) { return reader->stands ? reader->event.c_str() : ""; }
uint64_t kevtrace_time(const kevtrace_reader* reader) { return reader->stands ? reader->record.time_ns : 0; }
unsigned kevtrace_cpu(const kevtrace_reader* reader) { return reader->stands ? reader->record.cpu : 0; }
pid_t kevtrace_thread(const kevtrace_reader* reader) { return reader->stands ? reader->record.pid : 0; }
const char* kevtrace_comm(const kevtrace_reader* reader) { return reader->stands ? reader->comm.c_str() : ""; }
uint64_t kevtrace_lost_before(const kevtrace_reader* reader) { return reader->stands ? reader->record.lost_before : 0; }

unsigned kevtrace_fields(const kevtrace_reader* reader) {
  return reader->stands ? static_cast<unsigned>(reader->record.event->fields.size()) : 0;
}
const char* kevtrace_field_name(const kevtrace_reader* reader, unsigned index) {
  const record::Field* field = reader->field(index);
  return field != nullptr ? field->name.c_str() : nullptr;
}
int kevtrace_field_is_array(const kevtrace_reader* reader, unsigned index) {
  const record::Field* field = reader->field(index);
  return field != nullptr && field->is_list();
}
unsigned kevtrace_field_items(const kevtrace_reader* reader, unsigned index) {
  const record::Field* field = reader->field(index);
  if (field == nullptr) return 0;
  return record::items_of(*field, reader->record.bytes);
}

kevtrace_value kevtrace_value_of(const kevtrace_reader* reader, unsigned index, unsigned item) {
  kevtrace_value made{};
  const record::Field* field = reader->field(index);
  if (field == nullptr) return made;
  const auto set_text = [&](const char* bytes, std::size_t length) {
    made.kind = KEVTRACE_TEXT;
    made.as.text.bytes = bytes;
    made.as.text.length = length;
  };
  if (field->kind == record::FieldKind::DynamicBytes) {
    const auto bytes = record::dynamic_bytes(*field, reader->record.bytes);
    set_text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return made;
  }
  const record::Value value = record::value_of(*field, reader->record.bytes, item);
  switch (value.kind) {
    case record::Value::Kind::Absent:
      break;
    case record::Value::Kind::Signed:
      made.kind = KEVTRACE_SIGNED;
      made.as.as_signed = static_cast<int64_t>(value.number);
      break;
    case record::Value::Kind::Unsigned:
      made.kind = KEVTRACE_UNSIGNED;
      made.as.as_unsigned = value.number;
      break;
    case record::Value::Kind::Float:
      made.kind = KEVTRACE_FLOAT;
      made.as.as_float = record::as_double(value);
      break;
    case record::Value::Kind::Text:
      set_text(value.text.data(), value.text.size());
      break;
  }
  return made;
}

unsigned kevtrace_counted(const kevtrace_reader* reader) {
  return static_cast<unsigned>(reader->records->metadata().totals.size());
}
kevtrace_counts kevtrace_counts_of(const kevtrace_reader* reader, unsigned index) {
  const auto& totals = reader->records->metadata().totals;
  if (index >= totals.size()) return {};
  const record::EventTotals& one = totals[index];
  return {.event = one.event.c_str(),
          .hits = one.attempts,
          .recorded = one.recorded,
          .aggregated = one.aggregated,
          .filtered = one.filtered,
          .lost = one.lost,
          .missed = one.sees_misses ? one.missed : UINT64_MAX};
}

}  // extern "C"
