// AT&T operands, https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation:
//
//   8@%rdi  4@%esi  1@%al      registers
//   -4@$42                     constants
//   -4@-20(%rbp)  8@(%rax)     memory
//   4@0x3010(%file)            memory of a name (target::UsdtSite)
//
// No fetch argument can read 8@8(%rax,%rbx,4), which has two registers, or 1@%ah.
#include "compiler/pipeline/usdt_operand.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "common/error.h"
#include "compiler/target/target_env.h"

namespace kevt::pipeline {

namespace {

std::optional<std::int64_t> number(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  const bool is_hex = text.starts_with("0x");
  if (is_hex) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, is_hex ? 16 : 10);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return static_cast<std::int64_t>(is_negative ? -value : value);
}

// The name that fetch arguments have for a register of any width: "eax" -> "ax", "r9d" -> "r9", "sil" -> "si". Empty:
// they have none.
std::string register_name(std::string_view written) {
  std::string name(written);
  if (name.size() >= 2 && name[0] == 'r' && name[1] >= '0' && name[1] <= '9') {
    if (name.ends_with('d') || name.ends_with('w') || name.ends_with('b')) name.pop_back();
  } else if (name.size() == 3 && (name[0] == 'r' || name[0] == 'e')) {
    name.erase(0, 1);
  } else if (name.size() == 2 && name[1] == 'l') {
    name[1] = 'x';
  } else if (name.size() == 3 && name[2] == 'l') {
    name.pop_back();
  }
  return target::register_offset(name) || target::vector_register(name) ? name : std::string();
}

std::string no_register(std::string_view name) { return fmt::format("`%{}` is no register of fetch arguments", name); }

std::expected<std::string, std::string> memory(std::string_view text) {
  const std::size_t open = text.find('(');
  const std::string_view displacement = text.substr(0, open);
  std::string_view inside = text.substr(open + 1);
  if (!inside.ends_with(')')) return std::unexpected("it has no `)`");
  inside.remove_suffix(1);
  if (inside == "%file") {
    const auto offset = number(displacement);
    if (!offset || *offset < 0) return std::unexpected("it is no place in the file");
    return fmt::format("@+{:#x}", *offset);
  }
  if (inside == "%rip") return std::unexpected("it is memory that the file does not hold");
  if (inside.contains(',')) return std::unexpected("its address is a sum of two registers");
  if (!inside.starts_with('%')) return std::unexpected("its address is in no register");
  const auto distance = displacement.empty() ? std::optional<std::int64_t>(0) : number(displacement);
  if (!distance) return std::unexpected("its address is a sum of a name and a register");
  const std::string base = register_name(inside.substr(1));
  if (base.empty()) return std::unexpected(no_register(inside.substr(1)));
  return fmt::format("{:+}(%{})", *distance, base);
}

std::expected<UsdtOperand, std::string> operand(std::string_view text) {
  UsdtOperand made;
  if (text.starts_with('$')) {
    const auto value = number(text.substr(1));
    if (!value) return std::unexpected("it is the address of a name");
    made.fetch = fmt::format("\\{}", *value);
    made.is_constant = true;
  } else if (text.starts_with('%')) {
    const std::string name = register_name(text.substr(1));
    if (name.empty()) return std::unexpected(no_register(text.substr(1)));
    made.fetch = "%" + name;
  } else if (text.contains('(')) {
    made.fetch = KEVT_TRY(memory(text));
  } else {
    return std::unexpected("it is no operand that kevtrace knows");
  }
  return made;
}

}  // namespace

std::expected<UsdtOperand, std::string> usdt_operand(std::string_view text) {
  const std::size_t at = text.find('@');
  std::string_view size = at == std::string_view::npos ? "8" : text.substr(0, at);
  const bool is_float = size.ends_with('f');
  if (is_float) size.remove_suffix(1);
  const auto bytes = number(size);
  const std::int64_t width = !bytes ? 0 : *bytes < 0 && *bytes >= -8 ? -*bytes : *bytes;
  if ((width != 1 && width != 2 && width != 4 && width != 8) || (is_float && width < 4))
    return std::unexpected(fmt::format("it is said to have `{}` bytes", size));
  auto made = operand(at == std::string_view::npos ? text : text.substr(at + 1));
  if (!made) return made;
  made->bytes = static_cast<unsigned>(width);
  made->is_signed = *bytes < 0 && !is_float;
  made->is_float = is_float;
  return made;
}

std::vector<std::string_view> split_usdt_arguments(std::string_view arguments) {
  std::vector<std::string_view> words;
  while (!arguments.empty()) {
    const std::size_t end = arguments.find(' ');
    if (end) words.push_back(arguments.substr(0, end));
    arguments.remove_prefix(end == std::string_view::npos ? arguments.size() : end + 1);
  }
  return words;
}

}  // namespace kevt::pipeline
