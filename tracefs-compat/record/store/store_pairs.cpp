// Entries and returns, paired.
//
//   p f (ip F)   p g (ip G)   r g (func G)   r f (func F)     task 12:  f [ g [ ] ]     depth 0 and 1
//
// Problem: a recording says of a return which function it left, not which entry it belongs to; returns are missed,
// probes within a function look like entries, and one function may have several probes. Idea: a stack per task, keyed
// by the function's address; a return ends the topmost entry of its function and drops what was opened above it. A key
// that is opened eight times before it is ever closed is no function's entry and is not looked at again. A second probe
// of an entry, or of a return, with nothing between is the same slice.
#include "tracefs-compat/record/store/store_pairs.h"

#include <algorithm>
#include <string_view>

namespace kevt::record {
namespace {

std::uint64_t name_key(std::string_view system, std::string_view name) {
  std::uint64_t hash = 1469598103934665603ull;
  const auto mix = [&](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  };
  mix(system);
  mix("/");
  mix(name);
  return hash | 1;  // no address of code that is traced is odd and this large at once
}

struct NamePair {
  std::string_view opens, closes;
  bool is_prefix;
};
constexpr NamePair kNamePairs[] = {{"sys_enter_", "sys_exit_", true},
                                   {"_entry", "_exit", false},
                                   {"_begin", "_end", false},
                                   {"_enter", "_exit", false}};

std::optional<std::string_view> without(std::string_view name, std::string_view part, bool is_prefix) {
  if (is_prefix ? !name.starts_with(part) : !name.ends_with(part)) return std::nullopt;
  return is_prefix ? name.substr(part.size()) : name.substr(0, name.size() - part.size());
}

}  // namespace

PairRule pair_rule(const EventFormat& event) {
  for (const Field& field : event.fields) {
    if (field.role == PlaceRole::Function) return {PairRule::Role::Closes, &field, 0};
    if (field.role == PlaceRole::Place) return {PairRule::Role::Opens, &field, 0};
  }
  for (const NamePair& pair : kNamePairs) {
    if (const auto name = without(event.name, pair.opens, pair.is_prefix))
      return {PairRule::Role::Opens, nullptr, name_key(event.system, *name)};
    if (const auto name = without(event.name, pair.closes, pair.is_prefix))
      return {PairRule::Role::Closes, nullptr, name_key(event.system, *name)};
  }
  return {};
}

std::uint64_t pair_key(const PairRule& rule, std::span<const std::uint8_t> bytes) {
  return rule.field ? value_of(*rule.field, bytes).number : rule.key;
}

void SlicePairs::forget_never_closed(Task& task) {
  if (task.epoch == epoch_) return;
  std::erase_if(task.stack, [&](const Open& open) { return never_.contains(open.key); });
  task.epoch = epoch_;
}

SlicePairs::Opened SlicePairs::open(const Step& step) {
  if (step.task >= tasks_.size()) tasks_.resize(step.task + 1);
  Task& task = tasks_[step.task];
  forget_never_closed(task);
  task.closed_by = ~0u;
  const auto depth = [&] { return std::min<std::uint32_t>(static_cast<std::uint32_t>(task.stack.size()), kMaxDepth); };
  if (never_.contains(step.key)) return {depth()};
  const bool is_answered = answered_.contains(step.key);
  if (!is_answered && unanswered_.size() >= kMaxKeys && !unanswered_.contains(step.key)) return {depth()};
  if (!is_answered && ++unanswered_[step.key] > kTrials) {
    never_.insert(step.key);
    unanswered_.erase(step.key);
    ++epoch_;
    return {depth()};
  }
  if (!task.stack.empty() && task.stack.back().key == step.key && task.stack.back().event != step.event)
    return {depth() - 1};
  if (task.stack.size() >= kMaxOpen) task.stack.erase(task.stack.begin());
  const Opened opened{depth()};
  task.stack.push_back({step.key, step.time_ns, step.row, step.event});
  return opened;
}

std::optional<SlicePairs::Closed> SlicePairs::close(const Step& step) {
  if (step.task >= tasks_.size()) return std::nullopt;
  Task& task = tasks_[step.task];
  forget_never_closed(task);
  if (task.closed_by != ~0u && task.closed_by != step.event && task.closed_key == step.key) return std::nullopt;
  const auto found = std::ranges::find(task.stack.rbegin(), task.stack.rend(), step.key, &Open::key);
  if (found == task.stack.rend()) return std::nullopt;
  const auto at = std::prev(found.base());
  const auto depth = static_cast<std::uint32_t>(at - task.stack.begin());
  const Closed closed{at->row, at->time_ns, std::min(depth, kMaxDepth), at->event};
  task.stack.erase(at, task.stack.end());
  task.closed_key = step.key;
  task.closed_by = step.event;
  if (answered_.insert(step.key).second) unanswered_.erase(step.key);
  return closed;
}

}  // namespace kevt::record
