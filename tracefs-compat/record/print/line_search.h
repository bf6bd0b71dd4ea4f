// LineSearch: what a text that stands in the line of a record (TraceLines) asks of the record, so that most lines need
// not be made.
//
//   "openat"  in   <task> [001] ..... <time>: openat: (<place>) path="<string>" flags=<number>
//             →    nothing of records of `openat`; of others that the task, the place or the string has it
//   "fd=3"    →    of events that print ` fd=<number>` that the number begins with 3
//
// Idea: a line is a row of parts, constant ones and others. Wherever the text may lie in it, it lies across some parts,
// and that tells what each of them must be: an alignment. They are found once for an event. store/chunk_search.h asks
// the records of a chunk.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tracefs-compat/record/print/trace_line.h"

namespace kevt::record {

class LineSearch {
 public:
  // Maybe: the line must be made.
  enum class Answer : std::uint8_t { No, Yes, Maybe };

  enum class PartKind : std::uint8_t { Constant, Task, Cpu, Flags, Place, Integer, String, Time, Other };  // by cost
  struct Part {
    PartKind kind = PartKind::Constant;
    std::string text;                               // Constant; folded
    const PrintPiece* piece = nullptr;              // Place, String, Integer, Other
    const Field* field = nullptr;                   // Place, String; Integer: nullptr if the piece computes
    std::string_view letters = {};                  // all that it can have; empty: any
    std::span<const std::string_view> at = {};      // or of each of its characters; empty: any
    std::size_t least = 0, most = ~std::size_t{0};  // how many characters it has
  };
  enum class How : std::uint8_t { Has, Begins, Ends, Is };
  struct Condition {
    const Part* part = nullptr;
    How how = How::Has;
    std::string text;  // folded
  };
  using Alignment = std::vector<Condition>;  // all of them hold; the cheapest first

  struct Plan {
    Answer all = Answer::Maybe;         // of every record of the event, whatever is in it
    bool is_understood = false;         // false: the lines must be made
    std::size_t steps = 0;              // that finding the alignments took
    std::vector<Alignment> alignments;  // one of them holds
    TraceLines::OwnFormat format = {};
    std::vector<Part> parts;
  };

  // Whether the text is searched here: ASCII, printable, of 1 to 64 characters.
  static bool takes(std::string_view text);
  // A text that takes() is true of. `lines` outlives this object.
  LineSearch(TraceLines& lines, std::string_view text, bool minds_case);

  const Plan& plan_of(const EventFormat& event);
  // Whether the condition of the plan holds for a record of its event.
  Answer ask(const Plan& plan, const Condition& condition, const TypedRecord& record);
  // The same of what the condition's part prints.
  Answer ask_text(const Condition& condition, std::string_view text) const;
  // Whether the text is in the line. No caches: for one record.
  Answer ask_line(const TypedRecord& record);

 private:
  void add_parts(const EventFormat& event, Plan& plan) const;
  void add_constant(std::string_view text, Plan& plan) const;
  void align(Plan& plan) const;
  void align_from(Plan& plan, std::size_t part, std::size_t at, Alignment& so_far) const;
  static void add_alignment(Plan& plan, const Alignment& made);
  Answer ask_string(const Condition& condition, const TypedRecord& record);
  void append_part(const Plan& plan, const Part& part, const TypedRecord& record);

  TraceLines& lines_;
  std::string text_;  // folded: in small letters where case does not matter
  bool minds_case_;
  bool has_other_cases_;  // letters that others than their own large ones are like, outside ASCII (k, s)
  std::map<const EventFormat*, Plan> plans_;
  std::string scratch_;
};

}  // namespace kevt::record
