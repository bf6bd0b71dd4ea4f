// Arguments that only the target's types complete, replaced by what they stand for.
//
//   p vfs_read $arg*             ->  file=file buf=buf count=count pos=pos
//   p vfs_read count             ->  count=count of type u64, argument 3
//   p vfs_read n=file->f_pos     ->  +104($arg1):s64          r vfs_read $retval  ->  s64
//   p vfs_read n=file:%pD        ->  n=+0x0(+0x20(+0x48(file))):string
//
// Problem: the text alone does not say what is read. Idea: before the other rules run, ask the environment once for the
// function's prototype, rewrite each argument into the forms everybody knows, and leave it alone where nobody knows.
// A kernel's types are part of it: `$arg1` takes its parameter's name and type there. A process's come from debug
// information, which may be missing: there only those who ask for a name get an answer.
// Mirrors traceprobe_expand_meta_args(), traceprobe_expand_dentry_args() and parse_btf_arg() of
// kernel/trace/trace_probe.c (6.12, 7.3). Carets of words behind `$arg*` are those of the words as written.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "compiler/sema/definition_check.h"
#include "compiler/sema/resolve_fields.h"
#include "compiler/sema/text_object.h"
#include "grammar/parse_definition_text.h"

namespace kevt::sema {
namespace {

using model::FetchArg;
using model::TypeKind;
using model::VariableBase;
using model::VariableKind;
using target::TypeClass;
using target::TypeSource;

constexpr std::size_t kMaxExpandedBytes = 128;  // MAX_BTF_ARGS_LEN
constexpr std::string_view kArg = "$arg";
constexpr std::string_view kFileType = ":%pd";

// The type an argument has when none is written.
void imply_type(const ResolvedOperand& operand, TypeSource source, model::TypeSpec& spec) {
  const target::Type& type = operand.table->type(operand.type);
  const bool whole = type.bytes == 1 || type.bytes == 2 || type.bytes == 4 || type.bytes == 8;
  if (type.kind == TypeClass::Enum) {
    spec.kind = TypeKind::Signed;
    const bool four = source == TypeSource::Kernel || !whole;
    spec.bytes = four && type.bytes != 8 ? 4 : static_cast<std::uint8_t>(type.bytes);
  } else if (type.kind == TypeClass::Integer && whole) {
    spec.kind = type.is_signed ? TypeKind::Signed : TypeKind::Unsigned;
    spec.bytes = static_cast<std::uint8_t>(type.bytes);
  } else if (type.kind == TypeClass::Float) {
    spec.kind = TypeKind::Float;
    spec.bytes = static_cast<std::uint8_t>(type.bytes);
  }
  if (operand.bit_size % 8 == 0 && operand.bit_offset == 0) return;
  spec.bit_width = static_cast<std::uint8_t>(operand.bit_size);
  spec.bit_offset = static_cast<std::uint8_t>(operand.bit_offset);
}

std::optional<std::uint32_t> member_bytes(const target::TypeTable& table, std::optional<target::TypeId> structure,
                                          std::string_view outer, std::string_view inner) {
  const auto first = structure ? table.find_member(*structure, outer) : std::nullopt;
  const auto second = first ? table.find_member(table.strip(first->type), inner) : std::nullopt;
  if (!second) return std::nullopt;
  return (first->bit_offset + second->bit_offset) / 8;
}

bool is_variable(const model::FetchExpr& expr) {
  const auto* variable = std::get_if<VariableBase>(&expr.base);
  return variable != nullptr && !variable->resolved;
}

bool is_text(TypeKind kind) { return kind == TypeKind::String || kind == TypeKind::UserString; }

class Resolution {
 public:
  explicit Resolution(DefinitionCheck& check) : check_(check) {}

  void run() {
    source_ = check_.env.type_source();
    if (source_ == TypeSource::None || !check_.has(dialect::Feature::ArgumentNames) || !is_asked()) return;
    for (const FetchArg& arg : check_.definition.args) check_.replaced.begins.push_back(arg.span.begin);
    if (source_ == TypeSource::Kernel && is_elsewhere()) return;
    auto function = types_of_place();
    if (function) {
      function_ = *function;
    } else if (function.error().failure == target::TypesFailure::NotChecked) {
      return;
    } else {
      why_ = function.error().why;
    }
    rename_unknown();
    if (!expand_words()) return;
    for (std::size_t i = 0; i < check_.definition.args.size(); ++i) {
      resolve(i);
      resolve_file_name(i);
    }
  }

  void run_event_typecasts(const target::CatalogEntry& attached) {
    source_ = check_.env.type_source();
    for (std::size_t i = 0; i < check_.definition.args.size(); ++i) {
      const FetchArg& arg = check_.definition.args[i];
      const auto* base = std::get_if<VariableBase>(&arg.expr.base);
      if (arg.text.empty() || base == nullptr || base->kind != VariableKind::Typecast) continue;
      const std::string text = base->name;
      auto operand =
          FieldResolver(check_, i, function_).event_typecast(text, leaf_column(check_.definition, arg.expr), attached);
      if (operand && operand->table != nullptr) apply(i, *std::move(operand));
    }
  }

 private:
  bool is_asked() const {
    return source_ == TypeSource::Kernel || std::ranges::any_of(check_.definition.args, &FetchArg::needs_types);
  }
  bool is_elsewhere() const;
  std::expected<target::FunctionTypes, target::TypesError> types_of_place() const;
  void rename_unknown() const;
  std::string_view word(const FetchArg& arg) const {
    return std::string_view(check_.definition.command).substr(arg.span.begin, arg.span.end - arg.span.begin);
  }
  bool report_word(diag::Kind kind, const FetchArg& arg, int errno_value, std::uint32_t order) const;
  bool expand_words();
  bool expand_all(std::size_t index, std::vector<FetchArg>& out);
  bool expand_number(std::size_t index, std::vector<FetchArg>& out);
  bool refuse_as_variables(std::uint32_t logged, bool (*is_all)(const FetchArg&));
  void keep(std::size_t index, FetchArg arg, std::int32_t longer, std::vector<FetchArg>& out);
  void renumber() const;
  bool take_room(std::size_t bytes, const FetchArg& arg);
  void check_names();
  void resolve(std::size_t index);
  void resolve_expression(std::size_t index);
  void apply(std::size_t index, ResolvedOperand operand);
  static void follow_reference(FetchArg& arg, ResolvedOperand& operand);
  static bool read_text_object(FetchArg& arg, const ResolvedOperand& operand);
  void prepare_text(std::size_t index, const ResolvedOperand& operand);
  void name_values(std::size_t index, const ResolvedOperand& operand);
  void resolve_file_name(std::size_t index);
  std::string parameter_name(std::uint32_t index) const;

  DefinitionCheck& check_;
  TypeSource source_ = TypeSource::None;
  std::optional<target::FunctionTypes> function_;
  std::string why_;
  std::size_t used_ = 0;
};

std::expected<target::FunctionTypes, target::TypesError> Resolution::types_of_place() const {
  if (const auto* place = std::get_if<model::TracepointPlace>(&check_.definition.place))
    return check_.env.tracepoint_types(place->tracepoint);
  const auto* place = std::get_if<model::SymbolPlace>(&check_.definition.place);
  if (place == nullptr || place->offset != 0)
    return std::unexpected(target::TypesError{target::TypesFailure::Missing, ""});
  std::optional<std::string_view> module;
  if (place->module) module = *place->module;
  return check_.env.function_types(module, place->symbol);
}

// A place that waits for its module is nobody's entry. True: reported.
bool Resolution::is_elsewhere() const {
  const bool entry = check_.definition.kind == model::EventKind::Kprobe &&
                     check_.definition.probe_kind == model::ProbeKind::Entry &&
                     std::holds_alternative<model::SymbolPlace>(check_.definition.place);
  if (!entry || check_.entry == FunctionEntry::Yes) return false;
  for (const FetchArg& arg : check_.definition.args) {
    if (!word(arg).starts_with(kArg)) continue;
    report_word(diag::Kind::NofentryArgs, arg, EINVAL, diag::kStepArgumentWords);
    return true;
  }
  bool reported = false;
  for (std::size_t i = 0; i < check_.definition.args.size(); ++i) {
    const auto* base = std::get_if<VariableBase>(&check_.definition.args[i].expr.base);
    if (base == nullptr || base->kind != VariableKind::Name) continue;
    check_.report({.kind = diag::Kind::NosupBtfarg,
                   .column = leaf_column(check_.definition, check_.definition.args[i].expr),
                   .order = diag::argument_order(i, diag::kArgBase)});
    reported = true;
  }
  return reported;
}

// Names that no argument can have, where no argument is known at all.
void Resolution::rename_unknown() const {
  if (function_ && function_->parameters != 0) return;
  for (diag::Diagnostic& mistake : check_.sink.take()) {
    if (mistake.kind == diag::Kind::NoBtfarg) mistake.kind = diag::Kind::NoBtfEntry;
    check_.sink.report(std::move(mistake));
  }
}

std::string Resolution::parameter_name(std::uint32_t index) const {
  const auto parameters = function_->table->members(function_->table->type(function_->prototype));
  const std::size_t at = std::size_t{function_->first_parameter} + index;
  return at < parameters.size() ? std::string(function_->table->name(parameters[at].name)) : "";
}

// False: the words end here.
bool Resolution::report_word(diag::Kind kind, const FetchArg& arg, int errno_value, std::uint32_t order) const {
  std::string note = why_;
  if (function_) note = FieldResolver(check_, 0, function_).prototype();
  check_.report(
      {.kind = kind, .column = arg.span.begin, .order = order, .errno_value = errno_value, .note = std::move(note)});
  return false;
}

bool Resolution::take_room(std::size_t bytes, const FetchArg& arg) {
  const bool limited = source_ == TypeSource::Kernel;
  if (limited && bytes >= kMaxExpandedBytes - used_)
    return report_word(diag::Kind::Args2long, arg, E2BIG, diag::kStepArgumentWords + 2u);
  used_ += bytes + 1;
  return true;
}

// The word is now argument `out.size()`; a name that says its number goes with it.
void Resolution::keep(std::size_t index, FetchArg arg, std::int32_t longer, std::vector<FetchArg>& out) {
  if (!arg.name_written && arg.name == fmt::format("arg{}", index + 1)) arg.name = fmt::format("arg{}", out.size() + 1);
  out.push_back(std::move(arg));
  check_.replaced.arguments.push_back({index, longer});
}

bool Resolution::expand_all(std::size_t index, std::vector<FetchArg>& out) {
  const FetchArg& arg = check_.definition.args[index];
  for (std::uint32_t i = 0; i < function_->parameters; ++i) {
    const std::string name = parameter_name(i);
    if (!take_room(name.size(), arg)) return false;
    FetchArg one;
    one.span = one.expr_span = one.expr.base_span = arg.span;
    one.text = one.name = name;
    one.expr.base = VariableBase{.name = name, .kind = VariableKind::Name};
    one.needs_types = true;
    if (name.empty()) {  // `...`
      check_.report({.kind = diag::Kind::NoArgBody,
                     .column = arg.span.begin,
                     .order = diag::argument_order(out.size(), diag::kArgLength)});
    }
    keep(index, std::move(one), 0, out);
  }
  return true;
}

// `$argN[:TYPE]`, whatever its type: the number is looked at first.
bool Resolution::expand_number(std::size_t index, std::vector<FetchArg>& out) {
  FetchArg arg = check_.definition.args[index];
  const std::string_view text = word(arg);
  const std::size_t end = std::min(text.find_first_not_of("0123456789", kArg.size()), text.size());
  std::uint32_t number = 0;
  const auto parsed = std::from_chars(text.data() + kArg.size(), text.data() + end, number);
  if (parsed.ec != std::errc() || number == 0 || (end < text.size() && text[end] != ':')) {  // found elsewhere
    keep(index, std::move(arg), 0, out);
    return true;
  }
  if (number > function_->parameters)
    return report_word(diag::Kind::NoBtfarg, arg, ENOENT, diag::kStepArgumentWords + 2u);
  const std::string name = parameter_name(number - 1);
  if (!take_room(name.size() + text.size() - end, arg)) return false;
  if (!name.empty()) {
    const bool file_name = text.ends_with(":%pd") || text.ends_with(":%pD");
    arg.name = file_name ? fmt::format("arg{}", out.size() + 1) : name;
    if (!arg.text.empty()) arg.text = name + std::string(text.substr(end));
    arg.expr.base = VariableBase{.name = name, .kind = VariableKind::Name};
    arg.needs_types = true;
  }
  keep(index, std::move(arg), static_cast<std::int32_t>(name.size()) - static_cast<std::int32_t>(end), out);
  return true;
}

// `$arg*` that stays what it is. True: the arguments are looked at.
bool Resolution::refuse_as_variables(std::uint32_t logged, bool (*is_all)(const FetchArg&)) {
  check_.replaced.unknown_arguments = logged;
  const std::vector<FetchArg>& args = check_.definition.args;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (is_all(args[i])) report_word(diag::Kind::BadVar, args[i], EINVAL, diag::argument_order(i, diag::kArgBase));
  }
  return true;
}

// False: reported, and the arguments are not looked at.
bool Resolution::expand_words() {
  std::vector<FetchArg>& args = check_.definition.args;
  constexpr auto is_all = [](const FetchArg& arg) {
    const auto* base = std::get_if<VariableBase>(&arg.expr.base);
    return base != nullptr && base->kind == VariableKind::AllArguments;
  };
  const auto is_number = [&](const FetchArg& arg) {
    return source_ == TypeSource::Kernel && word(arg).starts_with(kArg);
  };
  const auto all = std::ranges::find_if(args, is_all);
  const bool asked = all != args.end() || std::ranges::any_of(args, is_number);
  if (!asked) return true;
  if (!function_ || function_->parameters == 0) {
    if (all == args.end()) return true;
    if (function_.has_value() && source_ == TypeSource::DebugInformation) {
      args.erase(all);  // a function without parameters has no arguments to show
      return true;
    }
    // The kernel speaks of the last such word.
    const FetchArg& last = *std::ranges::find_if(args.rbegin(), args.rend(),
                                                 [&](const FetchArg& arg) { return is_all(arg) || is_number(arg); });
    if (check_.has(dialect::Feature::AllArgumentsGoesOn)) return refuse_as_variables(last.span.begin, is_all);
    return report_word(diag::Kind::NosupBtfarg, last, EOPNOTSUPP, diag::kStepArgumentWords + 1u);
  }
  std::vector<FetchArg> out;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (is_all(args[i])) {
      if (!expand_all(i, out)) return false;
    } else if (is_number(args[i])) {
      if (!expand_number(i, out)) return false;
    } else {
      keep(i, args[i], 0, out);
    }
  }
  args = std::move(out);
  check_.replaced.by_argument_words = true;
  renumber();
  check_names();
  return true;
}

// Mistakes that the parser found know their words by what they were.
void Resolution::renumber() const {
  const auto& arguments = check_.replaced.arguments;
  for (diag::Diagnostic& mistake : check_.sink.take()) {
    const bool in_argument = mistake.order >= diag::kStepArguments && mistake.order < diag::kStepCounter;
    const std::size_t word = (mistake.order - diag::kStepArguments) / diag::kStepsPerArgument;
    // What is reported of `...` knows its place already.
    const auto now = std::ranges::find(arguments, word, &ReplacedWords::Argument::word);
    if (in_argument && now != arguments.end() && mistake.kind != diag::Kind::NoArgBody) {
      const auto moved = static_cast<std::uint32_t>(now - arguments.begin() - static_cast<std::ptrdiff_t>(word));
      mistake.order += diag::kStepsPerArgument * moved;
    }
    check_.sink.report(std::move(mistake));
  }
}

// Names that parameters brought.
void Resolution::check_names() {
  const std::vector<FetchArg>& args = check_.definition.args;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const bool used = std::ranges::any_of(args.begin(), args.begin() + static_cast<std::ptrdiff_t>(i),
                                          [&](const FetchArg& earlier) { return earlier.name == args[i].name; });
    if (!used || args[i].name.empty()) continue;
    check_.report({.kind = diag::Kind::UsedArgName,
                   .column = args[i].span.begin,
                   .order = diag::argument_order(i, diag::kArgName)});
  }
}

void Resolution::resolve(std::size_t index) {
  FetchArg& arg = check_.definition.args[index];
  if (arg.text.empty()) return;
  const bool has_length = arg.length.has_value();  // written, not one that an object has
  if (has_length) {
    const LengthInPlace length(arg);
    resolve_expression(index);
  }
  const bool length_needs_types = has_length && arg.needs_types && is_variable(arg.length->expr);
  resolve_expression(index);
  arg.needs_types = arg.needs_types || length_needs_types;
}

void Resolution::resolve_expression(std::size_t index) {
  FetchArg& arg = check_.definition.args[index];
  const std::uint32_t column = leaf_column(check_.definition, arg.expr);
  FieldResolver fields(check_, index, function_);
  if (const auto* variable = std::get_if<VariableBase>(&arg.expr.base)) {
    const bool by_name = variable->kind == VariableKind::Name || variable->kind == VariableKind::ReturnValue;
    if (!by_name && check_.env.named_types() == nullptr) return;
    if (by_name && !function_ && !why_.empty()) {
      check_.report({.kind = diag::Kind::NoBtfEntry,
                     .column = column,
                     .order = diag::argument_order(index, diag::kArgBase),
                     .errno_value = ENOENT,
                     .note = why_});
      return;
    }
    auto operand = fields.operand(variable->name, column);
    if (operand) apply(index, *std::move(operand));
  } else if (std::holds_alternative<model::ReturnValueBase>(arg.expr.base) &&
             (source_ == TypeSource::Kernel || arg.type.kind == TypeKind::Enum) &&
             check_.definition.probe_kind == model::ProbeKind::Return) {
    auto operand = fields.return_value("$retval", column);
    if (operand) apply(index, *std::move(operand));
  }
}

void Resolution::apply(std::size_t index, ResolvedOperand operand) {
  FetchArg& arg = check_.definition.args[index];
  if (operand.base) arg.expr.base = *operand.base;
  arg.needs_types = false;
  // Reads around it were written; what they end with has no type any more.
  const bool outermost = arg.expr.dereferences.empty();
  arg.expr.field_column = operand.field_column;
  const auto added = operand.dereferences;
  arg.expr.dereferences.insert(arg.expr.dereferences.begin(), added.begin(), added.end());
  if (!outermost || operand.table == nullptr) return;
  follow_reference(arg, operand);
  if (read_text_object(arg, operand)) return;
  if (!arg.type.written) {
    imply_type(operand, source_, arg.type);
  } else if (is_text(arg.type.kind)) {
    prepare_text(index, operand);
  } else if (arg.type.kind == TypeKind::Enum) {
    name_values(index, operand);
  }
}

// What a `T &` refers to, where that is a number or a std::string.
void Resolution::follow_reference(FetchArg& arg, ResolvedOperand& operand) {
  const target::TypeTable& table = *operand.table;
  const target::Type& type = table.type(operand.type);
  if (type.kind != TypeClass::Pointer || !type.is_reference) return;
  const target::TypeId referred = table.strip(type.target);
  const TypeClass kind = table.type(referred).kind;
  const bool is_number = kind == TypeClass::Integer || kind == TypeClass::Enum || kind == TypeClass::Float;
  if (!is_number && !text_object(table, referred)) return;
  arg.expr.dereferences.push_back({.offset = 0});
  operand.type = referred;
}

namespace {

// The word `offset` bytes into an object that lies where `object` ends, or that it has in argument registers.
model::FetchExpr word_of(model::FetchExpr object, std::uint32_t offset) {
  constexpr std::uint32_t kWord = 8;
  if (!object.dereferences.empty())
    object.dereferences.back().offset += offset;
  else if (auto* argument = std::get_if<model::ArgumentBase>(&object.base))
    argument->number += offset / kWord;
  return object;
}

}  // namespace

// A std::string or the like that is where the operand says, or that it points to. True: the argument is its text.
bool Resolution::read_text_object(FetchArg& arg, const ResolvedOperand& operand) {
  if (arg.type.written && !is_text(arg.type.kind)) return false;
  const target::TypeTable& table = *operand.table;
  const target::Type& type = table.type(operand.type);
  const bool is_pointer = type.kind == TypeClass::Pointer;
  if (is_pointer && !arg.type.written) return false;  // an address, as of every pointer
  const auto object = text_object(table, is_pointer ? type.target : operand.type);
  if (!object) return false;
  if (is_pointer) arg.expr.dereferences.push_back({.offset = 0});
  const bool is_argument = std::holds_alternative<model::ArgumentBase>(arg.expr.base);
  if (arg.expr.dereferences.empty() && (!object->length || !is_argument)) return false;
  if (object->length && !arg.length)
    arg.length = {.expr = word_of(arg.expr, *object->length), .type = {.kind = TypeKind::Unsigned}};
  arg.expr = word_of(std::move(arg.expr), object->address);
  arg.expr.dereferences.push_back({.offset = 0});
  if (!arg.type.written) {
    arg.type.kind = TypeKind::String;
    arg.type.bytes = model::kDataLocBytes;
  }
  return true;
}

// `string` of a `char *` reads where it points to, of a `char []` where it lies.
void Resolution::prepare_text(std::size_t index, const ResolvedOperand& operand) {
  FetchArg& arg = check_.definition.args[index];
  const target::TypeTable& table = *operand.table;
  const target::Type& type = table.type(operand.type);
  // With a length it may be anybody's bytes.
  const bool text =
      table.type(table.strip(type.target)).is_text || (arg.length.has_value() && type.kind == TypeClass::Pointer);
  if (type.kind == TypeClass::Array && text) return;
  if (text) {
    const bool user = arg.type.kind == TypeKind::UserString;
    arg.expr.dereferences.push_back(
        {.offset = 0, .space = user ? model::AddressSpace::User : model::AddressSpace::Default});
    return;
  }
  check_.report({.kind = diag::Kind::BadType4str,
                 .column = arg.expr.dereferences.empty() && operand.field_column != 0 ? operand.field_column
                                                                                      : body_column(check_, arg),
                 .order = diag::argument_order(index, diag::kArgStoreSize),
                 .note = fmt::format("it is `{}`", table.type_text(operand.type))});
}

// `enum`: the names that its declaration gives the values.
void Resolution::name_values(std::size_t index, const ResolvedOperand& operand) {
  constexpr std::size_t kMostNames = 512;  // each is in the event's `format`
  FetchArg& arg = check_.definition.args[index];
  const target::TypeTable& table = *operand.table;
  const target::Type& type = table.type(operand.type);
  if (type.kind != TypeClass::Enum || type.count == 0 || type.count > kMostNames || arg.type.array_count != 0) {
    check_.report({.kind = diag::Kind::BadType,
                   .column = arg.type.span.begin,
                   .order = diag::argument_order(index, diag::kArgType),
                   .note = fmt::format("it is `{}`, not an enumeration of up to {} names",
                                       table.type_text(operand.type), kMostNames)});
    return;
  }
  model::TypeSpec implied;
  imply_type(operand, source_, implied);
  arg.type.bytes = implied.bytes;
  if (operand.bit_size != 0 && operand.bit_size < 8u * implied.bytes) {
    implied.bit_width = static_cast<std::uint8_t>(operand.bit_size);
    implied.bit_offset = static_cast<std::uint8_t>(operand.bit_offset);
  } else {
    implied.bit_width = implied.bit_offset = 0;
  }
  arg.type.bit_width = implied.bit_width;
  arg.type.bit_offset = implied.bit_offset;
  model::EnumNames names;
  // As the record has them: the bits of a bit field without a sign, all others with one.
  const unsigned unused = 64 - (implied.bit_width != 0 ? implied.bit_width : 8u * implied.bytes);
  for (const target::Member& name : table.members(type)) {
    if (!grammar::is_good_name(table.name(name.name))) continue;  // a damaged file's; it would end up in `format`
    const auto bits = static_cast<std::uint64_t>(target::value_of(name)) << unused;
    const auto value =
        implied.bit_width != 0 ? static_cast<std::int64_t>(bits >> unused) : static_cast<std::int64_t>(bits) >> unused;
    names.push_back({.value = value, .name = std::string(table.name(name.name))});
  }
  arg.type.names = std::make_shared<const model::EnumNames>(std::move(names));
}

// `x:%pd` is `+0x0(+NAME(x)):string`; the grammar left room for the offsets.
void Resolution::resolve_file_name(std::size_t index) {
  FetchArg& arg = check_.definition.args[index];
  const std::string written(word(arg));
  const target::TypeTable* table = check_.env.named_types();
  const bool of_file = written.ends_with(":%pD");
  if (table == nullptr || !check_.has(dialect::Feature::FileNameTypes) || (!of_file && !written.ends_with(":%pd")))
    return;
  const auto name = member_bytes(*table, table->find_struct("dentry"), "d_name", "name");
  const auto dentry = member_bytes(*table, table->find_struct("file"), "f_path", "dentry");
  if (!name || !dentry) return;
  const std::size_t equals = written.find('=');
  const std::size_t begin = equals == std::string::npos ? 0 : equals + 1;
  const std::string body = arg.text.empty() ? written.substr(begin) : arg.text;
  const std::string inner = body.substr(0, body.size() - kFileType.size());
  const std::string text = of_file ? fmt::format("+0x0(+0x{:x}(+0x{:x}({}))):string", *name, *dentry, inner)
                                   : fmt::format("+0x0(+0x{:x}({})):string", *name, inner);
  check_.replaced.file_names.push_back({index, written.substr(0, begin) + text});
  const std::size_t reads = of_file ? 3 : 2;
  if (arg.text.empty() || arg.expr.dereferences.size() < reads) return;
  auto at = arg.expr.dereferences.end() - static_cast<std::ptrdiff_t>(reads);
  if (of_file) (at++)->offset = *dentry;
  at->offset = *name;
  arg.text = text;
  arg.needs_types = false;
}

}  // namespace

void resolve_types(DefinitionCheck& check) { Resolution(check).run(); }

void resolve_event_typecasts(DefinitionCheck& check, const target::CatalogEntry& attached) {
  const bool of_fields = check.has(dialect::Feature::TypecastOfField) && !check.has(dialect::Feature::Typecast);
  if (of_fields) Resolution(check).run_event_typecasts(attached);
}

}  // namespace kevt::sema
