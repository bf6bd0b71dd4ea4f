// A histogram as text:
//
//   # event histogram
//   #
//   # trigger info: hist:keys=fd:vals=hitcount,len:sort=hitcount:size=2048 [active]
//   #
//
//   { fd:          3 } hitcount:          2  len:        100
//
//   Totals:
//       Hits: 2
//       Entries: 1
//       Dropped: 0
//
// Readers compare these lines byte by byte. Mirrors hist_trigger_show() and what it calls in
// kernel/trace/trace_events_hist.c (6.1; stack keys as 6.4 prints them where the trigger has them so).
#include "runtime-user/engine/histograms/hist_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include "compiler/sema/trigger.h"
#include "runtime-user/engine/histograms/hist_cells.h"
#include "runtime-user/engine/histograms/hist_percentiles.h"

namespace kevt::engine {

namespace {

using model::HistField;
using model::HistModifier;
using model::Histogram;
using model::HistSource;

using Envs = std::span<const target::TargetEnv* const>;

class Text {
 public:
  Text(const model::Trigger& trigger, const HistTable& table, Envs envs)
      : trigger_(trigger), hist_(trigger.histogram), table_(table), envs_(envs) {}

  std::string make() {
    const auto entries = table_.sorted(hist_);
    out_ = fmt::format("# event histogram\n#\n# trigger info: {}\n#\n\n", sema::print_trigger(trigger_));
    measure(entries);
    for (const HistEntry* entry : entries) append_entry(*entry);
    append_snapshot();
    out_ += fmt::format("\nTotals:\n    Hits: {}\n    Entries: {}\n    Dropped: {}\n", table_.hits(), entries.size(),
                        table_.dropped());
    append_top();
    append_percentiles();
    return std::move(out_);
  }

 private:
  struct Range {
    std::uint64_t total = 0, max = 0;
  };

  void measure(std::span<const HistEntry* const> entries) {
    ranges_.resize(hist_.values.size());
    for (const HistEntry* entry : entries)
      for (std::size_t i = 0; i < ranges_.size(); ++i) {
        ranges_[i].total += entry->sums[i];
        ranges_[i].max = std::max(ranges_[i].max, entry->sums[i]);
      }
  }

  void append_key(const HistField& key, const HistCell& cell) {
    if (key.source == HistSource::Stacktrace) return append_stack(key, cell);
    const std::uint64_t number = cell.number;
    const std::string& text = cell.text;
    auto to = std::back_inserter(out_);
    fmt::format_to(to, "{}: ", key.name);
    switch (key.modifier) {
      case HistModifier::Hex:
        fmt::format_to(to, "{:x}", number);
        return;
      case HistModifier::Sym:
        fmt::format_to(to, "[{:x}] {:<45}", number, text);
        return;
      case HistModifier::SymOffset:
        fmt::format_to(to, "[{:x}] {:<55}", number, text);
        return;
      case HistModifier::Execname:
        fmt::format_to(to, "{:<16}[{:>10}]", text, number);
        return;
      case HistModifier::Syscall:
        fmt::format_to(to, "{:<30}[{:>3}]", text, number);
        return;
      case HistModifier::Log2:
        fmt::format_to(to, "~ 2^{:<2}", number);
        return;
      case HistModifier::Buckets:
        fmt::format_to(to, "~ {}-{}", number, number + key.buckets - 1);
        return;
      case HistModifier::LogLinear:
        fmt::format_to(to, "~ {}-{}", number, model::log_linear_end(number));
        return;
      case HistModifier::None:
      case HistModifier::Usecs:
      case HistModifier::Percent:
      case HistModifier::Graph:
      case HistModifier::Least:
      case HistModifier::Greatest:
      case HistModifier::Average:
      case HistModifier::Stacktrace:
      case HistModifier::Full:
        break;
    }
    if (key.is_string)
      fmt::format_to(to, "{:<50}", text);
    else
      fmt::format_to(to, "{:>10}", number);
  }

  // A line for each frame.
  void append_stack(const HistField& key, const HistCell& cell) {
    const bool is_of_field = !key.name.empty() && key.name != "common_stacktrace";
    out_ += is_of_field ? key.listed : key.listed + ":\n";
    for (const std::string& frame : cell.frames) out_ += fmt::format("         {}\n", frame);
  }

  void append_keys(const HistEntry& entry) {
    const std::vector<HistCell> cells = hist_cells(hist_, entry, envs_);
    out_ += "{ ";
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i != 0) out_ += ", ";
      append_key(hist_.keys[i], cells[i]);
    }
    const bool has_stack =
        std::ranges::find(hist_.keys, HistSource::Stacktrace, &HistField::source) != hist_.keys.end();
    out_ += has_stack ? "}" : " }";
  }

  // In hundredths of a percent; nullopt: of nothing.
  static std::optional<std::uint32_t> share(std::uint64_t value, std::uint64_t total) {
    const bool is_small = value < std::numeric_limits<std::uint64_t>::max() / 10000;
    if (!is_small) total /= 10000;
    if (total == 0) return value ? std::nullopt : std::optional<std::uint32_t>(0);
    return static_cast<std::uint32_t>(is_small ? value * 10000 / total : value / total);
  }

  static std::string bar(std::uint64_t value, std::uint64_t max) {
    constexpr std::size_t kColumns = 20;
    const auto part = share(value, max);
    if (!part) return fmt::format("{:>20}", "[ERROR]");
    const std::size_t length = std::min(kColumns, std::size_t{*part} * kColumns / 10000);
    return std::string(length, '#') + std::string(kColumns - length, ' ');
  }

  void append_value(const HistField& field, std::uint64_t value, std::uint64_t hits, const Range& range) {
    const std::string& name = field.name;
    auto to = std::back_inserter(out_);
    if (model::is_statistic(field.modifier)) {
      fmt::format_to(to, " {} ({}): {:>10}", name, model::statistic_word(field.modifier),
                     statistic_text(field, value, hits));
    } else if (field.modifier == HistModifier::Percent) {
      const auto part = share(value, range.total);
      if (part)
        fmt::format_to(to, " {} (%): {:>3}.{:02}", name, *part / 100, *part % 100);
      else
        fmt::format_to(to, " {} (%):[ERROR]", name);
    } else if (field.modifier == HistModifier::Graph) {
      fmt::format_to(to, " {}: {}", name, bar(value, range.max));
    } else if (field.modifier == HistModifier::Hex) {
      fmt::format_to(to, " {}: {:>10x}", name, value);
    } else {
      fmt::format_to(to, " {}: {:>10}", name, value);
    }
  }

  void append_entry(const HistEntry& entry) {
    append_keys(entry);
    if (hist_.shows_hitcount) out_ += fmt::format(" hitcount: {:>10}", entry.hits);
    if (hist_.shows_hitcount && entry.error != 0) out_ += fmt::format(" (at least {})", entry.own_hits());
    for (std::size_t i = 0; i < hist_.values.size(); ++i) {
      if (hist_.values[i].source == HistSource::Expression) continue;
      out_ += ' ';
      append_value(hist_.values[i], entry.sums[i], entry.own_hits(), ranges_[i]);
    }
    for (const model::HistAction& action : hist_.actions) append_tracked(action, entry);
    out_ += '\n';
  }

  void append_tracked(const model::HistAction& action, const HistEntry& entry) {
    if (action.handler == model::HistHandler::OnMatch) return;
    const bool is_max = action.handler == model::HistHandler::OnMax;
    out_ += fmt::format("\n\t{}: {:>10}", is_max ? "max" : "changed", entry.variables[action.tracker].value.number);
    if (action.kind == model::HistActionKind::Snapshot) return;
    for (const model::HistAction& other : hist_.actions)
      for (const model::HistVariable& saved : other.saved) {
        const auto& [value, is_set] = entry.variables[saved.index];
        out_ += saved.value.is_string ? fmt::format("  {}: {:<32}", saved.name, is_set ? value.bytes : "(null)")
                                      : fmt::format("  {}: {:>10}", saved.name, value.number);
      }
  }

  // Behind what a kernel prints, as append_percentiles().
  void append_top() {
    if (const auto most = table_.others_at_most())
      out_ += fmt::format("\nTop {}: hits of any other key: {} or fewer\n", hist_.top, *most);
  }

  // Behind what a kernel prints: no kernel has such keys.
  void append_percentiles() {
    const auto measured = log_linear_key(hist_);
    if (!measured) return;
    out_ += fmt::format("\nPercentiles of {}:\n", hist_.keys[*measured].name);
    for (const HistPercentiles& one : hist_percentiles(hist_snapshot("", trigger_, table_, envs_))) {
      out_ += "   ";
      for (std::size_t key = 0, other = 0; key < hist_.keys.size(); ++key) {
        if (key == *measured) continue;
        out_ += other == 0 ? " { " : ", ";
        append_key(hist_.keys[key], one.others[other++]);
      }
      if (!one.others.empty()) out_ += " }";
      for (std::size_t i = 0; i < kPercentiles.size(); ++i)
        out_ += fmt::format(" {}: {:>10}", kPercentiles[i].name, one.values[i]);
      out_ += '\n';
    }
  }

  void append_snapshot() {
    if (!table_.snapshot) return;
    const auto action = std::ranges::find(hist_.actions, model::HistActionKind::Snapshot, &model::HistAction::kind);
    if (action == hist_.actions.end()) return;
    const bool is_max = action->handler == model::HistHandler::OnMax;
    out_ += "\nSnapshot taken (see tracing/snapshot).  Details:\n";
    out_ += fmt::format("\ttriggering value {{ {}({}) }}: {:>10}\ttriggered by event with key: ",
                        is_max ? "onmax" : "onchange", action->tracked, table_.snapshot->value);
    append_keys(table_.snapshot->entry);
    out_ += '\n';
  }

  const model::Trigger& trigger_;
  const Histogram& hist_;
  const HistTable& table_;
  Envs envs_;
  std::vector<Range> ranges_;
  std::string out_;
};

}  // namespace

std::string hist_file_text(std::span<const model::Trigger> triggers, const HistogramSet& histograms, Envs envs) {
  std::string text;
  for (const model::Trigger& trigger : triggers) {
    if (trigger.kind != model::TriggerKind::Hist) continue;
    const HistTable* table = histograms.find(trigger.histogram);
    if (!table) continue;
    if (!text.empty()) text += "\n\n";
    text += Text(trigger, *table, envs).make();
  }
  return text;
}

}  // namespace kevt::engine
