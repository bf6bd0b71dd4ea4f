// Histogram triggers: the page that names their stages.
//
//   hist:keys=id:d=val-$t0:onmatch(uprobes.tb).trace(tsyn,id,$d,id) if id > 0
//     parts → handlers → variables' texts → values → variables → keys → order → filter
//     then one of: removed | an equal one paused, continued, cleared | actions bound, added
//
// The problem: a mistake must be found where 6.1 finds it, so nothing may be looked at before its turn: `cont` of
// a histogram that does not exist is noticed after the actions were bound. The idea: the stages in 6.1's order, each
// in a file of its own. Mirrors event_hist_trigger_parse(), create_hist_data(), existing_hist_update_only(),
// hist_register_trigger() and hist_unregister_trigger() of kernel/trace/trace_events_hist.c, 6.1.
// Not here: counting.
#include "compiler/sema/trigger_hist.h"

#include <algorithm>
#include <array>
#include <bit>

#include "grammar/parse_definition_text.h"

namespace kevt::sema {
namespace {

using diag::Kind;
using model::HistState;
using model::Trigger;
using model::TriggerKind;

constexpr std::array<std::string_view, 10> kClocks = {"local", "global",   "counter", "uptime", "perf",
                                                      "mono",  "mono_raw", "boot",    "tai",    "x86-tsc"};

// Writes `.sym-offset` as `.symXoffset`: in an expression every '-' is an operator.
std::string with_safe_modifiers(std::string text) {
  constexpr std::string_view kWritten = ".sym-offset";
  for (std::size_t at = text.find(kWritten); at != std::string::npos; at = text.find(kWritten, at)) {
    text[at + std::string_view(".sym").size()] = 'X';
  }
  return text;
}

// `text` must be a number, which the parser has checked.
std::uint32_t table_bits(std::string_view text) {
  return static_cast<std::uint32_t>(std::bit_width(grammar::parse_unsigned(text, grammar::kAutoBase).value - 1));
}
std::uint32_t top_count(std::string_view text) {
  return static_cast<std::uint32_t>(grammar::parse_unsigned(text, grammar::kAutoBase).value);
}

// ---- against what is set ---------------------------------------------------------------------------

enum class FilterRule : std::uint8_t { Compare, Ignore };

// The trigger whose counts a `name=` means, or nullptr.
const Trigger* named_trigger(const HistCheck& check) {
  return check.hist.name.empty() ? nullptr : check.table.find_named(check.hist.name);
}

bool matches(const Trigger& made, const Trigger& other, const Trigger* named, FilterRule rule) {
  if (other.kind != TriggerKind::Hist) return false;
  const std::string_view name = named == nullptr ? std::string_view() : named->histogram.name;
  if (other.histogram.name != name) return false;
  if (rule == FilterRule::Compare && made.filter != other.filter) return false;
  return same_histogram(made.histogram, other.histogram);
}

const Trigger* find_match(const HistCheck& check, const Trigger& made) {
  const Trigger* named = named_trigger(check);
  for (const Trigger& other : check.table.of(check.event)) {
    if (matches(made, other, named, FilterRule::Compare)) return &other;
  }
  return nullptr;
}

void take_step(HistCheck& check, TriggerStep step) {
  check.table.apply(step);
  check.steps.push_back(std::move(step));
}

bool remove_match(HistCheck& check, const Trigger& made) {
  const Trigger* found = find_match(check, made);
  if (found == nullptr) return true;
  if (check.table.is_referred_to(found->histogram)) {
    check.log.refuse_unlogged(Kind::HistVarsInUse, "", EBUSY);
    return false;
  }
  remove_histogram(check.table, check.steps, check.event, found->id);
  return true;
}

// `pause`, `cont` and `clear` act on an equal histogram that is set.
bool update_existing(HistCheck& check, const Trigger& made, HistUpdate update) {
  if (update == HistUpdate::None) return false;
  if (!check.hist.name.empty()) {
    const Trigger* named = named_trigger(check);
    if (named == nullptr || !matches(made, *named, named, FilterRule::Ignore)) return false;
  }
  const Trigger* found = find_match(check, made);
  if (found == nullptr) return false;
  if (update == HistUpdate::Clear) {
    take_step(check, ClearHist{check.event, found->id});
  } else {
    const HistState state = update == HistUpdate::Pause ? HistState::Paused : HistState::Active;
    take_step(check, SetHistState{check.event, found->id, state});
  }
  return true;
}

bool is_known_clock(std::string_view clock) { return std::ranges::find(kClocks, clock) != kClocks.end(); }

bool add_histogram(HistCheck& check, Trigger made, const HistParts& parts) {
  const Trigger* named = named_trigger(check);
  if (named != nullptr && !matches(made, *named, named, FilterRule::Ignore)) {
    check.log.refuse(Kind::HistNamedMismatch, "name=" + check.hist.name);
    return false;
  }
  const bool starts_name = !check.hist.name.empty() && named == nullptr;
  if (!starts_name && find_match(check, made) != nullptr) {
    check.log.refuse(Kind::HistTriggerEexist, "", EEXIST);
    return false;
  }
  if (parts.wants_existing) {
    check.log.refuse(Kind::HistTriggerEnoentClear, "", ENOENT);
    return false;
  }
  if (made.histogram.uses_timestamps && !is_known_clock(made.histogram.clock)) {
    check.log.refuse(Kind::HistSetClockFail, made.histogram.clock);
    return false;
  }
  if (named != nullptr) made.histogram = named->histogram;
  take_step(check, AddTrigger{check.event, std::move(made)});
  return true;
}

bool bind_hist_filter(HistCheck& check, const model::TriggerSpec& spec, Trigger& made) {
  if (!spec.filter) return true;
  diag::Sink mistakes;
  made.filter = spec.filter;
  made.condition = compile_trigger_filter(*spec.filter, check.entry.layout, check.dialect, mistakes);
  if (made.condition) return true;
  check.log.refuse(mistakes.diagnostics().front());
  return false;
}

}  // namespace

HistParts hist_parts(const model::TriggerSpec& spec) {
  HistParts parts;
  for (const model::HistPart& part : spec.hist) {
    const std::string text = with_safe_modifiers(part.text);
    if (part.name == "keys") parts.keys = text;
    if (part.name == "vals") parts.values = text;
    if (part.name == "sort") parts.sort = text;
    if (part.name == "name") parts.name = text;
    if (part.name == "clock") parts.clock = without_blanks(text);
    if (part.name == "size") parts.bits = table_bits(text);
    if (part.name == "var") parts.assignments.push_back(text);
    if (part.name.starts_with("on")) parts.actions.push_back(text);
    if (part.name == "pause") parts.update = HistUpdate::Pause;
    if (part.name == "cont") parts.update = std::max(parts.update, HistUpdate::Continue);
    if (part.name == "clear") parts.update = std::max(parts.update, HistUpdate::Clear);
    if (part.name == "nohitcount") parts.hides_hitcount = true;
    if (part.name == "top") parts.top = top_count(text);
    if (part.name == "drop") parts.drops = true;
    if (part.name == "cont" || part.name == "clear") parts.wants_existing = true;
  }
  return parts;
}

bool read_histogram(HistCheck& check, const HistParts& parts) {
  const bool good = read_hist_actions(check, parts) && read_definitions(check, parts) &&
                    read_hist_values(check, parts) && read_hist_variables(check) && read_hist_keys(check, parts) &&
                    read_hist_sort(check, parts) && read_hist_top(check, parts);
  check.definitions.clear();  // actions do not see them
  check.variables_made = static_cast<std::uint32_t>(check.hist.variables.size());
  return good;
}

bool write_histogram(HistCheck& check, const model::TriggerSpec& spec) {
  const HistParts parts = hist_parts(spec);
  check.hist.id = check.table.take_id();
  check.hist.name = parts.name.value_or("");
  check.hist.clock = parts.clock.value_or("global");
  check.hist.bits = parts.bits;
  check.hist.top = parts.top;
  check.hist.drops = parts.drops;
  check.hist.shows_hitcount = !parts.hides_hitcount;
  check.hist.log2_of_negatives = check.dialect.version() && check.dialect.version()->major < 7 ? 64 : 0;
  if (!read_histogram(check, parts)) return false;

  Trigger made{.id = check.hist.id, .kind = TriggerKind::Hist};
  made.state = parts.update == HistUpdate::Pause ? HistState::Paused : HistState::Active;
  if (!bind_hist_filter(check, spec, made)) return false;
  made.histogram = check.hist;
  if (check.purpose == HistPurpose::Remove) return remove_match(check, made);
  if (update_existing(check, made, parts.update)) return true;
  if (!create_hist_actions(check)) return false;
  made.histogram = check.hist;
  return add_histogram(check, std::move(made), parts);
}

void remove_histogram(TriggerTable& table, std::vector<TriggerStep>& steps, const model::EventName& event,
                      std::uint64_t id) {
  const auto triggers = table.of(event);
  const auto found = std::ranges::find(triggers, id, &Trigger::id);
  if (found == triggers.end()) return;
  const model::Histogram histogram = found->histogram;
  const TriggerStep step = RemoveTrigger{event, id};
  table.apply(step);
  steps.push_back(step);
  if (table.is_counted_by_any(histogram.id)) return;
  for (const std::uint64_t helper : histogram.helpers) {
    const model::EventName* other = table.event_of(helper);
    if (other == nullptr) continue;
    const auto others = table.of(*other);
    const auto& made = *std::ranges::find(others, helper, &Trigger::id);
    if (!table.is_referred_to(made.histogram)) remove_histogram(table, steps, model::EventName(*other), helper);
  }
}

std::string_view cut_at(std::optional<std::string_view>& rest, char separator) {
  const std::string_view text = rest.value_or("");
  const std::size_t at = text.find(separator);
  if (at == std::string_view::npos) {
    rest = std::nullopt;
  } else {
    rest = text.substr(at + 1);
  }
  return text.substr(0, at);
}

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && grammar::is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && grammar::is_blank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace kevt::sema
