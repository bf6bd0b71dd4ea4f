// Diagnostics: what is wrong with the user's text. Stages report into a Sink and go on, so that
// all mistakes of a text are found; renderers turn the collected list into text.
//
// Every kind is one row of diagnostic_kinds.def: the kernel's own identifier and exact text where
// the kernel has one (kernel/trace/trace_probe.h, trace_events_filter.c of 6.1), ours otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kevt::diag {

enum class Kind : std::uint16_t {
#define KEVT_DIAGNOSTIC(name, kernel_id, text) name,
#include "compiler/diag/diagnostic_kinds.def"
#undef KEVT_DIAGNOSTIC
};

// Which parser reports the mistake: the LOC of an error_log entry.
enum class Location : std::uint8_t {
  Kprobe,
  Uprobe,
  Fprobe,
  Eprobe,
  Synthetic,
  Wprobe,
  Filter,
  Hist,
  Dynevent,
  Kevtrace
};

struct Note {
  std::string text;  // our help: "use `r:` for a return probe"
};

struct FixIt {  // replace columns [begin, end) of the command
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::string replacement;
};

// An entry that the kernel logs just before another one, for the same mistake.
struct Prelude {
  Kind kind;
  std::uint32_t column;
};

// What error_log shows if that differs from the text as it was written: a kernel replaces some words before it reads
// them, and then counts columns in the replaced text.
struct LogEntry {
  std::string command;
  std::optional<std::uint32_t> column;
  std::optional<std::uint32_t> prelude_column;
};

struct Diagnostic {
  Kind kind;
  Location location;
  std::string command;                  // the text in which the column counts
  std::optional<std::uint32_t> column;  // of the caret; nullopt: no caret
  int errno_value;                      // what write(2) would answer
  bool logged = true;                   // false: the kernel writes no error_log entry for it
  std::uint32_t order = 0;              // when the kernel would find it; a Sink keeps the lowest first
  std::optional<Prelude> prelude;       // the kernel logs some mistakes twice; this entry is the older one
  std::optional<LogEntry> log;          // nullopt: error_log shows `command` and `column`
  std::string event = {};               // GROUP:EVENT, for histograms, whose location names the event
  std::string detail;                   // added after the kernel's text, e.g. candidates of a symbol
  std::vector<Note> notes;
  std::vector<FixIt> fixits;
};

std::string_view kind_name(Kind kind);              // "BadFetchArg"
std::string_view kernel_id(Kind kind);              // "BAD_FETCH_ARG", or "" for a kind of our own
std::string_view kernel_text(Kind kind);            // "Invalid fetch argument"
std::string_view location_name(Location location);  // "trace_kprobe"
// The location as error_log shows it: "trace_kprobe", "hist:kprobes:op".
std::string location_text(const Diagnostic& diagnostic);
std::string_view help_text(Kind kind);  // advice against the mistake; "" if there is no general one
std::size_t kind_count();

// Collects the mistakes of one text, sorted by `order`; mistakes of equal order stay in the order of reporting.
// So diagnostics().front() is the mistake at which the kernel would have stopped.
class Sink {
 public:
  void report(Diagnostic diagnostic);
  bool empty() const { return diagnostics_.empty(); }
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }
  std::vector<Diagnostic> take() { return std::move(diagnostics_); }

 private:
  std::vector<Diagnostic> diagnostics_;
};

enum class Color : std::uint8_t { Off, On };

// "ORIGIN:LINE:COL: error: TEXT   [trace_kprobe: BAD_FETCH_ARG]", the command, a caret, then notes and fixes.
// The column is the command's; for a Located (report.h) it is that of the line as it was written.
std::string render_text(const Diagnostic& diagnostic, std::string_view origin, int line, Color color);
// "insert `)`", "write `%di` for `%rdi`"; `text` is the text in which the fix-it's columns count.
std::string fix_text(const FixIt& fix, std::string_view text);
// The error_log entry as the kernel writes it, with a prelude two entries. The time is that of the local trace clock.
std::string render_kernel(const Diagnostic& diagnostic, std::uint64_t seconds, std::uint32_t microseconds);

}  // namespace kevt::diag
