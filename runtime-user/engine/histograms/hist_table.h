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
  std::vector<std::uint64_t> sums;  // of Histogram::values
  struct Variable {
    HistValue value;
    bool is_set = false;
  };
  std::vector<Variable> variables;  // by HistVariable::index
  std::string comm;                 // of the thread that made the entry
};

class HistTable {
 public:
  // Of all entries of one table, in bytes, about.
  static constexpr std::size_t kMaxBytes = 256u << 20;

  // `max_bytes`: what its entries may take; a key that finds no room is dropped.
  explicit HistTable(const model::Histogram& histogram, std::size_t max_bytes = kMaxBytes);

  // nullptr: there is none with this key.
  HistEntry* find(std::string_view key);
  // The entry of this key, made where there is none, with so many hits more. nullptr: there is no room for it, and
  // dropped() has grown.
  HistEntry* count(std::string_view key, std::string_view comm, std::uint64_t hits = 1);

  void drop(std::uint64_t hits) { dropped_ += hits; }

  std::uint64_t hits() const { return hits_; }
  std::uint64_t dropped() const { return dropped_; }
  std::size_t size() const { return entries_.size(); }
  // Those that have hits, as the histogram's `sort` says; entries that it does not tell apart by their keys.
  std::vector<const HistEntry*> sorted(const model::Histogram& histogram) const;
  // Counts and variables are gone; a snapshot's mark stays.
  void clear();
  // Counts are gone; variables, which later hits may ask for, stay.
  void start_over();
  // The length of a key. Who looks up another histogram's key cuts it, or fills it up with zeros.
  std::size_t key_bytes() const { return key_bytes_; }

  // What took the last snapshot().
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

// Where each key begins in HistEntry::key.
std::vector<std::size_t> key_offsets(const model::Histogram& histogram);
// How many variables an entry has: its own, those made for actions, and what onmax() and onchange() keep.
std::size_t variable_count(const model::Histogram& histogram);

}  // namespace kevt::engine
