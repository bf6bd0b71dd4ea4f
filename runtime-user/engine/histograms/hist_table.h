// HistTable: the counts of one histogram, by key.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
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
};

class HistTable {
 public:
  // The approximate size of all entries of one table, in bytes.
  static constexpr std::size_t kMaxBytes = 256u << 20;

  // `max_bytes`: how much memory the entries may take; a hit whose new key finds no room is dropped.
  explicit HistTable(const model::Histogram& histogram, std::size_t max_bytes = kMaxBytes);

  // nullptr: no entry has this key.
  HistEntry* find(std::string_view key);
  // Adds `hits` to the entry of this key, which is made if there is none, and returns the entry. nullptr: there is no
  // room for a new entry; the hits are added to dropped().
  HistEntry* count(std::string_view key, std::string_view comm, std::uint64_t hits = 1);

  void drop(std::uint64_t hits) { dropped_ += hits; }

  std::uint64_t hits() const { return hits_; }
  std::uint64_t dropped() const { return dropped_; }
  std::size_t size() const { return entries_.size(); }
  // The entries that have hits, in the order of the histogram's `sort`; entries equal by `sort` are ordered by their
  // keys.
  std::vector<const HistEntry*> sorted(const model::Histogram& histogram) const;
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

  std::size_t key_bytes_ = 0;
  std::size_t max_bytes_;
  std::size_t values_, variables_;
  std::size_t bytes_ = 0;  // of all entries, about
  std::uint64_t hits_ = 0, dropped_ = 0;
  std::unordered_map<std::string, std::unique_ptr<HistEntry>, Hash, std::equal_to<>> entries_;
};

// A value that is_statistic(), of an entry with so many hits (at least 1): with its sign; an average with two decimals.
std::string statistic_text(const model::HistField& value, std::uint64_t kept, std::uint64_t hits);
// Where each key begins in HistEntry::key.
std::vector<std::size_t> key_offsets(const model::Histogram& histogram);
// How many variables an entry has: its own, those made for actions, and what onmax() and onchange() keep.
std::size_t variable_count(const model::Histogram& histogram);

}  // namespace kevt::engine
