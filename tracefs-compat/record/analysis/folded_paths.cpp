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

void FoldedPaths::weigh(Weights& weights, std::string key, std::uint64_t weight) {
  std::uint64_t& sum = &weights == &stacks_ ? sums_[0] : &weights == &paths_ ? sums_[1] : sums_[2];
  weight = std::min(weight, kLargestWeight - sum);
  sum += weight;
  const auto found = weights.find(key);
  if (found != weights.end()) {
    found->second += weight;
    return;
  }
  if (weights.size() >= kMaxPaths || !room_.take(KeyRoom::kNodeBytes + key.size())) key = "(others)";
  weights[std::move(key)] += weight;
}

const std::string& FoldedPaths::name_of(std::uint64_t thread, std::uint64_t address) {
  if (names_.size() > kMaxPaths) names_.clear();
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
  for (const CountedStack& stack : stacks) weigh(stacks_, path_of(stack.comm, stack.pid, stack.addresses), stack.hits);
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
  weigh(stacks_, std::move(path), request_.by != FoldRequest::By::Value ? 1 : last == last_.end() ? 0 : last->second);
}

std::uint64_t FoldedPaths::weight_of(const TypedRecord& record) const {
  if (request_.by != FoldRequest::By::Value) return 1;
  const auto value = number_or_text(request_.value, record);
  if (!value || !value->is_number()) return 0;
  if (value->kind == Value::Kind::Unsigned) return std::min(value->number, kLargestWeight);
  const double number = as_double(*value);
  return number > 0 ? static_cast<std::uint64_t>(std::min(number, static_cast<double>(kLargestWeight))) : 0;
}

void FoldedPaths::add(const TypedRecord& record) {
  if (is_stack(*record.event)) return add_stack(record);
  const std::uint64_t weight = weight_of(record);
  const bool has_room = last_.size() < kMaxThreads || last_.contains(record.thread());
  if (request_.by == FoldRequest::By::Value && has_room) last_[record.thread()] = weight;
  weigh(events_, clean(record.comm) + ";" + clean(record.event->name), weight);
  const auto call = calls_.add(record);
  if (!call) return;
  std::string path = clean(record.comm);
  for (std::uint64_t caller : call->callers) path += ";" + name_of(record.thread(), caller);
  path += ";" + name_of(record.thread(), call->function);
  const std::uint64_t whole = call->end_ns - call->begin_ns;
  weigh(paths_, std::move(path), whole - std::min(whole, call->inside_ns));
}

// Without the entries of functions that turned out to have no return. Paths have names: a name stays where one of the
// functions that have it returns.
PathWeights FoldedPaths::calls_that_return() const {
  std::set<std::string_view> no_calls, calls;
  for (const auto& [place, name] : names_) (calls_.never_returns(place.second) ? no_calls : calls).insert(name);
  for (const std::string_view name : calls) no_calls.erase(name);
  if (no_calls.empty()) return {paths_.begin(), paths_.end()};
  PathWeights weights;
  for (const auto& [path, weight] : paths_) {
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
      request_.by == By::Time || (request_.by == By::WhatIsThere && stacks_.empty() && !paths_.empty());
  const Weights& chosen = is_time ? paths_ : !stacks_.empty() ? stacks_ : events_;
  const std::string value =
      request_.value.event.empty() ? request_.value.field : request_.value.event + "." + request_.value.field;
  return {.weights = is_time ? calls_that_return() : PathWeights{chosen.begin(), chosen.end()},
          .counts = request_.by == By::Value ? value
                    : is_time                ? "ns"
                    : &chosen == &stacks_    ? "stacks"
                                             : "records"};
}

}  // namespace kevt::record
