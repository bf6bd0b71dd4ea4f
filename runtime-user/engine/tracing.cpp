// A write to a file changes the tables; the EventSwitcher then brings the code in the targets up to date; the
// RecordRouter takes the records of hits back to the instances:
//
//   echo 'p:op libc:open64' >> kprobe_events     DefinitionFiles: parsed, checked, kept; nothing is compiled
//   echo 1 > events/kprobes/op/enable            EventSwitcher: compiled, installed, armed
//   a hit                                        RecordRouter: triggers, gates, stored
#include "runtime-user/engine/tracing.h"

#include <cerrno>

namespace kevt::engine {

// Mirrors instance_rmdir() of kernel/trace/trace.c (6.1).
Result<void> Tracing::remove_instance(std::string_view name) {
  Instance* instance = state_.instances.find(name);
  if (!instance) return std::unexpected(Error::of_errno(ENOENT));
  if (instance->users > 0) return std::unexpected(Error::of_errno(EBUSY));
  KEVT_TRY(switcher_.release(*instance));
  inliner_.forget(*instance);
  state_.instances.erase(*instance);
  return {};
}

}  // namespace kevt::engine
