// HistFileTable: a histogram as the file `hist` of an event shows it, read back: from the kernel's own tracing
// directory, from a mount, or from the texts that recordings keep.
//
//   # trigger info: hist:keys=fd,len.log2:vals=hitcount,len:sort=hitcount:size=2048 [active]
//   { fd:          3, len: ~ 2^5  } hitcount:          2  len:         40
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kevt::record {

struct HistFileColumn {
  std::string name;      // of the field
  std::string modifier;  // "log2", "buckets=16", "sym"; empty: none
  // Whether a key's number is a bucket of numbers.
  bool is_measuring() const;
  // Whether a value is the least, the greatest or the average instead of the sum.
  bool is_statistic() const;
  friend bool operator==(const HistFileColumn&, const HistFileColumn&) = default;
};

// The numbers of a bucket; both ends belong to it.
struct HistFileRange {
  std::uint64_t from = 0, to = 0;
  friend auto operator<=>(const HistFileRange&, const HistFileRange&) = default;
};

struct HistFileCell {
  std::string text;                    // without padding; of a stack: the frames, innermost first, with " ← " between
  std::optional<HistFileRange> range;  // of a number both ends are the number; nullopt: a text or a stack
  friend bool operator==(const HistFileCell&, const HistFileCell&) = default;
};

struct HistFileRow {
  std::vector<HistFileCell> keys;  // by HistFileTable::keys
  std::uint64_t hits = 0;
  std::uint64_t at_least = 0;                 // of these the key's own; less than `hits` in some rows of `top=N` alone
  std::vector<std::optional<double>> values;  // by HistFileTable::values; nullopt: no number is shown
  std::vector<std::uint64_t> wholes;  // the same, exactly, in 64 bits (two's complement); 0: it is no whole number
  std::string head;                   // the keys as they stand there: "{ fd:          3 }"
};

struct HistFileTable {
  std::string event;            // "GROUP:NAME" of the heading that recordings have; else empty
  double from_s = 0, to_s = 0;  // of that heading: the span that was counted; both 0: the whole run
  std::string trigger;          // "hist:keys=…", as it was written
  bool is_paused = false;
  std::vector<HistFileColumn> keys;
  std::vector<HistFileColumn> values;  // without hitcount
  std::vector<HistFileRow> rows;       // in the order of the text
  std::uint64_t hits = 0, dropped = 0;
  std::optional<std::uint64_t> others_at_most;  // `top=N`: the most hits that a key without a row may have

  // The index of the only key that is a bucket; nullopt: there is none, or there are several.
  std::optional<std::size_t> measuring_key() const;
};

// All tables of the text, in their order. Never fails: lines that are not as the kernel writes them are left out
// (hist_trigger_show() of kernel/trace/trace_events_hist.c, 6.1 to 7.2).
std::vector<HistFileTable> read_hist_file(std::string_view text);

}  // namespace kevt::record
