// What a recording has decides what is folded: stack traces (their count), else calls (nanoseconds spent in a function
// itself, by the path of calls to it), else the records of each event (their count). Known only at the end.
// Memory is bounded: beyond 200000 different paths, or 64 MiB of them, the rest is one line, "(others)".
#include "tracefs-compat/record/analysis/folded_paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <set>

#include "tracefs-compat/record/print/trace_line.h"

namespace kevt::record {
namespace {

constexpr std::size_t kMaxPaths = 200'000, kMaxThreads = 1'000'000;
constexpr std::size_t kMaxKnownThreads = 1 << 16, kMaxKnownPaths = 1 << 18;  // that need no text
// Of a path, and of all together: sums of them fit into 64 bits, with a sign.
constexpr std::uint64_t kLargestWeight = 1'000'000'000'000'000'000;

// ';' and line ends separate; a name has none.
std::string clean(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c == ';' || c == '\n') c = '_';
  return out;
}

}  // namespace

std::uint64_t& FoldedPaths::slot_of(Sums& sums, std::string key) {
  Weights& weights = sums.weights;
  if (const auto found = weights.find(key); found != weights.end()) return found->second;
  if (weights.size() >= kMaxPaths || !room_.take(KeyRoom::kNodeBytes + key.size())) key = "(others)";
  return weights[std::move(key)];
}

void FoldedPaths::weigh(Sums& sums, std::uint64_t& slot, std::uint64_t weight) {
  weight = std::min(weight, kLargestWeight - sums.sum);
  sums.sum += weight;
  slot += weight;
}

const std::string& FoldedPaths::name_of(std::uint64_t thread, std::uint64_t address) {
  if (names_.size() > kMaxPaths) {
    names_.clear();
    forget_paths();  // whose names calls_that_return() wants
  }
  const Symbols& symbols = metadata_.symbols_of(thread);
  std::string& name = names_[{&symbols, address}];
  if (name.empty()) {
    append_symbol(symbols, address, SymbolOffset::Hidden, name);
    name = clean(name);
  }
  return name;
}

std::string FoldedPaths::path_of(std::string_view comm, std::uint64_t thread,
                                 std::span<const std::uint64_t> addresses) {
  std::string path = clean(comm);
  for (const std::uint64_t address : addresses | std::views::reverse) path += ";" + name_of(thread, address);
  return path;
}

std::vector<CountWish> FoldedPaths::wishes(const Metadata& metadata) {
  std::vector<CountWish> wishes;
  bool has_stacks = false;
  for (const EventFormat& event : metadata.formats.all()) {
    if (is_stack(event))
      has_stacks = true;
    else
      wishes.push_back({.event = &event, .field = "", .by = "", .is_of_stacks = true});
  }
  return has_stacks ? wishes : std::vector<CountWish>();
}

void FoldedPaths::add(std::span<const CountedStack> stacks, std::uint64_t dropped) {
  for (const CountedStack& stack : stacks)
    weigh(stacks_, slot_of(stacks_, path_of(stack.comm, stack.pid, stack.addresses)), stack.hits);
  dropped_ += dropped;
}

std::optional<std::string> FoldedPaths::note() const {
  if (!dropped_) return std::nullopt;
  return fmt::format("{} hits are in no stack: there was no memory for more stacks", dropped_);
}

void FoldedPaths::add_stack(const TypedRecord& record) {
  const Field* caller = record.event->find("caller");
  if (!caller) return;
  std::string path = path_of(record.comm, record.thread(), stack_of(*caller, record.bytes));
  const auto last = last_.find(record.thread());
  weigh(stacks_, slot_of(stacks_, std::move(path)),
        request_.by != FoldRequest::By::Value ? 1
        : last == last_.end()                 ? 0
                                              : last->second);
}

std::uint64_t FoldedPaths::weight_of(const TypedRecord& record) const {
  if (request_.by != FoldRequest::By::Value) return 1;
  const auto value = number_or_text(request_.value, record);
  if (!value || !value->is_number()) return 0;
  if (value->kind == Value::Kind::Unsigned) return std::min(value->number, kLargestWeight);
  const double number = as_double(*value);
  return number > 0 ? static_cast<std::uint64_t>(std::min(number, static_cast<double>(kLargestWeight))) : 0;
}

void FoldedPaths::forget_paths() {
  threads_.clear();
  paths_known_.clear();
  nodes_ = 0;
}

FoldedPaths::ThreadPaths& FoldedPaths::paths_of(const TypedRecord& record) {
  if (threads_.size() >= kMaxKnownThreads || paths_known_.size() >= kMaxKnownPaths) forget_paths();
  ThreadPaths& thread = threads_[record.thread()];
  if (thread.comm != record.comm || thread.calls == 0)
    thread = {.comm = std::string(record.comm), .calls = ++nodes_, .events = {}};
  return thread;
}

std::uint64_t& FoldedPaths::events_slot(ThreadPaths& thread, const TypedRecord& record) {
  const auto found = std::ranges::find(thread.events, record.event, &ThreadPaths::OfEvent::event);
  if (found != thread.events.end()) return *found->weight;
  std::uint64_t& slot = slot_of(events_, clean(record.comm) + ";" + clean(record.event->name));
  constexpr std::size_t kMostEvents = 64;  // of many events each record makes its text again
  if (thread.events.size() < kMostEvents) thread.events.push_back({record.event, &slot});
  return slot;
}

// The thread's path must be looked for anew where making a name has forgotten all paths.
std::uint64_t& FoldedPaths::calls_slot(const TypedRecord& record, const Call& call) {
  const auto known_path = [&]() -> PathKnown& {
    std::uint32_t outer = paths_of(record).calls;
    const auto enter = [&](std::uint64_t function) -> PathKnown& {
      PathKnown& known = paths_known_[{outer, function}];
      if (known.number == 0) known.number = ++nodes_;
      outer = known.number;
      return known;
    };
    for (const std::uint64_t caller : call.callers) enter(caller);
    return enter(call.function);
  };
  if (std::uint64_t* weight = known_path().weight) return *weight;
  std::string path = clean(record.comm);
  for (const std::uint64_t caller : call.callers) path += ";" + name_of(record.thread(), caller);
  path += ";" + name_of(record.thread(), call.function);
  std::uint64_t& slot = slot_of(paths_, std::move(path));
  known_path().weight = &slot;
  return slot;
}

FoldRequest parse_fold_request(const std::string& weight) {
  using By = FoldRequest::By;
  if (weight.empty()) return {};
  if (weight == "hits") return {.by = By::Stacks};
  if (weight == "time") return {.by = By::Time};
  return {.by = By::Value, .value = parse_value_name(weight)};
}

void FoldedPaths::add(const TypedRecord& record) {
  if (is_stack(*record.event)) return add_stack(record);
  const std::uint64_t weight = weight_of(record);
  const bool has_room = last_.size() < kMaxThreads || last_.contains(record.thread());
  if (request_.by == FoldRequest::By::Value && has_room) last_[record.thread()] = weight;
  weigh(events_, events_slot(paths_of(record), record), weight);
  const auto call = calls_.add(record);
  if (!call) return;
  const std::uint64_t whole = call->end_ns - call->begin_ns;
  weigh(paths_, calls_slot(record, *call), whole - std::min(whole, call->inside_ns));
}

// Without the entries of functions that turned out to have no return. Paths have names: a name stays where one of the
// functions that have it returns.
PathWeights FoldedPaths::calls_that_return() const {
  std::set<std::string_view> no_calls, calls;
  for (const auto& [place, name] : names_) (calls_.never_returns(place.second) ? no_calls : calls).insert(name);
  for (const std::string_view name : calls) no_calls.erase(name);
  if (no_calls.empty()) return {paths_.weights.begin(), paths_.weights.end()};
  PathWeights weights;
  for (const auto& [path, weight] : paths_.weights) {
    std::string kept;
    for (const auto part : path | std::views::split(';')) {
      const std::string_view name(part.begin(), part.end());
      const bool is_last = part.end() == path.end();
      if (!is_last && !kept.empty() && no_calls.contains(name)) continue;  // the first is the thread's name
      if (!kept.empty()) kept += ';';
      kept += name;
    }
    weights[kept] += weight;
  }
  return weights;
}

FoldedPaths::Folded FoldedPaths::folded() const {
  using By = FoldRequest::By;
  const bool is_time =
      request_.by == By::Time || (request_.by == By::WhatIsThere && stacks_.weights.empty() && !paths_.weights.empty());
  const Weights& chosen = (is_time ? paths_ : !stacks_.weights.empty() ? stacks_ : events_).weights;
  const std::string value =
      request_.value.event.empty() ? request_.value.field : request_.value.event + "." + request_.value.field;
  return {.weights = is_time ? calls_that_return() : PathWeights{chosen.begin(), chosen.end()},
          .counts = request_.by == By::Value      ? value
                    : is_time                     ? "ns"
                    : &chosen == &stacks_.weights ? "stacks"
                                                  : "records"};
}

}  // namespace kevt::record
