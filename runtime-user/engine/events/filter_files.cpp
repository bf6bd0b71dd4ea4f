// Mirrors apply_event_filter() and apply_subsystem_event_filter() of kernel/trace/trace_events_filter.c (6.1).
#include "runtime-user/engine/events/filter_files.h"

#include <cerrno>
#include <optional>
#include <vector>

#include "common/clock.h"
#include "compiler/sema/filter.h"
#include "grammar/parse_filter.h"
#include "runtime-user/engine/events/written_text.h"

namespace kevt::engine {

bool FilterFiles::bind(EventState& state, const TracedEvent& event, std::string_view text, diag::Sink& sink) const {
  state.filter.reset();
  state.filter_text.reset();
  state.filter_mistake.clear();
  if (stripped(text) == "0") return true;
  auto bound = sema::compile_filter(text, event.layout, sink, state_.options.check);
  if (!bound) return false;
  state.filter = std::move(bound);
  state.filter_text = std::string(grammar::filter_command(text));
  return true;
}

Result<void> FilterFiles::write(Instance& instance, const TracedEvent& event, std::string_view text) {
  if (text.size() >= kMaxWrittenBytes) return std::unexpected(Error::of_errno(EINVAL));
  records_.drain();
  EventState& state = instance.state_of(event.id);
  diag::Sink sink;
  Result<void> answer;
  if (!bind(state, event, text, sink)) {
    auto mistakes = sink.take();
    state.filter_mistake = sema::filter_file_text(mistakes.front());
    answer = instance.errors.refuse(mistakes);
  }
  if (state.registered) {
    const TracedEvent* const changed[] = {&event};
    KEVT_TRY(switcher_.sync(changed));
  }
  return answer;
}

Result<void> FilterFiles::write_group(Instance& instance, std::string_view group, std::string_view text) {
  if (text.size() >= kMaxWrittenBytes) return std::unexpected(Error::of_errno(EINVAL));
  records_.drain();
  std::vector<const TracedEvent*> on;
  std::optional<diag::Diagnostic> mistake;
  for (const auto& [id, event] : state_.events.events()) {
    if (event->group != group) continue;
    EventState& state = instance.state_of(id);
    diag::Sink sink;
    if (!bind(state, *event, text, sink)) {
      mistake = sink.take().front();
      mistake->kind = diag::Kind::FilterBadSubsysFilter;
      mistake->column = 0;
      state.filter_mistake = sema::filter_file_text(*mistake);
    }
    if (state.registered) on.push_back(event.get());
  }
  if (mistake) instance.errors.add(*mistake, now_ns());
  return on.empty() ? Result<void>{} : switcher_.sync(on);
}

}  // namespace kevt::engine
