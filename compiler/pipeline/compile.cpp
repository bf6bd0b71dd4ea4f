// The whole compiler on one page. Read it from top to bottom: each line is a stage, and each stage
// is a folder.
#include "compiler/pipeline/compile.h"

#include <algorithm>
#include <cerrno>

#include "common/assert.h"
#include "compiler/codegen/native.h"
#include "compiler/ir/verify.h"
#include "compiler/layout/layout.h"
#include "compiler/lower/lower.h"
#include "compiler/pipeline/front.h"
#include "compiler/pipeline/runnable.h"
#include "compiler/pipeline/shared_bpf.h"
#include "compiler/pipeline/shared_code.h"
#include "compiler/pipeline/type_mismatch.h"
#include "compiler/sema/filter.h"
#include "compiler/sema/sema.h"
#include "grammar/parse.h"

namespace kevt::pipeline {

// Text → model: syntax alone.
std::optional<model::Definition> parse_event(std::string_view line, diag::Sink& sink) {
  auto statement = grammar::parse_line_leniently(line, grammar::EventsFile::Dynamic, sink);
  if (!statement) return std::nullopt;
  auto* written = std::get_if<model::Definition>(&*statement);
  if (!written) {
    sink.report({.kind = diag::Kind::UnsupportedForm,
                 .location = diag::Location::Kevtrace,
                 .command = std::string(line),
                 .column = 0,
                 .errno_value = 22,
                 .detail = "a deletion defines no event",
                 .notes = {},
                 .fixits = {}});
    return std::nullopt;
  }
  return std::move(*written);
}

void expect_functions(std::span<const model::Definition* const> definitions, const target::TargetEnv& env) {
  std::vector<target::FunctionName> names;
  for (const model::Definition* definition : definitions)
    if (const auto* place = std::get_if<model::SymbolPlace>(&definition->place))
      names.push_back({.module = place->module, .name = place->symbol});
  env.expect_functions(names);
}

namespace {

std::uint64_t semaphore_of(const model::Definition& definition, const target::TargetEnv& env) {
  const auto* place = std::get_if<model::FilePlace>(&definition.place);
  if (!place || !place->reference_counter) return 0;
  return env.find_file_offset(place->path, *place->reference_counter).value_or(0);
}

}  // namespace

std::optional<CheckedEvent> check_event(std::string_view line, const target::TargetEnv& env,
                                        const target::EventCatalog& catalog, Forms forms, diag::Sink& sink) {
  auto written = parse_event(line, sink);
  if (!written) return std::nullopt;
  return check_event(std::move(*written), env, catalog, forms, sink);
}

std::optional<CheckedEvent> check_event(model::Definition written, const target::TargetEnv& env,
                                        const target::EventCatalog& catalog, Forms forms, diag::Sink& sink) {
  // Model + target → checked model: names, symbols, types, limits; and the layout of the record.
  auto laid_out = check_and_lay_out(std::move(written), env, catalog, {}, sink);
  if (!laid_out) return std::nullopt;
  sema::CheckedDefinition& checked = laid_out->checked;
  const bool is_codeless = forms == Forms::RunnableLater && checked.definition.kind == model::EventKind::Synthetic;
  if (forms != Forms::All && !is_codeless && !can_run(checked.definition, env, sink)) return std::nullopt;
  const bool waits = forms == Forms::RunnableLater && waits_for_library(checked, env);
  if (forms != Forms::All && !waits && !is_codeless && !is_there(checked, env, sink)) return std::nullopt;

  CheckedEvent event;
  if (forms != Forms::All && !attach_filter(checked.definition, catalog, event, sink)) return std::nullopt;
  event.listing = layout::listing(checked.definition, env.possible_cpus());
  event.definition = std::move(checked.definition);
  event.layout = std::move(laid_out->layout);
  event.function_address = checked.function_address;
  event.place_address = checked.place_address;
  event.semaphore_address = semaphore_of(event.definition, env);
  event.uses_target_types = laid_out->uses_target_types;
  event.is_deferred = waits;
  return event;
}

std::optional<model::FilterExpr> check_filter(std::string_view text, const CheckedEvent& event, diag::Sink& sink) {
  return sema::compile_filter(text, event.layout, sink);
}

namespace {

// Makes code for the programs, once for equal ones, and notes in each event where its code is.
Result<void> make_native(CompiledEvents& out, const std::vector<std::string>& names, codegen::KeepIr keep_ir,
                         MadeCode made) {
  auto code = KEVT_TRY(compile_programs(out.programs, names, keep_ir, made));
  for (std::size_t i = 0; i < out.programs.size(); ++i) {
    model::CompiledEvent& event = out.batch.events[i];
    event.image = code.places[i].image;
    event.entry = code.places[i].event.extractor.entry;
    event.code_size = code.places[i].event.extractor.size;
    event.block = code.places[i].event.block;
    event.register_reads = code.places[i].register_reads;
  }
  out.batch.images = std::move(code.images);
  out.llvm_ir = std::move(code.llvm_ir);
  return {};
}

model::BpfContext context_of(model::EventKind kind) {
  switch (kind) {
    case model::EventKind::Uprobe:
      return model::BpfContext::Uprobe;
    case model::EventKind::Eprobe:
      return model::BpfContext::Tracepoint;
    case model::EventKind::Tprobe:
      return model::BpfContext::RawTracepoint;
    case model::EventKind::Watchpoint:
      return model::BpfContext::Watch;
    case model::EventKind::Kprobe:
    case model::EventKind::Fprobe:
    case model::EventKind::Synthetic:
      return model::BpfContext::Kprobe;
  }
  return model::BpfContext::Kprobe;
}

Result<void> make_bpf(CompiledEvents& out, std::span<const CheckedEvent* const> events,
                      const std::vector<std::string>& names, const BpfRequest& request) {
  std::vector<BpfTask> tasks;
  for (std::size_t i = 0; i < events.size(); ++i)
    tasks.push_back({.program = &out.programs[i],
                     .name = names[i],
                     .context = context_of(events[i]->definition.kind),
                     .uses_target_types = events[i]->uses_target_types});
  auto code = compile_bpf_programs(tasks, request);
  if (!code) return std::unexpected(with_type_mismatches(std::move(code.error()), events, tasks, request));
  for (std::size_t i = 0; i < out.programs.size(); ++i) out.batch.events[i].bpf = code->places[i];
  out.batch.bpf = std::move(code->programs);
  out.llvm_ir = std::move(code->llvm_ir);
  return {};
}

// Why hits of the event cannot make its function return; empty: they can.
std::string why_no_injection(const CheckedEvent& event, model::CodeKind kind) {
  if (kind != model::CodeKind::Native) return "only the in-process runtime injects";
  if (event.definition.probe_kind != model::ProbeKind::Entry)
    return "a return probe cannot inject: the function has run";
  if (!event.function_address || event.place_address != event.function_address)
    return "only a probe on a function's first instruction can make it return";
  return "";
}

}  // namespace

Result<CompiledEvents> compile_events(std::span<const CheckedEvent* const> events,
                                      const std::vector<std::vector<std::optional<model::FilterExpr>>>& filters,
                                      const target::TargetEnv& env, Artifacts artifacts, model::CodeKind kind,
                                      MadeCode made) {
  CompiledEvents out;
  // Checked model → fetch IR. From here on nobody looks at the definition's text again.
  std::vector<std::string> names;
  for (std::size_t i = 0; i < events.size(); ++i) {
    out.programs.push_back(lower::lower_event(events[i]->definition, events[i]->layout, filters[i], events[i]->switches,
                                              events[i]->attached ? &*events[i]->attached : nullptr,
                                              events[i]->histograms));
    if (events[i]->injection) {
      if (auto why = why_no_injection(*events[i], kind); !why.empty())
        return std::unexpected(Error("`" + events[i]->definition.command + "`: " + why, EOPNOTSUPP));
      out.programs.back().injects = true;
    }
    out.programs.back().takes_stack = events[i]->takes_stack;
    if (kind == model::CodeKind::Native && events[i]->takes_stack) lower::add_stack_number(out.programs.back());
    if (kind == model::CodeKind::Native && out.programs.back().probe_kind == model::ProbeKind::Record)
      return std::unexpected(
          Error("`" + events[i]->definition.command + "`: eprobes run in the kernel, by the bpf runtime", EOPNOTSUPP));
    const auto broken = ir::verify(out.programs.back());
    KEVT_ASSERT(!broken);
    names.push_back("event" + std::to_string(i) + "_" + events[i]->definition.event);
  }

  // The compiled events: what a runtime needs, and nothing of the compiler.
  for (std::size_t i = 0; i < events.size(); ++i) {
    model::CompiledEvent event;
    event.definition = events[i]->definition;
    event.layout = events[i]->layout;
    event.listing = events[i]->listing;
    event.slots = out.programs[i].slots;
    event.entry_arguments = ir::entry_arguments(out.programs[i]);
    event.function_address = events[i]->function_address;
    event.semaphore_address = events[i]->semaphore_address;
    event.place_address = events[i]->place_address;
    event.sinks = static_cast<std::uint32_t>(out.programs[i].sinks.size());
    event.injection = events[i]->injection;
    for (std::size_t table = 0; table < events[i]->histograms.size(); ++table) {
      const ir::Aggregate& aggregate = out.programs[i].aggregates[table];
      event.hit_tables.push_back({.trigger = events[i]->histograms[table].trigger,
                                  .key_words = ir::key_words(out.programs[i], aggregate),
                                  .sum_words = static_cast<std::uint32_t>(aggregate.sums.size()),
                                  .greatest = ir::greatest_words(aggregate)});
    }
    if (artifacts == Artifacts::Unresolved) {
      out.batch.events.push_back(std::move(event));
      continue;
    }
    if (auto resolved = resolve_slots(event, env); !resolved)
      return std::unexpected(std::move(resolved.error()).while_doing("compiling `" + event.definition.command + "`"));
    out.batch.events.push_back(std::move(event));
  }

  // Fetch IR → machine code, equal programs once.
  const auto keep_ir = artifacts == Artifacts::KeepAll ? codegen::KeepIr::Yes : codegen::KeepIr::No;
  const auto numbers = artifacts == Artifacts::Unresolved ? codegen::BpfNumbers::Open : codegen::BpfNumbers::Known;
  KEVT_TRY(kind == model::CodeKind::Native ? make_native(out, names, keep_ir, made)
                                           : make_bpf(out, events, names,
                                                      {.possible_cpus = env.possible_cpus(),
                                                       .keep_ir = keep_ir,
                                                       .numbers = numbers,
                                                       .made = made.precompiled}));
  return out;
}

Result<CompiledEvents> compile_events(const std::vector<CheckedEvent>& events,
                                      const std::vector<std::vector<std::optional<model::FilterExpr>>>& filters,
                                      const target::TargetEnv& env, Artifacts artifacts, model::CodeKind kind,
                                      MadeCode made) {
  std::vector<const CheckedEvent*> each;
  for (const CheckedEvent& event : events) each.push_back(&event);
  return compile_events(each, filters, env, artifacts, kind, made);
}

}  // namespace kevt::pipeline
