// Names as instance_mkdir() of kernel/trace/trace.c (6.1) takes them.
#include "runtime-user/engine/instances/instance_table.h"

#include <algorithm>
#include <cerrno>
#include <string>

#include "compiler/layout/layout.h"

namespace kevt::engine {

namespace {

constexpr std::size_t kLongestName = 255;  // NAME_MAX

std::uint32_t pages_for(std::uint64_t kb) {
  return static_cast<std::uint32_t>((kb * 1024 + layout::kRingPageData - 1) / layout::kRingPageData);
}

}  // namespace

InstanceTable::InstanceTable(std::uint32_t cpus, std::uint64_t buffer_kb) : cpus_(cpus), pages_(pages_for(buffer_kb)) {
  instances_.push_back(std::make_unique<Instance>("", cpus_, pages_));
}

Instance* InstanceTable::find(std::string_view name) const {
  const auto it = std::ranges::find_if(instances_, [&](const auto& one) { return one->name == name; });
  return it == instances_.end() || name.empty() ? nullptr : it->get();
}

Result<void> InstanceTable::make(std::string_view name) {
  if (name.size() > kLongestName) return std::unexpected(Error::of_errno(ENAMETOOLONG));
  if (name.empty()) return std::unexpected(Error::of_errno(EINVAL));
  if (find(name)) return std::unexpected(Error::of_errno(EEXIST));
  instances_.push_back(std::make_unique<Instance>(std::string(name), cpus_, pages_));
  return {};
}

void InstanceTable::erase(const Instance& instance) {
  std::erase_if(instances_, [&](const auto& one) { return one.get() == &instance; });
}

bool InstanceTable::is_armed(std::uint32_t event) const {
  return std::ranges::any_of(instances_, [&](const auto& instance) {
    const EventState* state = instance->find_state(event);
    return state && state->registered;
  });
}

bool InstanceTable::makes(std::string_view synthetic_event) const {
  const auto makes = [&](const model::Trigger& trigger) {
    return std::ranges::any_of(trigger.histogram.actions, [&](const model::HistAction& action) {
      return action.kind == model::HistActionKind::Trace && action.synthetic_event == synthetic_event;
    });
  };
  return std::ranges::any_of(instances_, [&](const auto& instance) {
    return std::ranges::any_of(instance->triggers.events(),
                               [&](const auto& event) { return std::ranges::any_of(event.second, makes); });
  });
}

bool InstanceTable::has_stack_option() const {
  return std::ranges::any_of(instances_, [](const auto& instance) { return instance->has_stack_option(); });
}

bool InstanceTable::is_any_on() const {
  return std::ranges::any_of(instances_, [](const auto& instance) {
    return std::ranges::any_of(instance->events, [](const auto& one) { return one.second.records(); });
  });
}

void InstanceTable::forget(std::uint32_t event) {
  for (const auto& instance : instances_) instance->events.erase(event);
}

void InstanceTable::clear_buffers() {
  for (const auto& instance : instances_) instance->clear();
}

}  // namespace kevt::engine
