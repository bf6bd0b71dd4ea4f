// The program is started and held before its first instruction, so that functions have their final addresses; it is
// killed without having run.
#include "cli/definitions/compilation.h"

#include <algorithm>

#include "cli/exit_status.h"
#include "runtime-user/engine/events/draft.h"

namespace kevt::cli {

Compilation::~Compilation() {
  if (held_) session::end_held(*held_);
}

const target::TargetEnv& Compilation::env() const {
  if (held_) return *held_->env;
  if (kernel_) return *kernel_;
  return unchecked_;
}

std::optional<int> Compilation::use_kernel() {
  auto env = target::KernelEnv::of_running_kernel(target::TypeSource::DebugInformation);
  if (!env) {
    report_.error(env.error());
    return kMissing;
  }
  kernel_ = std::make_unique<target::KernelEnv>(std::move(*env));
  statics_ = std::make_unique<session::KernelCatalog>();
  return std::nullopt;
}

std::optional<int> Compilation::check() {
  engine::Draft draft(statics_.get());
  std::vector<engine::Problem> problems;
  const std::vector<std::string> texts = texts_of(definitions_);
  if (statics_ && !statics_->is_readable() && std::ranges::any_of(texts, engine::stands_on_event)) {
    report_.error(session::kNoTracefs);
    return kMissing;
  }
  draft.check(texts, filters_.filters, env(), pipeline::Forms::Runnable, problems);
  if (!problems.empty()) {
    report_.problems(problems, {.definitions = definitions_, .filters = filters_.sources});
    return kNotCompiled;
  }
  for (engine::Draft::Entry& entry : draft.entries()) {
    events_.push_back(std::move(entry.event));
    sinks_.push_back({std::move(entry.filter)});
    filter_texts_.push_back(std::move(entry.filter_text));
  }
  return std::nullopt;
}

std::optional<int> Compilation::generate() {
  const auto kind = kernel_ ? model::CodeKind::Bpf : model::CodeKind::Native;
  auto compiled = pipeline::compile_events(events_, sinks_, env(), pipeline::Artifacts::KeepAll, kind);
  if (!compiled) {
    report_.error(compiled.error());
    if (!held_ && !kernel_) report_.status("no PROGRAM was given, so data symbols and files could not be looked up");
    return kFailed;
  }
  compiled_ = std::move(*compiled);
  return std::nullopt;
}

std::optional<int> Compilation::compile(const std::vector<std::string>& definitions,
                                        const std::vector<std::string>& filters,
                                        const std::vector<std::string>& command) {
  auto collected = collect_definitions(definitions, {});
  auto collected_filters = collect_filters(filters);
  if (!collected || !collected_filters || collected->empty()) {
    report_.error(!collected_filters ? collected_filters.error().message()
                                     : std::string("no event is defined; give -e DEF"));
    return kUsage;
  }
  definitions_ = std::move(*collected);
  filters_ = std::move(*collected_filters);
  if (!command.empty()) {
    int status = kOurFailure;
    held_ = session::launch_held(command, {.ring_bytes = 64u << 10, .rows = 64}, report_, status);
    if (!held_) return status;
  }
  if (auto failed = check()) return failed;
  return generate();
}

std::span<const std::uint8_t> Compilation::code(std::size_t event) const {
  const model::CompiledEvent& compiled = compiled_.batch.events[event];
  return std::span(compiled_.batch.images[compiled.image].bytes).subspan(compiled.entry, compiled.code_size);
}

}  // namespace kevt::cli
