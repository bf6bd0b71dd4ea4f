// The walk to the variable goes on through its type: `.` and `[N]` add, `->` and `[N]` of a pointer read and add.
//
// The result is a fetch argument of the kernel's own language, so everything behind it (filters, listings, other
// runtimes, real kernels) needs to know nothing of variables. A variable of the file itself is read relative to the
// instruction pointer, whose value at a hit is the place's address.
#include "compiler/pipeline/variable_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "common/error.h"
#include "compiler/model/enum_names.h"
#include "compiler/sema/list_object.h"
#include "compiler/sema/text_object.h"
#include "compiler/target/near_misses.h"
#include "compiler/target/target_env.h"

namespace kevt::pipeline {

namespace {

using target::Type;
using target::TypeClass;
using target::TypeId;
using target::TypeTable;
using target::VariableLocation;
using Base = VariableLocation::Base;
using Refusal = std::unexpected<std::string>;

constexpr std::uint32_t kWordBits = 64;
constexpr std::uint32_t kMostItems = 64;  // of an array argument (MAX_ARRAY_LEN)

bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::size_t name_length(std::string_view text) {
  if (text.empty() || !is_name_start(text[0])) return 0;
  std::size_t length = 1;
  while (length < text.size() && (is_name_start(text[length]) || is_digit(text[length]))) ++length;
  return length;
}

constexpr std::size_t kMostListed = 8;

std::string list_of(const std::vector<std::string>& names) {
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), kMostListed); ++i)
    list += fmt::format("{}`{}`", list.empty() ? "" : ", ", names[i]);
  return names.size() > kMostListed ? list + " …" : list;
}

// With those of anonymous structures and of bases, as far as a reader wants to read.
std::vector<std::string> members_of(const TypeTable& types, TypeId structure, std::size_t most = kMostListed) {
  constexpr unsigned kMostSteps = 256;
  std::vector<std::string> names;
  std::vector<TypeId> open = {structure};
  for (unsigned steps = 0; !open.empty() && names.size() <= most;) {
    const TypeId here = open.back();
    open.pop_back();
    if (!is_structure(types.type(here))) continue;
    for (const target::Member& member : types.members(types.type(here))) {
      if (++steps > kMostSteps) return names;
      if (const std::string_view name = types.name(member.name); !name.empty())
        names.emplace_back(name);
      else
        open.push_back(types.strip(member.type));
    }
  }
  return names;
}

// "; it has `w`, `h`": what may be named instead.
std::string listed(const std::vector<std::string>& names) {
  return names.empty() ? "" : fmt::format("; it has {}", list_of(names));
}

// 0: not known, also of a damaged file's array of itself.
std::uint64_t size_of(const TypeTable& types, TypeId id) {
  constexpr unsigned kMostDimensions = 16;
  std::uint64_t items = 1;
  for (unsigned depth = 0; depth < kMostDimensions; ++depth) {
    const Type& type = types.type(types.strip(id));
    if (type.kind == TypeClass::Pointer) return 8 * items;
    if (type.kind != TypeClass::Array) return type.bytes * items;
    items *= type.count;
    if (items > ~std::uint32_t{0}) return 0;
    id = type.target;
  }
  return 0;
}

// Objects whose items `[N]` means, by the beginnings of their names: libstdc++'s, Rust's slices, Go's.
struct Sequence {
  std::string_view name, items;  // `items`: a path to a pointer or an array
};
constexpr Sequence kSequences[] = {
    {"vector<", "_M_impl._M_start"}, {"array<", "_M_elems"}, {"span<", "_M_ptr"}, {"&[", "data_ptr"}, {"[]", "array"},
};

// A variable, or what a path has led to.
class Walk {
 public:
  using Text = std::expected<std::string, std::string>;

  Walk(const TypeTable& types, const target::LinePlace& place, const target::SourceVariable& variable)
      : types_(&types), place_(&place), at_(variable.location), type_(types.strip(variable.type)) {}

  // Takes what stands behind the variable's name.
  std::expected<void, std::string> follow(std::string_view rest) {
    while (!rest.empty()) {
      follow_reference();
      if (rest.starts_with("->")) {
        const std::size_t length = name_length(rest.substr(2));
        KEVT_TRY(arrow(rest.substr(2, length)));
        rest.remove_prefix(2 + length);
      } else if (rest.starts_with('.')) {
        const std::size_t length = name_length(rest.substr(1));
        KEVT_TRY(dot(rest.substr(1, length)));
        rest.remove_prefix(1 + length);
      } else if (rest.starts_with('[')) {
        rest.remove_prefix(KEVT_TRY(item(rest)));
      } else {
        return Refusal(fmt::format("`{}` is no member: `->NAME`, `.NAME` or `[NUMBER]`", rest));
      }
    }
    follow_reference();
    return {};
  }

  // Of the structure that it has come to, or that it points to.
  std::expected<std::vector<std::string>, std::string> members(bool is_arrow) const {
    constexpr std::size_t kMost = 128;  // MAX_TRACE_ARGS
    const Type& type = types_->type(type_);
    if (is_arrow && !was_reference_ && type.kind != TypeClass::Pointer)
      return Refusal(fmt::format("it is a `{}`, no pointer{}", types_->type_text(type_),
                                 is_structure(type) ? ": write `.*`" : ""));
    if (!is_arrow && type.kind == TypeClass::Pointer)
      return Refusal(fmt::format("it is a `{}`: write `->*`", types_->type_text(type_)));
    const TypeId structure = type.kind == TypeClass::Pointer ? types_->strip(type.target) : type_;
    if (!is_structure(types_->type(structure)))
      return Refusal(fmt::format("it is a `{}`, no structure", types_->type_text(structure)));
    return members_of(*types_, structure, kMost);
  }

  // The address that `+N(…)` is to be added to: the value of a pointer or a number.
  Text as_address() const {
    const Type& type = types_->type(type_);
    if (type.kind == TypeClass::Array || is_structure(type))
      return Refusal(fmt::format("it is a `{}`, no pointer: name an item or a member", types_->type_text(type_)));
    return value();
  }

  std::expected<VariableFetch, std::string> finish(std::string_view written) {
    const Type& type = types_->type(type_);
    const bool wants_text = written.starts_with(":string") || written.starts_with(":ustring");
    if (written == ":enum") return by_name();
    if (bits_ != 0 && written.empty()) return bit_field();
    if (wants_text || written.empty()) {
      if (auto text = text_object(written)) return *std::move(text);
    }
    if (written.empty() || written == ":hex")
      if (auto list = list_object(written)) return *std::move(list);
    if (const auto array = sema::array_in(*types_, type_); array && written.empty()) {
      type_ = *array;
      return finish(written);
    }
    if (is_structure(type))
      return Refusal(fmt::format("it is a `{}`: name one of its members{}", types_->type_text(type_),
                                 listed(members_of(*types_, type_))));
    if (type.kind == TypeClass::Array) return array(written, wants_text);
    if (wants_text) return text_of_pointer(written);
    if (!written.empty()) return VariableFetch{KEVT_TRY(value()), std::string(written)};
    return VariableFetch{KEVT_TRY(value()), KEVT_TRY(own_type(type_))};
  }

 private:
  // Of a variable in pieces, goes on to the piece that holds the `bytes` bytes at `more` behind where the walk is.
  VariableLocation settled(std::int64_t more, std::uint32_t bytes) const {
    if (at_.base != Base::Pieces) {
      VariableLocation whole = at_;
      if (whole.is_value && more != 0) return {.why = "it is a part of a register"};
      whole.offset += more;
      return whole;
    }
    std::int64_t begin = at_.offset + more;
    for (const VariableLocation& piece : at_.pieces) {
      if (begin >= 0 && begin + bytes <= piece.bytes && (begin == 0 || !piece.is_value)) {
        VariableLocation found = piece;
        found.offset += begin;
        return found;
      }
      begin -= piece.bytes;
    }
    return {.why = "it is kept in several pieces"};
  }
  // The address that the walk ends in becomes the value that is read there.
  void load() {
    at_ = settled(0, 8);
    if (!at_.is_value) at_.reads.push_back(std::exchange(at_.offset, 0));
    at_.is_value = true;
  }
  // The value, a pointer, becomes the address `offset` bytes behind it.
  void point_to(std::uint32_t offset, TypeId type) {
    load();
    at_.offset += offset;
    at_.is_value = false;
    type_ = types_->strip(type);
  }
  void follow_reference() {
    const Type& type = types_->type(type_);
    was_reference_ = type.kind == TypeClass::Pointer && type.is_reference;
    if (was_reference_) point_to(0, type.target);
  }

  // Of a reference, which has been followed, either sign is right.
  std::expected<void, std::string> arrow(std::string_view name) {
    const Type& type = types_->type(type_);
    if (was_reference_ && is_structure(type)) return member(name);
    if (type.kind != TypeClass::Pointer)
      return Refusal(fmt::format("it is a `{}`, no pointer{}", types_->type_text(type_),
                                 is_structure(type) ? fmt::format(": write `.{}`", name) : ""));
    point_to(0, type.target);
    return member(name);
  }
  std::expected<void, std::string> dot(std::string_view name) {
    const Type& type = types_->type(type_);
    if (type.kind == TypeClass::Pointer)
      return Refusal(fmt::format("it is a `{}`: write `->{}`", types_->type_text(type_), name));
    return member(name);
  }
  std::expected<void, std::string> member(std::string_view name) {
    if (!is_structure(types_->type(type_)))
      return Refusal(fmt::format("it is a `{}`, no structure", types_->type_text(type_)));
    const auto found = types_->find_member(type_, name);
    if (!found)
      return Refusal(
          fmt::format("`{}` has no member `{}`{}", types_->type_text(type_), name, listed(members_of(*types_, type_))));
    if (at_.is_value && found->bit_offset != 0) return Refusal("it is a member of a structure in a register");
    at_.offset += found->bit_offset / 8;
    bit_offset_ = found->bit_offset % 8;
    bits_ = found->bit_size;
    type_ = types_->strip(found->type);
    return {};
  }
  // Of an object that keeps its items elsewhere, or is around them, goes on to the member that has them. How many items
  // there are at the hit is not asked.
  void enter_sequence() {
    if (!is_structure(types_->type(type_))) return;
    const std::string_view name = types_->name(types_->type(type_).name);
    for (const auto& [lead, path] : kSequences) {
      if (!name.starts_with(lead)) continue;
      Walk inner = *this;
      bool is_there = true;
      for (std::string_view rest = path; is_there && !rest.empty();) {
        const std::size_t length = std::min(rest.find('.'), rest.size());
        is_there = inner.member(rest.substr(0, length)).has_value();
        rest.remove_prefix(std::min(length + 1, rest.size()));
      }
      if (is_there) *this = inner;
      return;
    }
  }

  // Takes `[N]`; the answer is its length.
  std::expected<std::size_t, std::string> item(std::string_view rest) {
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), number);
    if (error != std::errc() || end == rest.data() + rest.size() || *end != ']')
      return Refusal(fmt::format("`{}`: an item has a number, `[2]`", rest));
    enter_sequence();
    const Type& type = types_->type(type_);
    const bool is_pointer = type.kind == TypeClass::Pointer;
    if (!is_pointer && type.kind != TypeClass::Array)
      return Refusal(fmt::format("it is a `{}`, no array", types_->type_text(type_)));
    const std::uint64_t bytes = size_of(*types_, type.target);
    if (bytes == 0) return Refusal(fmt::format("the size of `{}` is not known", types_->type_text(type.target)));
    if (!is_pointer && type.count != 0 && number >= type.count)
      return Refusal(fmt::format("it has {} items", type.count));
    if (!is_pointer && at_.is_value) return Refusal("it is an array in a register");
    const TypeId target = type.target;
    if (is_pointer) point_to(0, target);
    at_.offset += static_cast<std::int64_t>(bytes * number);
    type_ = types_->strip(target);
    return static_cast<std::size_t>(end + 1 - rest.data());
  }

  // ---- texts
  static std::string add(std::int64_t offset, const std::string& inner) {
    return fmt::format("{:+}({})", offset, inner);
  }

  // The walk without its last step.
  Text beginning(const VariableLocation& at) const {
    if (!at.can_be_read()) return Refusal(at.why);
    const bool is_vector = at.base == Base::Register && target::vector_register(at.reg).has_value();
    if (is_vector && (!at.reads.empty() || !at.is_value)) return Refusal("its address is in a vector register");
    std::string text;
    std::size_t read = 0;
    switch (at.base) {
      case Base::Register:
        text = "%" + at.reg;
        break;
      case Base::Constant:
        if (!at.reads.empty() || !at.is_value) return Refusal("its address is a constant");
        return fmt::format("\\{}", static_cast<std::int64_t>(at.number));
      case Base::Address:
        if (at.reads.empty()) return Refusal("it is an address in the file, not memory");
        text = add(distance(at, at.reads[read++]), "%ip");
        break;
      case Base::Pieces:
        return Refusal("it is kept in several pieces");
      case Base::None:
        break;
    }
    for (; read < at.reads.size(); ++read) text = add(at.reads[read], text);
    return text;
  }
  std::int64_t distance(const VariableLocation& at, std::int64_t offset) const {
    return static_cast<std::int64_t>(at.number - place_->address) + offset;
  }
  Text memory_at(const VariableLocation& at) const {
    if (at.is_value) return Refusal("it is in a register");
    if (at.base == Base::Address && at.reads.empty()) return add(distance(at, at.offset), "%ip");
    return add(at.offset, KEVT_TRY(beginning(at)));
  }
  // The value of the `bytes` bytes at `more` behind where the walk is.
  Text value(std::int64_t more, std::uint32_t bytes) const {
    const VariableLocation at = settled(more, bytes);
    if (!at.is_value || !at.can_be_read()) return memory_at(at);
    if (at.is_sum()) return Refusal("it is a sum of a register and a number, which no argument can say");
    return beginning(at);
  }
  std::uint32_t bytes() const {
    return static_cast<std::uint32_t>(std::max(size_of(*types_, type_), std::uint64_t{1}));
  }
  Text value() const { return value(0, bytes()); }
  Text memory() const { return memory_at(settled(0, bytes())); }

  std::expected<std::string, std::string> own_type(TypeId id) const {
    const Type& type = types_->type(id);
    const bool is_whole = type.bytes == 1 || type.bytes == 2 || type.bytes == 4 || type.bytes == 8;
    switch (type.kind) {
      case TypeClass::Pointer:
        return ":x64";
      case TypeClass::Integer:
        if (is_whole) return fmt::format(":{}{}", type.is_signed ? 's' : 'u', 8 * type.bytes);
        break;
      case TypeClass::Enum:
        return fmt::format(":{}{}", type.is_signed ? 's' : 'u', is_whole ? 8 * type.bytes : 32);
      case TypeClass::Float:
        return fmt::format(":f{}", 8 * type.bytes);
      default:
        break;
    }
    return Refusal(fmt::format("it is a `{}`, which no argument can hold", types_->type_text(id)));
  }
  // `enum` with its names written out: the definition that stands for this one is of an offset in a file.
  std::expected<VariableFetch, std::string> by_name() const {
    constexpr std::size_t kMostBytes = 3000;  // of a definition, which has 4095
    const Type& type = types_->type(type_);
    const std::string_view name = types_->name(type.name);
    const bool is_bool = type.kind == TypeClass::Integer && type.bytes == 1 && (name == "bool" || name == "_Bool");
    if (bits_ != 0) return Refusal("it is a bit field, whose values have no names there");
    if (!is_bool && (type.kind != TypeClass::Enum || type.count == 0))
      return Refusal(fmt::format("it is a `{}`, not an enumeration", types_->type_text(type_)));
    if (type.bytes != 1 && type.bytes != 2 && type.bytes != 4 && type.bytes != 8)
      return Refusal(fmt::format("it has {} bytes", type.bytes));
    std::string names = is_bool ? "false=0,true=1" : "";
    if (!is_bool)
      for (const target::Member& one : types_->members(type)) {
        if (!is_c_name(types_->name(one.name))) continue;  // of a damaged file
        names +=
            fmt::format("{}{}={}", names.empty() ? "" : ",", types_->name(one.name), signed_value(one, type.bytes));
      }
    if (names.empty() || names.size() > kMostBytes || type.count > model::kMostEnumNames)
      return Refusal(fmt::format("the {} names of its values are more than a definition has room for", type.count));
    return VariableFetch{KEVT_TRY(value()),
                         fmt::format(":enum{}({})", type.bytes == 4 ? "" : std::to_string(8 * type.bytes), names)};
  }
  // As the record has it: of so many bytes, with a sign.
  static std::int64_t signed_value(const target::Member& one, std::uint32_t bytes) {
    const unsigned unused = 64 - 8 * bytes;
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(target::value_of(one)) << unused) >> unused;
  }
  static bool is_c_name(std::string_view name) { return !name.empty() && name_length(name) == name.size(); }
  std::expected<VariableFetch, std::string> bit_field() const {
    const std::uint32_t container = bit_offset_ + bits_ <= 32 ? 32 : kWordBits;
    if (bit_offset_ + bits_ > kWordBits) return Refusal("it is a bit field in more than 8 bytes");
    return VariableFetch{KEVT_TRY(memory()), fmt::format(":b{}@{}/{}", bits_, bit_offset_, container)};
  }
  std::expected<VariableFetch, std::string> array(std::string_view written, bool wants_text) const {
    const Type& type = types_->type(type_);
    const TypeId item = types_->strip(type.target);
    if (at_.is_value) return Refusal("it is an array in a register");
    // Bytes without a sign are numbers: `uint8_t digest[16]`.
    if (wants_text || (written.empty() && types_->type(item).is_text && types_->type(item).is_signed))
      return VariableFetch{KEVT_TRY(memory()), written.empty() ? ":string" : std::string(written)};
    if (!written.empty()) return VariableFetch{KEVT_TRY(memory()), std::string(written)};
    if (type.count == 0 || type.count > kMostItems || types_->type(item).kind == TypeClass::Array ||
        is_structure(types_->type(item)))
      return Refusal(fmt::format("it is a `{}`: name one of its items, `[0]`", types_->type_text(type_)));
    return VariableFetch{KEVT_TRY(memory()), fmt::format("{}[{}]", KEVT_TRY(own_type(item)), type.count)};
  }
  // `string` of a `char *`, or of a pointer to anything if a length is written.
  std::expected<VariableFetch, std::string> text_of_pointer(std::string_view written) {
    const Type& type = types_->type(type_);
    const bool is_text =
        type.kind == TypeClass::Pointer && (types_->type(types_->strip(type.target)).is_text || written.contains('('));
    if (!is_text) return Refusal(fmt::format("it is a `{}`, no text", types_->type_text(type_)));
    point_to(0, type.target);
    return VariableFetch{KEVT_TRY(memory_at(at_)), std::string(written)};
  }
  // std::string and the like; nullopt: it is none, and neither does it point to one.
  std::optional<std::expected<VariableFetch, std::string>> text_object(std::string_view written) {
    const Type& type = types_->type(type_);
    const bool is_pointer = type.kind == TypeClass::Pointer;
    if (is_pointer && written.empty()) return std::nullopt;
    const auto object = sema::text_object(*types_, is_pointer ? type.target : type_);
    if (!object) return std::nullopt;
    if (is_pointer) point_to(0, type.target);
    return text_in(*object, written);
  }
  std::expected<VariableFetch, std::string> text_in(const sema::TextObject& object, std::string_view written) const {
    VariableFetch made{add(0, KEVT_TRY(value(object.address, 8))), written.empty() ? ":string" : std::string(written)};
    if (object.length && !made.type.contains('(')) made.type += "(" + KEVT_TRY(value(*object.length, 8)) + ":u64)";
    return made;
  }

  // std::vector and the like; nullopt: it is none. With `hex` bytes are meant, also those that it points to.
  std::optional<std::expected<VariableFetch, std::string>> list_object(std::string_view written) {
    const Type& type = types_->type(type_);
    const bool is_pointer = type.kind == TypeClass::Pointer;
    if (is_pointer && written.empty()) return std::nullopt;
    const auto object = sema::list_object(*types_, is_pointer ? type.target : type_);
    if (!object || (!written.empty() && object->type.bytes != 1)) return std::nullopt;
    if (is_pointer) point_to(0, type.target);
    return list_in(*object, written);
  }
  std::expected<VariableFetch, std::string> list_in(const sema::ListObject& object, std::string_view written) const {
    const std::string item = written.empty()
                                 ? fmt::format(":{}{}", model::row_of(object.type.kind).word, 8 * object.type.bytes)
                                 : std::string(written);
    return VariableFetch{
        add(0, KEVT_TRY(value(object.address, 8))),
        fmt::format("{}[{}{}:u64]", item, object.is_end ? ".." : "", KEVT_TRY(value(object.length, 8)))};
  }

  const TypeTable* types_;
  const target::LinePlace* place_;
  VariableLocation at_;
  TypeId type_;
  bool was_reference_ = false;               // the walk ends in what a reference refers to
  std::uint32_t bit_offset_ = 0, bits_ = 0;  // of a bit field: within the first byte; 0 bits: it is none
};

// Why there is no such variable.
std::string unknown(std::string_view name, const target::LinePlace& place) {
  target::NearMisses near(name);
  std::vector<std::string> all;
  for (const target::SourceVariable& one : place.variables) {
    near.consider(one.name, "");
    all.push_back(one.name);
  }
  const auto best = name.size() > 1 ? near.best() : std::vector<std::string>();  // any letter is near a letter
  if (!best.empty()) return fmt::format("there is no variable `{}`; near it: {}", name, list_of(best));
  return fmt::format("there is no variable `{}`{}", name, all.empty() ? "" : "; there are " + list_of(all));
}

}  // namespace

bool is_structure(const Type& type) { return type.kind == TypeClass::Struct || type.kind == TypeClass::Union; }
bool is_variable_path(std::string_view text) { return name_length(text) != 0; }
std::string_view variable_of_path(std::string_view path) { return path.substr(0, name_length(path)); }
std::string_view last_name_of_path(std::string_view path) {
  std::string_view last;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t length = name_length(path.substr(at));
    if (length != 0) last = path.substr(at, length);
    at += std::max<std::size_t>(length, 1);
  }
  return last;
}

std::expected<VariableFetch, std::string> fetch_of_path(std::string_view path, std::string_view type,
                                                        const target::LinePlace& place, const TypeTable& types) {
  const std::string_view name = variable_of_path(path);
  const auto variable = std::ranges::find(place.variables, name, &target::SourceVariable::name);
  if (variable == place.variables.end()) return Refusal(unknown(name, place));
  Walk walk(types, place, *variable);
  KEVT_TRY(walk.follow(path.substr(name.size())));
  return walk.finish(type);
}

std::expected<std::vector<std::string>, std::string> members_at_path(std::string_view path,
                                                                     const target::LinePlace& place,
                                                                     const TypeTable& types) {
  const std::string_view name = variable_of_path(path);
  const auto variable = std::ranges::find(place.variables, name, &target::SourceVariable::name);
  if (variable == place.variables.end()) return Refusal(unknown(name, place));
  const bool is_arrow = path.ends_with("->");
  Walk walk(types, place, *variable);
  KEVT_TRY(walk.follow(path.substr(name.size(), path.size() - name.size() - (is_arrow ? 2 : 1))));
  return walk.members(is_arrow);
}

std::expected<std::string, std::string> address_of_path(std::string_view path, const target::LinePlace& place,
                                                        const TypeTable& types) {
  const std::string_view name = variable_of_path(path);
  const auto variable = std::ranges::find(place.variables, name, &target::SourceVariable::name);
  if (variable == place.variables.end()) return Refusal(unknown(name, place));
  Walk walk(types, place, *variable);
  KEVT_TRY(walk.follow(path.substr(name.size())));
  return walk.as_address();
}

}  // namespace kevt::pipeline
