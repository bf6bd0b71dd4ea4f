// HistTable: the counts of one histogram, by key.
//
// What becomes of a new key where the table is full depends on the histogram:
//
//   as a rule     there is room for every key up to kMaxBytes; beyond, its hits are dropped
//   drop          2^bits keys are kept; hits of others are dropped, as in a kernel
//   top=N         2^bits keys are kept; the key with the fewest hits makes room (Space-Saving)
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/model/histogram.h"
#include "runtime-user/engine/histograms/hist_value.h"

namespace kevt::engine {

struct HistEntry {
  std::string key;  // keys back to back: numbers 8 bytes, texts and stacks as many as their HistField says
  std::uint64_t hits = 0;
  std::vector<std::uint64_t> sums;  // of Histogram::values; of `.min` and `.max` the least, the greatest
  struct Variable {
    HistValue value;
    bool is_set = false;
  };
  std::vector<Variable> variables;  // by HistVariable::index
  std::string comm;                 // of the thread that made the entry
  // top=N: how many of `hits` may be of keys that were in this entry before.
  std::uint64_t error = 0;

  // The hits that are surely of this key; `sums` are of these hits.
  std::uint64_t own_hits() const { return hits - error; }
};

// What becomes of a new key where there are 2^bits already, in a histogram without `top=`.
enum class FullTable : std::uint8_t { Grows, Drops };

class HistTable {
 public:
  // The approximate size of all entries of one table, in bytes.
  static constexpr std::size_t kMaxBytes = 256u << 20;

  // `max_bytes`: how much memory the entries may take.
  explicit HistTable(const model::Histogram& histogram, FullTable full = FullTable::Grows,
                     std::size_t max_bytes = kMaxBytes);

  // nullptr: no entry has this key.
  HistEntry* find(std::string_view key);
  // Adds `hits` to the entry of this key, which is made if there is none, and returns the entry, valid until the next
  // call. nullptr: there is no room for a new entry; the hits are added to dropped().
  HistEntry* count(std::string_view key, std::string_view comm, std::uint64_t hits = 1);

  void drop(std::uint64_t hits) { dropped_ += hits; }

  std::uint64_t hits() const { return hits_; }
  std::uint64_t dropped() const { return dropped_; }
  std::size_t size() const { return entries_.size(); }
  // The entries that have hits, in the order of the histogram's `sort`; entries equal by `sort` are ordered by their
  // keys. Of top=N the N with the most hits.
  std::vector<const HistEntry*> sorted(const model::Histogram& histogram) const;
  // Of top=N: the most hits that a key may have which sorted() leaves out. nullopt: it leaves none out.
  std::optional<std::uint64_t> others_at_most() const;
  // Removes counts and variables; the mark of a snapshot stays.
  void clear();
  // Sets counts to 0; variables stay, since later hits may read them.
  void start_over();
  // The length of a key, in bytes. To look up a key of another histogram, cut the key to this length or pad it with
  // zeros.
  std::size_t key_bytes() const { return key_bytes_; }

  // The value and the entry that caused the last snapshot.
  struct SnapshotMark {
    std::uint64_t value = 0;
    HistEntry entry;  // key and comm
  };
  std::optional<SnapshotMark> snapshot;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view key) const { return std::hash<std::string_view>()(key); }
  };

  HistEntry* make_entry(std::string_view key);
  HistEntry* replace_least(std::string_view key);

  std::size_t key_bytes_ = 0;
  std::size_t max_bytes_;
  std::size_t max_entries_;
  std::size_t values_, variables_;
  std::uint32_t top_;
  std::size_t bytes_ = 0;  // of all entries, about
  std::uint64_t hits_ = 0, dropped_ = 0;
  std::unordered_map<std::string, std::unique_ptr<HistEntry>, Hash, std::equal_to<>> entries_;
  // Entries by the hits that they had once, the fewest first: a heap, made when a key first has to make room.
  std::vector<std::pair<std::uint64_t, HistEntry*>> by_hits_;
  bool has_replaced_ = false;
};

// A value that is_statistic(), the sum or the extreme of so many hits (at least 1): with its sign; an average with two
// decimals.
std::string statistic_text(const model::HistField& value, std::uint64_t kept, std::uint64_t hits);
// Where each key begins in HistEntry::key.
std::vector<std::size_t> key_offsets(const model::Histogram& histogram);
// How many variables an entry has: its own, those made for actions, and what onmax() and onchange() keep.
std::size_t variable_count(const model::Histogram& histogram);

}  // namespace kevt::engine
