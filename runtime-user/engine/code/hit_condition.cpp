#include "runtime-user/engine/code/hit_condition.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "common/assert.h"
#include "compiler/sema/filter.h"

namespace kevt::engine {

std::optional<model::FilterExpr> hit_condition(const TracingState& state, const model::Trigger& trigger,
                                               const TracedEvent& event) {
  const auto is_program = [](const TracedTarget* target) { return target->pid() != 0; };
  if (state.hidden_threads.empty() || std::ranges::any_of(state.code.installed().targets_of(event), is_program))
    return trigger.condition;
  std::string text;
  for (const std::int32_t tid : state.hidden_threads)
    text += fmt::format("{}common_pid != {}", text.empty() ? "" : " && ", tid);
  diag::Sink sink;
  auto condition = sema::compile_filter(text, event.layout, sink, state.options.check);
  KEVT_ASSERT(condition);
  if (!trigger.condition) return condition;
  model::FilterExpr both;
  both.node = model::FilterNode::And;
  both.children.push_back(*std::move(condition));
  both.children.push_back(*trigger.condition);
  return both;
}

}  // namespace kevt::engine
