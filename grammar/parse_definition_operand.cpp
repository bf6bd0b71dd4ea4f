// The base of an expression: a register, a variable, memory, a number.
//
//   %di   $retval   $stack3   $arg1   @SYM+8   @+0x10   \42   \"text"
//
// Problem: the first byte decides, and behind it each form has its own numbers and messages. Idea: one function a form.
// Names that only types resolve (`file->f_path`, typecasts) go on to parse_definition_typed.cpp.
// Not here: which form may stand at which place, where that depends on the world: sema.
// Mirrors parse_probe_vars() and parse_probe_arg() of kernel/trace/trace_probe.c (6.1, 6.12, 7.3).
#include <algorithm>
#include <limits>

#include "grammar/parse_definition_operand.h"

namespace kevt::grammar {
namespace {

constexpr std::uint64_t kMaxArgumentNumber = 2048;  // words of a kernel's stack of 16 KiB

std::uint32_t saturate(std::uint64_t value) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, std::numeric_limits<std::uint32_t>::max()));
}

}  // namespace

bool ArgumentParser::take_base(std::string_view text, std::uint32_t column) {
  const char first = text.empty() ? '\0' : text[0];
  if (first == '$') return take_variable(text.substr(1), column);
  if (first == '@') return take_memory(text.substr(1), column);
  if (first == '\\') return take_immediate(text.substr(1), column);
  if (first == '%') {
    if (line_.kind != model::EventKind::Kprobe && line_.kind != model::EventKind::Uprobe) {
      return refuse_register(column);
    }
    arg_.expr.base = model::RegisterBase{.name = std::string(text.substr(1))};
    return true;
  }
  if (first == '(' && has(Feature::Typecast)) return take_typecast(text, column);
  if (first == '(' && has(Feature::TypecastOfField)) return take_field_typecast(text, column);
  if (is_per_cpu(text) && has(Feature::PerCpu)) return take_per_cpu(text, column);
  if ((is_letter(first) || first == '_') && has(Feature::ArgumentNames)) return take_named(text, column);
  return base_mistake(diag::Kind::BadFetchArg, column);
}

// Events and function entries have no registers: the kernel logs BAD_VAR, up to 7.2 then BAD_FETCH_ARG.
bool ArgumentParser::refuse_register(std::uint32_t column) {
  if (has(Feature::RegisterIsVar)) return base_mistake(diag::Kind::BadVar, column);
  line_.report({.kind = diag::Kind::BadFetchArg,
                .word = word_,
                .column = column,
                .order = diag::argument_order(index_, diag::kArgBase),
                .prelude = diag::Prelude{diag::Kind::BadVar, column}});
  return false;
}

bool ArgumentParser::take_variable(std::string_view name, std::uint32_t column) {
  constexpr std::string_view kStack = "stack";
  constexpr std::string_view kArg = "arg";
  if (line_.kind == model::EventKind::Eprobe) {
    arg_.expr.base = model::EventFieldBase{.name = std::string(name)};
    return true;
  }
  if (line_.kind == model::EventKind::Watchpoint) return take_watched(name, column);
  if (name == "retval" || (name.starts_with("retval") && has(Feature::RetvalByPrefix))) {
    return take_retval(name, column);
  }
  if (name == kStack) {
    arg_.expr.base = model::StackPointerBase{};
    return true;
  }
  if (name.starts_with(kStack)) return take_stack(name.substr(kStack.size()), column);
  if (name == "comm" || name == "COMM") {
    arg_.expr.base = model::CommBase{};
    return true;
  }
  if ((name == "trace_id" || name == "span_id") && line_.dialect.has_own_forms()) {
    using Id = model::SpanIdBase::Id;
    arg_.expr.base = model::SpanIdBase{.id = name == "trace_id" ? Id::Trace : Id::Span};
    return true;
  }
  if (name.starts_with("current") && has(Feature::CurrentTask)) return take_current(name, column);
  if (name.starts_with(kArg)) return take_argument(name.substr(kArg.size()), column);
  return base_mistake(diag::Kind::BadVar, column);
}

// `$addr` and `$value` of a watchpoint: the address that was accessed, and the memory there.
bool ArgumentParser::take_watched(std::string_view name, std::uint32_t column) {
  if (name == "comm" || name == "COMM") {
    arg_.expr.base = model::CommBase{};
    return true;
  }
  if (name != "addr" && name != "value") return base_mistake(diag::Kind::BadVar, column);
  arg_.expr.base = model::VariableBase{.name = "$addr", .kind = model::VariableKind::WatchedAddress, .resolved = true};
  if (name == "value") arg_.expr.dereferences.insert(arg_.expr.dereferences.begin(), model::Dereference{});
  return true;
}

bool ArgumentParser::take_retval(std::string_view name, std::uint32_t column) {
  arg_.expr.base = model::ReturnValueBase{};
  // Elsewhere sema says that there is none; uprobes ignore what follows.
  const bool exact = name == "retval";
  if (exact || !is_function_probe() || place_text(line_) != PlaceText::Return) return true;
  const std::string text = "$" + std::string(name);
  if (text[7] != '-' && text[7] != '.') return base_mistake(diag::Kind::NoBtfarg, column, ENOENT);
  return take_path(text, column, model::VariableKind::ReturnValue);
}

bool ArgumentParser::take_stack(std::string_view digits, std::uint32_t column) {
  const Number index = parse_unsigned(digits, 10);
  if (index.error != 0 || !is_digit(digits[0])) {
    const bool too_big = index.error == ERANGE && has(Feature::VariableErrno);
    return base_mistake(diag::Kind::BadVar, column, too_big ? ERANGE : EINVAL);
  }
  arg_.expr.base = model::StackSlotBase{.index = saturate(index.value)};
  return true;
}

bool ArgumentParser::take_argument(std::string_view digits, std::uint32_t column) {
  const bool everywhere = has(Feature::EntryOnlyMessage);
  if (!everywhere && !is_function_probe()) return base_mistake(diag::Kind::BadVar, column);
  const Number number = parse_unsigned(digits, 10);
  if (number.error != 0) {
    return base_mistake(diag::Kind::BadVar, column, has(Feature::VariableErrno) ? number.error : EINVAL);
  }
  if (!is_function_probe()) {
    const bool good = number.value != 0 && number.value <= kMaxArgumentNumber;
    return base_mistake(good ? diag::Kind::NofentryArgs : diag::Kind::BadArgNum, column);
  }
  arg_.expr.base = model::ArgumentBase{.number = saturate(number.value)};
  return true;
}

// After '@': an address, a byte of the file, or a data symbol.
bool ArgumentParser::take_memory(std::string_view text, std::uint32_t column) {
  const bool in_file = line_.kind == model::EventKind::Uprobe;
  if (!text.empty() && is_digit(text[0])) {
    const Number address = parse_unsigned(text, kAutoBase);
    if (address.error != 0) return base_mistake(diag::Kind::BadMemAddr, column, address.error);
    arg_.expr.base = model::MemoryBase{.address = address.value};
    return true;
  }
  if (text.starts_with('+')) {
    if (!in_file) {
      const bool reworded = has(Feature::FileOffsetText);
      return base_mistake(reworded ? diag::Kind::FileOnKernelProbe : diag::Kind::FileOnKprobe, column);
    }
    const Number offset = parse_signed(text.substr(1), kAutoBase);
    if (offset.error != 0) return base_mistake(diag::Kind::BadFileOffs, column, offset.error);
    arg_.expr.base = model::FileOffsetBase{.offset = offset.value};
    return true;
  }
  if (in_file) return base_mistake(diag::Kind::SymOnUprobe, column);
  return take_symbol(text);
}

// Whether the kernel looks up a data symbol only when the event is enabled: for `f` and `t` probes, in kernels that
// take no number of instances.
bool ArgumentParser::found_when_enabled() const {
  const bool function = line_.kind == model::EventKind::Fprobe || line_.kind == model::EventKind::Tprobe;
  return function && line_.dialect.version() && !has(Feature::FprobeMaxactive);
}

// A wrong offset is found only when the probe is armed, and blamed on the place.
bool ArgumentParser::take_symbol(std::string_view text) {
  const std::size_t sign = text.find_first_of("+-");
  model::SymbolBase base{.symbol = std::string(text.substr(0, sign))};
  if (sign != std::string_view::npos) {
    const Number offset = parse_signed(text.substr(sign), kAutoBase);
    if (offset.error != 0 && line_.kind == model::EventKind::Eprobe) {
      line_.report({.kind = diag::Kind::BadMemAddr,
                    .word = word_,
                    .column = arg_.expr_span.begin - arg_.span.begin,
                    .order = diag::argument_order(index_, diag::kArgAttach),
                    .errno_value = offset.error,
                    .logged = false});
    } else if (offset.error != 0 && !found_when_enabled()) {
      line_.report(
          {.kind = diag::Kind::FailRegProbe, .word = 1, .order = diag::kStepRegister, .errno_value = offset.error});
    }
    base.offset = static_cast<std::int64_t>(offset.value);
  }
  arg_.expr.base = std::move(base);
  return true;
}

bool ArgumentParser::take_immediate(std::string_view text, std::uint32_t column) {
  if (text.starts_with('"')) {
    const std::string_view quoted = text.substr(1);
    if (!quoted.ends_with('"')) {
      const auto past_end = column + 2 + static_cast<std::uint32_t>(quoted.size());
      return base_mistake(diag::Kind::ImmstrNoClose, past_end);
    }
    arg_.expr.base = model::ImmediateStringBase{.text = std::string(quoted.substr(0, quoted.rfind('"')))};
    return true;
  }
  Number number{.error = EINVAL};
  if (!text.empty() && is_digit(text[0])) number = parse_unsigned(text, kAutoBase);
  if (text.starts_with('-')) number = parse_signed(text, kAutoBase);
  if (text.starts_with('+')) number = parse_signed(text.substr(1), kAutoBase);
  if (number.error != 0) return base_mistake(diag::Kind::BadImm, column + 1, number.error);
  arg_.expr.base = model::ImmediateBase{.value = number.value};
  return true;
}

}  // namespace kevt::grammar
