// Definition: one line of kprobe_events, uprobe_events, synthetic_events or dynamic_events, as data.
//
//   r4:io/opened libc:openat+0 path=+0(%si):string[2]      (spec: docs/language.md)
//
// Grammar fills everything that is written; sema fills what is implied (default group and event
// names, generated argument names) and refuses what is wrong. Plain values: copy, compare, keep.
// Spans count columns of `Definition::command`, the words joined with single blanks as error_log
// shows them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "compiler/model/span.h"

namespace kevt::model {

enum class EventKind : std::uint8_t { Kprobe, Uprobe, Eprobe, Fprobe, Tprobe, Synthetic, Watchpoint };
enum class ProbeKind : std::uint8_t {
  Entry,
  Return,
  Record,  // an eprobe: at the record of another event
};

// ---- where the probe sits -------------------------------------------------------------------

struct SymbolPlace {  // [MODULE:]SYMBOL[+OFFSET]
  std::optional<std::string> module;
  std::string symbol;
  std::uint64_t offset = 0;  // bytes
};
struct AddressPlace {  // 0xADDR
  std::uint64_t address = 0;
};
struct FilePlace {  // PATH:OFFSET[(REF_CTR)]
  std::string path;
  std::uint64_t offset = 0;                        // bytes from the start of the file
  std::optional<std::uint64_t> reference_counter;  // file offset of a u16 semaphore
};
struct EventPlace {  // SYSTEM.EVENT of an eprobe
  std::string system;
  std::string event;
};
struct TracepointPlace {
  std::string tracepoint;
};
struct WatchPlace {  // [r|w|rw]@(ADDR|SYM[±OFF])[:LEN]
  std::string access;
  std::optional<std::string> symbol;  // nullopt: `offset` is the address
  std::int64_t offset = 0;
  std::uint32_t length = 4;
};
using Place = std::variant<SymbolPlace, AddressPlace, FilePlace, EventPlace, TracepointPlace, WatchPlace>;

// ---- fetch-args -----------------------------------------------------------------------------

// What an expression starts from, innermost.
struct RegisterBase {
  std::string name;  // without '%'
};
struct StackPointerBase {};
struct StackSlotBase {
  std::uint32_t index = 0;  // word number
};
struct ReturnValueBase {};
struct ArgumentBase {
  std::uint32_t number = 1;  // 1-based, as in $arg1
};
struct CommBase {};
// How the attached event's record holds a field.
enum class EventFieldForm : std::uint8_t {
  Unknown,  // not looked up, or nothing an argument can read
  Integer,  // of 1, 2, 4 or 8 bytes; also the address of a string elsewhere
  Text,     // the characters stand in the record
  Located,  // likewise, at the place that a data_loc word names
};
struct EventFieldBase {
  std::string name;   // eprobe field, without '$'
  bool bare = false;  // written without '$' (7.3)
  // Filled in by sema; offset and size in bytes.
  EventFieldForm form = EventFieldForm::Unknown;
  std::uint32_t offset = 0;
  std::uint8_t bytes = 0;
  bool is_signed = false;
  std::uint32_t located_from = 0;  // RecordField::located_from
};
struct MemoryBase {  // @ADDR: the value is the memory there
  std::uint64_t address = 0;
};
struct SymbolBase {  // @SYM±OFF
  std::string symbol;
  std::int64_t offset = 0;
  bool is_thread_local = false;  // filled in by sema: each thread has its own
};
struct SpanIdBase {  // `$trace_id`, `$span_id`: of the span that the thread works for (span_context.h)
  enum class Id : std::uint8_t { Trace, Span } id = Id::Trace;
};
struct FileOffsetBase {  // @+OFF
  std::uint64_t offset = 0;
};
struct ImmediateBase {  // \IMM
  std::uint64_t value = 0;
};
struct ImmediateStringBase {  // \"text"
  std::string text;
};

// Operands that only the target's types (BTF, DWARF) can resolve.
enum class VariableKind : std::uint8_t {
  Name,            // `file`, `file->f_path.dentry`: an argument of the probed function
  AllArguments,    // `$arg*`
  ReturnValue,     // `$retval->FIELD`
  CurrentTask,     // `$current`, `$current->pid`
  PerCpuAddress,   // `this_cpu_ptr(EXPRESSION)`
  PerCpuValue,     // `this_cpu_read(EXPRESSION)`
  Typecast,        // `(STRUCT[,MEMBER])EXPRESSION->FIELD`
  WatchedAddress,  // `$addr` of a watchpoint, `$value` as memory there
};
struct VariableBase {
  std::string name;  // the whole operand as written
  VariableKind kind = VariableKind::Name;
  bool resolved = false;  // types were asked, and no further types are needed
};
using FetchBase =
    std::variant<RegisterBase, StackPointerBase, StackSlotBase, ReturnValueBase, ArgumentBase, CommBase, EventFieldBase,
                 MemoryBase, SymbolBase, SpanIdBase, FileOffsetBase, ImmediateBase, ImmediateStringBase, VariableBase>;

enum class AddressSpace : std::uint8_t { Default, User };

// One `+OFF( )` or `+uOFF( )` around what comes before it.
struct Dereference {
  std::int64_t offset = 0;
  AddressSpace space = AddressSpace::Default;
  Span span;  // of the sign and offset
};

// `+8(+0(%di))` is base `%di`, dereferences {+0, +8}: in order of evaluation, innermost first.
struct FetchExpr {
  FetchBase base = ImmediateBase{};
  Span base_span;
  std::vector<Dereference> dereferences;
  std::uint32_t field_column = 0;  // column of the last field that types resolved, where reading ended; 0: none
};

// Names of an enumeration's values, in the order of its declaration.
struct EnumName {
  std::int64_t value = 0;
  std::string name;
};
using EnumNames = std::vector<EnumName>;

enum class TypeKind : std::uint8_t {
#define KEVT_TYPE_KIND(name, ...) name,
#include "compiler/model/type_kind.def"
#undef KEVT_TYPE_KIND
};
// The columns of type_kind.def.
struct TypeKindRow {
  std::string_view word;
  char stored;
  std::string_view print, wide_print;
};
inline constexpr TypeKindRow kTypeKinds[] = {
#define KEVT_TYPE_KIND(name, ...) {__VA_ARGS__},
#include "compiler/model/type_kind.def"
#undef KEVT_TYPE_KIND
};
constexpr const TypeKindRow& row_of(TypeKind kind) { return kTypeKinds[static_cast<std::size_t>(kind)]; }
constexpr bool is_signed_number(TypeKind kind) { return row_of(kind).stored == 's'; }

struct TypeSpec {
  TypeKind kind = TypeKind::Hex;
  std::uint8_t bytes = 8;      // of one item in the record; strings: 4 (the data_loc word)
  std::uint8_t bit_width = 0;  // Bitfield: bWIDTH@OFFSET/CONTAINER, CONTAINER == 8 * bytes; 0: all bits
  std::uint8_t bit_offset = 0;
  std::uint32_t array_count = 0;           // 0: not an array
  bool is_counted = false;                 // an array of as many items as FetchArg::length says, array_count at most
  bool written = false;                    // false: implied
  std::shared_ptr<const EnumNames> names;  // Enum: the values' names, once types have told them; else nullptr
  std::string text;                        // as written, without ':'; empty when implied
  Span span;
};

// LENGTH of `string(LENGTH)`, the number of bytes of the text, and of `s32[LENGTH]`, the number of items: an integer.
struct Length {
  FetchExpr expr;
  TypeSpec type;
  bool is_end = false;  // `s32[..END]`: the address behind the last item
};

struct FetchArg {
  std::string name;
  bool name_written = false;
  FetchExpr expr;
  TypeSpec type;
  // String, UserString; nullopt: the text ends at its NUL. Arrays that are counted always have one.
  std::optional<Length> length;
  std::string text;  // expression and `:type` exactly as listings print them
  // The target's types decide what is read. Either `base` is a VariableBase, or the type was `%pd` or `%pD`: then
  // `expr` has its dereferences, with offset 0.
  bool needs_types = false;
  Span span;       // whole word
  Span expr_span;  // after `NAME=`
};

// Whether `is` holds for the expression of the argument or of its length.
template <class Is>
bool any_expression(const FetchArg& arg, Is is) {
  return is(arg.expr) || (arg.length && is(arg.length->expr));
}

// ---- whole statements -----------------------------------------------------------------------

struct SyntheticField {
  std::string type;  // canonical, brackets included: "char[16]", "unsigned long[]"
  std::string name;
  bool is_array = false;          // `[]` or `[N]`
  std::uint32_t array_count = 0;  // 0 with is_array: dynamic
  Span span;
};

struct Definition {
  EventKind kind = EventKind::Kprobe;
  ProbeKind probe_kind = ProbeKind::Entry;
  std::string group;  // empty until sema when not written
  std::string event;
  std::optional<std::uint32_t> maxactive;
  Place place;
  Span place_span;
  std::vector<FetchArg> args;
  std::optional<std::string> filter;   // eprobe `if …`
  std::vector<SyntheticField> fields;  // Synthetic only
  std::string command;                 // what spans count columns of
};

// `-:[GROUP/]EVENT [LOCATION [ARGS…]]` or `!…`: removes events.
struct Deletion {
  std::optional<std::string> group;
  std::optional<std::string> event;  // nullopt: the whole group
  std::optional<std::string> location;
  std::vector<std::string> args;  // `name=expr` words that must match
  std::string command;
};

using Statement = std::variant<Definition, Deletion>;

}  // namespace kevt::model
