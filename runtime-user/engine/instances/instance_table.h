// InstanceTable: the top instance, and those of the folder instances/ in the order in which they were made.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string_view>

#include "common/error.h"
#include "runtime-user/engine/instances/instance.h"

namespace kevt::engine {

class InstanceTable {
 public:
  // `buffer_kb`: the initial size of one CPU's buffer in every instance.
  InstanceTable(std::uint32_t cpus, std::uint64_t buffer_kb);

  Instance& top() { return *instances_.front(); }
  const Instance& top() const { return *instances_.front(); }
  // nullptr: no instance has this name. The top instance has no name.
  Instance* find(std::string_view name) const;
  // EEXIST, EINVAL, ENAMETOOLONG: as mkdir in instances/ answers.
  Result<void> make(std::string_view name);
  // `instance` is not the top one, and all its events are off already (Tracing::remove_instance).
  void erase(const Instance& instance);

  // Whether any instance has the event on or has a trigger that needs it.
  bool is_armed(std::uint32_t event) const;
  // Whether a histogram in some instance generates this synthetic event.
  bool makes(std::string_view synthetic_event) const;
  // Whether some instance has an option on that records stacks.
  bool has_stack_option() const;
  // Whether some event records. An event that only a trigger needs (`enable` reads `0*`) is armed but does not record.
  bool is_any_on() const;
  // Removes the event's state from every instance.
  void forget(std::uint32_t event);
  void clear_buffers();

  auto begin() const { return instances_.begin(); }
  auto end() const { return instances_.end(); }
  std::size_t size() const { return instances_.size(); }

 private:
  std::uint32_t cpus_;
  std::uint32_t pages_;  // per CPU
  std::list<std::unique_ptr<Instance>> instances_;
};

}  // namespace kevt::engine
