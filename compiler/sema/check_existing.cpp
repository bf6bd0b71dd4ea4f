// A name that is taken: appending a probe to an event, or a clash.
//
//   p:m vfs_read a=%di, then  p:m vfs_write a=%si  →  fine, a sibling
//                             r:m …                →  DiffProbeType       p:m vfs_write b=%di  →  DiffArgType
//
// Problem: several probes may share an event, but only of one kind, one point and the same arguments. All
// answers are EEXIST. Mirrors append_trace_kprobe(), append_trace_uprobe(), validate_ref_ctr_offset(),
// trace_probe_compare_arg_type() (trace_probe.c) and find_synth_event() of 6.1.
#include <algorithm>

#include "compiler/sema/definition_check.h"

namespace kevt::sema {
namespace {

void report(const DefinitionCheck& check, diag::Kind kind, std::uint32_t column) {
  const bool function =
      check.definition.kind == model::EventKind::Fprobe || check.definition.kind == model::EventKind::Tprobe;
  // In kernels whose `f` takes no number of instances, every failure to register an `f` probe is EINVAL.
  const bool plain = function && check.request.dialect.version() && !check.has(dialect::Feature::FprobeMaxactive);
  check.report({.kind = kind, .column = column, .order = diag::kStepExisting, .errno_value = plain ? EINVAL : EEXIST});
}

// A bit field is stored as the unsigned type of its container.
model::TypeKind stored_kind(const model::TypeSpec& type) {
  return type.kind == model::TypeKind::Bitfield ? model::TypeKind::Unsigned : type.kind;
}

// Whether two types name the same values: the event has one `format` file, which lists the names.
bool same_names(const model::TypeSpec& a, const model::TypeSpec& b) {
  if (!a.names || !b.names) return a.names == b.names;
  return a.bit_width == b.bit_width &&
         std::ranges::equal(*a.names, *b.names, [](const model::EnumName& one, const model::EnumName& other) {
           return one.value == other.value && one.name == other.name;
         });
}

bool same_argument(const model::FetchArg& a, const model::FetchArg& b) {
  return a.name == b.name && same_names(a.type, b.type) && stored_kind(a.type) == stored_kind(b.type) &&
         a.type.bytes == b.type.bytes && a.type.array_count == b.type.array_count &&
         a.type.is_counted == b.type.is_counted;
}

// Index of the first argument that differs.
std::optional<std::size_t> first_difference(const model::Definition& added, const model::Definition& existing) {
  if (added.args.size() != existing.args.size()) return std::min(added.args.size(), existing.args.size());
  for (std::size_t i = 0; i < added.args.size(); ++i) {
    if (!same_argument(added.args[i], existing.args[i])) return i;
  }
  return std::nullopt;
}

// "/a//b/./c" is "/a/b/c".
std::string plain_path(std::string_view path) {
  std::string plain;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    const std::string_view component = path.substr(0, slash);
    if (component != "." && !(component.empty() && !plain.empty())) plain.append(component).append("/");
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return plain;
}

bool same_place(const model::Place& a, const model::Place& b) {
  if (const auto* left = std::get_if<model::SymbolPlace>(&a)) {
    const auto* right = std::get_if<model::SymbolPlace>(&b);
    return right != nullptr && left->module == right->module && left->symbol == right->symbol &&
           left->offset == right->offset;
  }
  if (const auto* left = std::get_if<model::AddressPlace>(&a)) {
    const auto* right = std::get_if<model::AddressPlace>(&b);
    return right != nullptr && left->address == right->address;
  }
  if (const auto* left = std::get_if<model::TracepointPlace>(&a)) {
    const auto* right = std::get_if<model::TracepointPlace>(&b);
    return right != nullptr && left->tracepoint == right->tracepoint;
  }
  if (const auto* left = std::get_if<model::FilePlace>(&a)) {
    const auto* right = std::get_if<model::FilePlace>(&b);
    return right != nullptr && left->offset == right->offset && plain_path(left->path) == plain_path(right->path);
  }
  return false;
}

bool same_probe(const model::Definition& a, const model::Definition& b) {
  return same_place(a.place, b.place) &&
         std::ranges::equal(a.args, b.args, {}, &model::FetchArg::text, &model::FetchArg::text);
}

// All probes of one byte of a file must name the same semaphore; no semaphore counts as offset 0.
void check_reference_counter(const DefinitionCheck& check) {
  const auto& place = std::get<model::FilePlace>(check.definition.place);
  for (const model::Definition* other : check.catalog.probes_of(model::EventKind::Uprobe)) {
    if (!same_place(check.definition.place, other->place)) continue;
    const auto& counter = std::get<model::FilePlace>(other->place).reference_counter;
    if (counter.value_or(0) == place.reference_counter.value_or(0)) continue;
    return check.report({.kind = diag::Kind::RefcntMismatch,
                         .column = check.place_column(),
                         .order = diag::kStepCounter,
                         .logged = false});
  }
}

void check_append(const DefinitionCheck& check, const std::vector<std::shared_ptr<const model::Definition>>& siblings) {
  const model::Definition& added = check.definition;
  if (siblings.empty()) return;
  const model::Definition& first = *siblings.front();
  if (added.probe_kind != first.probe_kind || added.kind != first.kind)
    return report(check, diag::Kind::DiffProbeType, 0);
  if (const auto index = first_difference(added, first)) {
    const bool past_end = *index >= added.args.size();
    const auto end = static_cast<std::uint32_t>(added.command.size() + 1);
    return report(check, diag::Kind::DiffArgType, past_end ? end : added.args[*index].span.begin);
  }
  for (const auto& sibling : siblings) {
    if (same_probe(added, *sibling)) return report(check, diag::Kind::SameProbe, 0);
  }
}

// Up to 6.12 a tracepoint takes one `t` probe, whatever the event's name.
void check_tracepoint(const DefinitionCheck& check) {
  if (!check.has(dialect::Feature::OneTracepointProbe)) return;
  for (const model::Definition* other : check.catalog.probes_of(model::EventKind::Tprobe)) {
    if (!same_place(check.definition.place, other->place)) continue;
    return check.report({.kind = diag::Kind::TracepointTaken,
                         .column = check.place_column(),
                         .order = diag::kStepExisting + 1u,
                         .errno_value = EEXIST,
                         .logged = false});
  }
}

// `f` and `t` probes may share an event, although they are two kinds of probes.
bool is_own(target::EventOwner owner, model::EventKind kind) {
  const auto is_function = [](target::EventOwner one) {
    return one == target::EventOwner::Fprobe || one == target::EventOwner::Tprobe;
  };
  const target::EventOwner own = target::owner_of(kind);
  return owner == own || (is_function(owner) && is_function(own));
}

void report_synthetic(const DefinitionCheck& check) {
  const std::size_t column = check.definition.command.find(check.definition.event);
  check.report({.kind = diag::Kind::SynthEventExists,
                .column = column == std::string::npos ? 0 : static_cast<std::uint32_t>(column),
                .order = diag::kStepPlace,
                .errno_value = EEXIST});
}

}  // namespace

void check_existing(DefinitionCheck& check) {
  const model::Definition& definition = check.definition;
  if (definition.kind == model::EventKind::Uprobe) check_reference_counter(check);
  if (definition.kind == model::EventKind::Tprobe) check_tracepoint(check);
  const target::CatalogEntry* existing = check.catalog.find(definition.group, definition.event);
  if (existing == nullptr) return;
  const bool own = is_own(existing->owner, definition.kind);
  switch (definition.kind) {
    case model::EventKind::Kprobe:
    case model::EventKind::Uprobe:
    case model::EventKind::Fprobe:
    case model::EventKind::Tprobe:
      return own ? check_append(check, existing->siblings) : report(check, diag::Kind::EventExist, 0);
    case model::EventKind::Eprobe:
      return report(check, diag::Kind::EventExist, 0);
    case model::EventKind::Watchpoint:
      return report(check, own ? diag::Kind::WatchSibling : diag::Kind::EventExist, 0);
    case model::EventKind::Synthetic:
      return report_synthetic(check);
  }
}

}  // namespace kevt::sema
