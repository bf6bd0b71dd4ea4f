// An entry probe stands at its function's first instruction, so its address is what the return probe calls the
// function.
//
//   entry f → entry g → return g → return f     g is inside f
//
// Entries whose return never comes (no return probe on them, or it was missed) are passed over when an outer call
// returns, and what was inside them is inside that call. A function that was passed over often and has never returned
// is not looked at any more; without outer calls it stays until the end (never_returns()). Entries in the middle of
// functions never pair. Threads, nesting and functions are limited: a recording may be hostile.
#include "tracefs-compat/record/analysis/call_pairs.h"

#include <algorithm>

namespace kevt::record {
namespace {

constexpr std::size_t kMaxOpenDepth = 512;
constexpr std::size_t kMaxThreads = 1 << 16;
constexpr std::size_t kMaxOpenOfThreads = 1 << 20;
constexpr std::size_t kMaxFunctions = 1 << 20;  // of others nothing is known
constexpr std::uint32_t kFewEntries = 8;        // main() may be under way at the end
constexpr std::uint32_t kOften = 256;

}  // namespace

const CallPairs::Roles& CallPairs::roles_of(const EventFormat& event) {
  const std::uint32_t id = event.id & 0xffff;
  if (id >= by_id_.size()) by_id_.resize(id + 1);
  Roles& roles = by_id_[id];
  if (roles.is_known) return roles;
  roles.is_known = true;
  for (const Field& field : event.fields) {
    if (field.role == PlaceRole::Place) roles.entry = &field;
    if (field.role == PlaceRole::Function) roles.exit = &field;
  }
  return roles;
}

// nullptr: there are too many.
CallPairs::Function* CallPairs::known(std::uint64_t function) {
  const auto found = functions_.find(function);
  if (found != functions_.end()) return &found->second;
  return functions_.size() < kMaxFunctions ? &functions_[function] : nullptr;
}

void CallPairs::pass_over(std::uint64_t function) {
  ++unmatched_;
  if (Function* passed = known(function)) ++passed->passed_over;
}

bool CallPairs::never_returns(std::uint64_t function) const {
  const auto found = functions_.find(function);
  return found != functions_.end() && !found->second.has_returned && found->second.entries > kFewEntries;
}

std::optional<Call> CallPairs::add(const TypedRecord& record) {
  const Roles& roles = roles_of(*record.event);
  if (!roles.entry && !roles.exit) return std::nullopt;
  if (threads_.size() >= kMaxThreads && !threads_.contains(record.thread())) return std::nullopt;
  std::vector<Open>& open = threads_[record.thread()];
  if (roles.entry) {
    const std::uint64_t function = value_of(*roles.entry, record.bytes).number;
    if (Function* entered = known(function)) {
      ++entered->entries;
      if (!entered->has_returned && entered->passed_over > kOften) return std::nullopt;
    }
    if (open.size() >= kMaxOpenDepth) open.erase(open.begin()), --open_, ++unmatched_;
    if (open_ >= kMaxOpenOfThreads) {
      ++unmatched_;
      return std::nullopt;
    }
    ++open_;
    open.push_back({record.event, function, record.time_ns, 0});
    return std::nullopt;
  }
  const std::uint64_t function = value_of(*roles.exit, record.bytes).number;
  if (Function* left = known(function)) left->has_returned = true;
  const auto found =
      std::find_if(open.rbegin(), open.rend(), [&](const Open& one) { return one.function == function; });
  if (found == open.rend()) {
    ++unmatched_;
    return std::nullopt;
  }
  const auto at = std::prev(found.base());
  for (auto passed = std::next(at); passed != open.end(); ++passed) {
    at->inside_ns += passed->inside_ns;
    pass_over(passed->function);
  }
  Call call{.entry = at->entry,
            .exit = record.event,
            .function = function,
            .begin_ns = at->begin_ns,
            .end_ns = std::max(record.time_ns, at->begin_ns),
            .inside_ns = at->inside_ns,
            .callers = {}};
  for (auto it = open.begin(); it != at; ++it) call.callers.push_back(it->function);
  open_ -= static_cast<std::size_t>(open.end() - at);
  open.erase(at, open.end());
  if (!open.empty()) open.back().inside_ns += call.end_ns - call.begin_ns;
  return call;
}

}  // namespace kevt::record
