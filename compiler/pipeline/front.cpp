#include "compiler/pipeline/front.h"

#include <algorithm>
#include <utility>

#include "compiler/layout/layout.h"

namespace kevt::pipeline {

bool needs_types(const model::Definition& definition) {
  return std::ranges::any_of(definition.args, &model::FetchArg::needs_types);
}

std::optional<LaidOut> check_and_lay_out(model::Definition written, const target::TargetEnv& env,
                                         const target::EventCatalog& catalog, const sema::CheckRequest& request,
                                         diag::Sink& sink) {
  const bool uses_target_types = needs_types(written);
  // Model + world → checked model: names, symbols, types, limits.
  auto checked = sema::check_definition(std::move(written), env, catalog, sink, request);
  if (!checked) return std::nullopt;
  // Where the bytes of a record lie.
  auto layout = layout::layout_record(checked->definition, sink);
  if (!layout) return std::nullopt;
  return LaidOut{*std::move(checked), *std::move(layout), uses_target_types};
}

}  // namespace kevt::pipeline
