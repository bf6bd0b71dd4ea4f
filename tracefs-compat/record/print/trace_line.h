// TraceLines: records as the lines of the kernel's `trace` file.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "common/controls.h"
#include "tracefs-compat/record/print/print_format.h"
#include "tracefs-compat/record/recording.h"
#include "tracefs-compat/record/traceevent/event_wording.h"

namespace kevt::record {

enum class TimeStyle : std::uint8_t { Absolute, Relative, Delta, Wall };

// A probe on a file ("p:GROUP/EVENT /PATH:0xOFFSET …") prints addresses, as the kernel's uprobes do.
PlaceStyle place_style(const Metadata& metadata, const EventFormat& event);

// Records of calls under way, innermost first: they follow the record of the event.
bool is_stack(const EventFormat& event);
// The addresses in its `caller`: up to the record's end, a 0 or an all-ones.
std::vector<std::uint64_t> stack_of(const Field& caller, std::span<const std::uint8_t> record);

class TraceLines {
 public:
  // How events are told.
  //   OwnPrintFormat  as `print fmt` says, by fields where our evaluator does not understand it
  //   PrintFormat     such events by libtraceevent
  //   Plugins         where libtraceevent has a plugin for an event in its words, as trace-cmd and KernelShark do
  enum class Words : std::uint8_t { OwnPrintFormat, PrintFormat, Plugins };
  struct Style {
    TimeStyle times = TimeStyle::Absolute;
    Controls controls = Controls::Raw;  // of each line
    bool is_one_line = false;           // line ends in what is told of an event are blanks
    Words words = Words::OwnPrintFormat;
    bool is_completed_later = false;  // texts of libtraceevent are missing until complete()
  };
  TraceLines(const Metadata& metadata, Style style)
      : metadata_(&metadata), style_(style), wording_(metadata, style.words == Words::Plugins) {}
  explicit TraceLines(const Metadata& metadata) : TraceLines(metadata, Style()) {}

  // Appends the line with its '\n', and before it one for what was lost on that CPU.
  void append(const TypedRecord& record, std::string& out);
  // What follows the time stamp, escaped where lines are.
  void append_event(const TypedRecord& record, std::string& out);
  void append_time(const TypedRecord& record, std::string& out);
  // What append() puts before the event's name: the instance, the thread's name and its id; ` [000] `; the flags; the
  // time with a blank before it.
  enum class Front : std::uint8_t { Task, Cpu, Flags, Time };
  void append_front(Front part, const TypedRecord& record, std::string& out);
  // How the event's records are printed behind `NAME: `. nullopt: otherwise than by their print fmt, or lines are no
  // plain ones (Style).
  struct OwnFormat {
    std::shared_ptr<const PrintFormat> print;
    PlaceStyle places;
  };
  std::optional<OwnFormat> own_format(const EventFormat& event);
  // Puts in what is missing of the lines in `out`, which nothing was taken from since they were appended.
  void complete(std::string& out);
  // Asks for the texts of these records at once. Their lines are appended next, in this order.
  void ask_ahead(std::span<const TypedRecord> records);
  const Metadata& metadata() const { return *metadata_; }
  // What became known of the same trace, whose formats stay where they are.
  void set_metadata(const Metadata& metadata);
  // For how long a text is waited for (EventWording).
  void set_patience(std::chrono::milliseconds patience) { wording_.set_patience(patience); }
  // Why events are not told in words of plugins, once.
  std::optional<std::string> take_problem() { return wording_.take_problem(); }

 private:
  enum class By : std::uint8_t { PrintFormat, Fields, Wording };
  struct Printed {
    const EventFormat* event = nullptr;
    std::shared_ptr<const PrintFormat> print;  // nullptr: it is not understood
    PlaceStyle places = PlaceStyle::Symbols;
    By by = By::PrintFormat;
  };
  // A text that is missing: where, and of which record.
  struct Missing {
    std::size_t at = 0;
    TypedRecord record;
    std::vector<std::uint8_t> bytes;
  };
  const Printed& printed(const EventFormat& event);
  std::size_t instance_width();
  void append_stack(const Field& caller, const TypedRecord& record, std::string& out) const;
  PlaceStyle places_of(const EventFormat& event);

  std::size_t instance_width_ = 0, known_instances_ = 0;
  By choose(const Printed& how);
  void append_worded(const Printed& how, const TypedRecord& record, const std::optional<std::string>& words,
                     std::string& out) const;
  void clean_from(std::size_t begin, std::string& out) const;
  void append_ours(const Printed& how, const TypedRecord& record, std::string& out) const;

  const Metadata* metadata_;
  Style style_;
  std::vector<Printed> by_id_;
  std::size_t print_parts_ = 0;
  std::unordered_set<std::string> on_files_;  // ":GROUP/EVENT" of the first `noted_` definitions
  std::size_t noted_ = 0;
  std::optional<std::uint64_t> first_ns_, last_ns_;
  EventWording wording_;
  struct AskedAhead {
    const std::uint8_t* bytes = nullptr;  // of the record
    std::optional<std::string> text;
  };
  std::vector<AskedAhead> ahead_;  // of the records that come next, the last one first
  std::vector<Missing> missing_;
  std::size_t missing_bytes_ = 0;  // of their records
};

// The comment lines above a `trace` file.
std::string trace_header(std::uint64_t entries, std::uint64_t written, std::uint32_t cpus);

}  // namespace kevt::record
