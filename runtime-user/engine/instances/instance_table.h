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
  // Of one CPU's buffer, as every instance begins with it.
  InstanceTable(std::uint32_t cpus, std::uint64_t buffer_kb);

  Instance& top() { return *instances_.front(); }
  const Instance& top() const { return *instances_.front(); }
  // nullptr: there is none of that name; the top one has none.
  Instance* find(std::string_view name) const;
  // EEXIST, EINVAL, ENAMETOOLONG: as mkdir in instances/ answers.
  Result<void> make(std::string_view name);
  // Not the top one. It has no event on any more (Tracing::remove_instance).
  void erase(const Instance& instance);

  // Whether any instance has the event on, or a trigger that needs it.
  bool is_armed(std::uint32_t event) const;
  // Whether a histogram of any instance makes this synthetic event.
  bool makes(std::string_view synthetic_event) const;
  // Does any instance record stacks behind records?
  bool has_stack_option() const;
  // Does any event record? One that a trigger alone needs (`0*`) is armed and does not.
  bool is_any_on() const;
  // The event is gone.
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
