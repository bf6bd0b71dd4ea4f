#include "compiler/pipeline/front.h"

#include <algorithm>
#include <utility>

#include "compiler/layout/layout.h"
#include "compiler/pipeline/compile.h"
#include "compiler/pipeline/compile_modules.h"

namespace kevt::pipeline {

std::vector<ParsedEvent> parse_events(std::span<const std::string> lines) {
  constexpr std::size_t kAtOnce = 256;  // lines for one thread: each makes a parser, which fewer lines do not repay
  std::vector<ParsedEvent> parsed(lines.size());
  in_parallel((lines.size() + kAtOnce - 1) / kAtOnce, [&](std::size_t chunk) {
    for (std::size_t i = chunk * kAtOnce; i < std::min(lines.size(), (chunk + 1) * kAtOnce); ++i) {
      diag::Sink sink;
      parsed[i].definition = parse_event(lines[i], sink);
      parsed[i].mistakes = sink.take();
    }
  });
  return parsed;
}

bool needs_types(const model::Definition& definition) {
  return std::ranges::any_of(definition.args, &model::FetchArg::needs_types);
}

std::optional<LaidOut> check_and_lay_out(model::Definition written, const target::TargetEnv& env,
                                         const target::EventCatalog& catalog, const sema::CheckRequest& request,
                                         diag::Sink& sink) {
  const bool uses_target_types = needs_types(written);
  // Model + target → checked model: names, symbols, types, limits.
  auto checked = sema::check_definition(std::move(written), env, catalog, sink, request);
  if (!checked) return std::nullopt;
  // Where the bytes of a record lie.
  auto layout = layout::layout_record(checked->definition, sink);
  if (!layout) return std::nullopt;
  return LaidOut{*std::move(checked), *std::move(layout), uses_target_types};
}

}  // namespace kevt::pipeline
