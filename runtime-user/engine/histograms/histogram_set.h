// HistogramSet: the histograms of one instance: their counts, and what a hit does to them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/model/trigger.h"
#include "runtime-user/engine/histograms/hist_table.h"
#include "runtime-user/engine/histograms/hist_value.h"

namespace kevt::engine {

// A synthetic event that an action makes: the values of its fields, in the order of the fields.
struct SyntheticHit {
  std::string event;
  std::vector<HistValue> values;
};

// The result of counting a hit: what the caller has to do.
struct HistOutcome {
  bool is_counted = false;
  bool is_dropped = false;  // its table had no room
  bool takes_snapshot = false;
  std::vector<SyntheticHit> synthetic;
};

class HistogramSet {
 public:
  // Adds a histogram trigger of an event with this layout. Triggers that share a name share their counts.
  // `kernel_drops`: as TracingOptions::kernel_drops.
  void add(const model::Trigger& trigger, const model::RecordLayout& layout, bool kernel_drops = false);
  // `is_last`: no other trigger counts into the same table, so the table is removed, too.
  void remove(const model::Trigger& trigger, bool is_last);
  void clear(const model::Histogram& histogram);
  void start_over(const model::Histogram& histogram);
  // Counts of one key that hits made by themselves.
  struct Counted {
    std::string_view key;  // as HistEntry::key
    std::uint64_t hits = 0;
    std::span<const std::uint64_t> sums;
    std::string_view comm;  // of the thread; for an entry that is made now
  };
  void merge(const model::Histogram& histogram, const Counted& counted);
  // Counts hits as dropped.
  void drop(const model::Histogram& histogram, std::uint64_t hits);
  // nullptr: no trigger counts into this histogram.
  const HistTable* find(const model::Histogram& histogram) const;

  // Counts a hit of the trigger's event and runs its actions. `hit.time` is set from `stamp`, of the trace clock, in
  // nanoseconds where `is_ns`.
  HistOutcome count(const model::Trigger& trigger, HistHit hit, std::uint64_t stamp, bool is_ns);

 private:
  // A trigger, ready to read records of its event.
  struct Plan {
    std::vector<HistReader> keys, values;
    struct Assignment {
      std::uint32_t variable;
      HistReader reader;
    };
    std::vector<Assignment> variables;           // of the histogram, then those made for actions: set by every hit
    std::vector<std::vector<Assignment>> saved;  // of each action
    std::vector<bool> is_read_once;              // by reference: reading the variable also unsets it
    bool in_usecs = false;
  };
  enum class Owner : std::uint8_t { Others, Self };

  static Plan plan_of(const model::Histogram& histogram, const model::RecordLayout& layout);
  static std::string key_of(const model::Histogram& histogram, const Plan& plan, const HistHit& hit);
  // False: a variable is not set, or the entry with this key does not exist.
  bool resolve(const model::Histogram& histogram, const Plan& plan, std::string_view key, Owner owner,
               std::span<HistValue> references);
  void act(const model::Histogram& histogram, std::size_t action, const Plan& plan, HistEntry& entry,
           const HistHit& hit, std::span<const HistValue> references, HistOutcome& outcome);
  bool take_snapshot(const model::HistAction& action, HistTable& table, const HistEntry& entry);

  std::map<std::uint64_t, Plan> plans_;        // by trigger
  std::map<std::uint64_t, HistTable> tables_;  // by Histogram::id
};

// Whether the field is the stack of the hit, not one that a field of the record holds.
bool is_own_stack(const model::HistField& field);
// Whether the histogram reads the stack of the hit.
bool uses_stack(const model::Histogram& histogram);
// Whether its text shows symbols of addresses.
bool shows_symbols(const model::Histogram& histogram);
// Whether an action of it takes snapshots.
bool takes_snapshots(const model::Histogram& histogram);

}  // namespace kevt::engine
