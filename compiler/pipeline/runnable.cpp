// What a definition without mistakes needs to become a running probe: a form that a runtime runs, a place that
// exists now or comes when its library is loaded, addresses that can be found.
#include "compiler/pipeline/runnable.h"

#include <algorithm>
#include <variant>

#include "common/assert.h"
#include "compiler/lower/fetch.h"
#include "compiler/lower/lower.h"
#include "compiler/sema/filter.h"

namespace kevt::pipeline {

namespace {

// Programs on system calls are run with the arguments of the call as numbers. Newer kernels append texts to the record,
// but only after the program has run (perf_syscall_enter() of kernel/trace/trace_syscalls.c, 7.2).
constexpr const char* kNoTextOfCalls =
    "programs on system calls are given no text behind the fields: read the argument itself (`$filename:ustring`)";

bool is_of_system_call(const model::Definition& definition) {
  const auto* place = std::get_if<model::EventPlace>(&definition.place);
  return place != nullptr && place->system == "syscalls";
}

bool is_located(const model::FetchExpr& expr) {
  const auto* field = std::get_if<model::EventFieldBase>(&expr.base);
  return field != nullptr && field->form == model::EventFieldForm::Located;
}

bool reads_located(const model::FetchArg& arg) { return model::any_expression(arg, is_located); }

bool reads_text(const model::FetchBase& base) {
  return lower::is_text_field(base) || std::holds_alternative<model::CommBase>(base);
}

// Why no runtime runs this form in this target, although it has no mistakes; empty: one does.
std::string why_not_run(const model::Definition& definition, const target::TargetEnv& env) {
  const bool of_kernel = definition.kind == model::EventKind::Fprobe || definition.kind == model::EventKind::Tprobe ||
                         definition.kind == model::EventKind::Watchpoint;
  if (of_kernel && !env.is_running_kernel())
    return "`f`, `t` and `w` probes run in the kernel, by `--runtime bpf`; a program has `p` and `r`";
  if (is_of_system_call(definition) && std::ranges::any_of(definition.args, reads_located)) return kNoTextOfCalls;
  if (lower::lowerable(definition)) return "";
  if (definition.kind == model::EventKind::Tprobe)
    return "a `t` probe has its tracepoint's first 12 arguments, and neither registers nor a stack";
  for (const model::FetchArg& arg : definition.args)
    if (reads_text(arg.expr.base) && arg.expr.dereferences.empty())
      return "`" + arg.text + "` would be the address of a text that is gone when it is seen: `:string` reads it";
  return "no runtime makes code of it";
}

bool refuse(const model::Definition& definition, std::string why, diag::Sink& sink) {
  sink.report({.kind = diag::Kind::NotSupportedByRuntime,
               .location = diag::Location::Kevtrace,
               .command = definition.command,
               .column = 0,
               .errno_value = 95 /* EOPNOTSUPP */,
               .detail = std::move(why),
               .notes = {},
               .fixits = {}});
  return false;
}

}  // namespace

// Forms without mistakes that no runtime runs yet are refused here, never silently accepted.
bool can_run(const model::Definition& definition, const target::TargetEnv& env, diag::Sink& sink) {
  std::string why = why_not_run(definition, env);
  return why.empty() || refuse(definition, std::move(why), sink);
}

bool attach_filter(const model::Definition& definition, const target::EventCatalog& catalog, CheckedEvent& event,
                   diag::Sink& sink) {
  if (!definition.filter) return true;
  const auto& place = std::get<model::EventPlace>(definition.place);
  const target::CatalogEntry* attached = catalog.find(place.system, place.event);
  KEVT_ASSERT(attached != nullptr);  // sema has found it
  auto condition = sema::compile_filter(*definition.filter, attached->layout, sink);
  if (!condition) return false;
  event.attached = {attached->layout, *std::move(condition)};
  const bool is_refused = is_of_system_call(definition) && lower::reads_located_text(*event.attached);
  return !is_refused || refuse(definition, kNoTextOfCalls, sink);
}

namespace {

const std::string* library_of(const model::Definition& definition) {
  if (const auto* symbol = std::get_if<model::SymbolPlace>(&definition.place))
    return symbol->module ? &*symbol->module : nullptr;
  if (const auto* file = std::get_if<model::FilePlace>(&definition.place)) return &file->path;
  return nullptr;
}

}  // namespace

bool waits_for_library(const sema::CheckedDefinition& checked, const target::TargetEnv& env) {
  const std::string* library = library_of(checked.definition);
  if (!library) return checked.is_deferred && env.may_be_loaded("");
  if (const auto* file = std::get_if<model::FilePlace>(&checked.definition.place)) {
    const auto address = env.find_file_offset(file->path, file->offset);
    return !address && address.error().failure == target::LookupFailure::ModuleMissing;
  }
  return checked.is_deferred && env.may_be_loaded(*library);
}

bool is_there(const sema::CheckedDefinition& checked, const target::TargetEnv& env, diag::Sink& sink) {
  const model::Definition& definition = checked.definition;
  const auto refuse = [&](diag::Kind kind, std::string detail) {
    sink.report({.kind = kind,
                 .location = diag::Location::Kevtrace,
                 .command = definition.command,
                 .column = definition.place_span.begin,
                 .errno_value = 2 /* ENOENT */,
                 .detail = std::move(detail),
                 .notes = {},
                 .fixits = {}});
    return false;
  };
  if (const auto* symbol = std::get_if<model::SymbolPlace>(&definition.place); symbol && checked.is_deferred) {
    const auto found = env.find_function(symbol->module, symbol->symbol);
    if (found || found.error().failure == target::LookupFailure::NotChecked) return true;
    return refuse(diag::Kind::ModuleMissing, "`" + symbol->module.value_or("") + "`");
  }
  const auto* file = std::get_if<model::FilePlace>(&definition.place);
  if (!file) return true;
  const auto address = env.find_file_offset(file->path, file->offset);
  if (address || address.error().failure == target::LookupFailure::NotChecked) return true;
  return refuse(diag::Kind::OffsetNotMapped, "the program has no code of `" + file->path + "` there");
}

// The code reads these addresses from its data block.
Result<void> resolve_slots(model::CompiledEvent& event, const target::TargetEnv& env) {
  for (model::SlotSource& slot : event.slots) {
    if (slot.kind == model::SlotKind::SharedCell || slot.kind == model::SlotKind::HitTable)
      continue;  // the runtime knows where it is
    const bool is_thread_local = slot.kind == model::SlotKind::ThreadLocal;
    if (slot.kind == model::SlotKind::SymbolAddress || is_thread_local) {
      auto symbol = env.find_data(slot.name);
      if (!symbol || symbol->thread_local_place.has_value() != is_thread_local)
        return std::unexpected(Error("data symbol `" + slot.name + "` is not found"));
      slot.address = symbol->address + static_cast<std::uint64_t>(slot.addend);
      if (!is_thread_local) continue;
      const auto word = model::thread_local_word(*symbol->thread_local_place, slot.addend);
      if (!word) return std::unexpected(Error("`" + slot.name + "` is thread-local, and ends before that offset"));
      slot.address = *word;
    } else {
      auto address = env.find_file_offset(slot.name, static_cast<std::uint64_t>(slot.addend));
      if (!address) return std::unexpected(Error("the file offset is not mapped: " + slot.name));
      slot.address = *address;
    }
  }
  return {};
}

}  // namespace kevt::pipeline
