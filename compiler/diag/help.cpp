// What to do about a mistake, in our words.
//
// Problem: the kernel's texts are exact but terse ("Invalid $-variable specified"). Idea: the texts stay as they
// are, and one line of advice follows as a note if there is something general to say.
// Not here: advice that needs the target (near misses of a symbol, candidates); the stage that looks up
// the symbol adds such advice as `detail` or notes of its own.
#include "compiler/diag/diagnostic.h"

namespace kevt::diag {
namespace {

struct Help {
  Kind kind;
  std::string_view text;
};

constexpr Help kHelp[] = {
    {Kind::MaxactNoKprobe, "a number of instances belongs to return probes: `r10:EVENT PLACE`"},
    {Kind::BadMaxactType, "a number of instances belongs to return probes: `r10:EVENT PLACE`"},
    {Kind::BadMaxact, "write a number from 1 to 4096 after `r`"},
    {Kind::MaxactTooBig, "at most 4096 return instances"},
    {Kind::BadProbeAddr, "a place is `SYMBOL`, `SYMBOL+OFFSET`, `MODULE:SYMBOL` or an address"},
    {Kind::NonUniqSymbol, "several functions have this name; name the module, `MODULE:SYMBOL`, or give an address"},
    {Kind::BadAddrSuffix, "the only suffix is `%return`"},
    {Kind::NoMatch, "a definition begins with `p`, `r`, `e`, `f`, `t` or `s:`"},
    {Kind::BadTpName, "a tracepoint's name alone, without its system: `t sched_switch`"},
    {Kind::NofentryArgs, "arguments are known at a function's first byte, and in return probes"},
    {Kind::DoubleArgs, "`$arg*` stands for all arguments already"},
    {Kind::NosupBtfarg,
     "arguments have names at a function's first byte and in return probes, not here; write the "
     "function, `MODULE:NAME`, or a register: `%di`"},
    {Kind::NoBtfarg, "an argument is named as in the function's prototype"},
    {Kind::NosupDatArg, "the first separator is `->`; `.` is for members of members"},
    {Kind::BadHyphen, "fields are separated by `->` or `.`"},
    {Kind::TooManyArgs, "at most 128 arguments"},
    {Kind::TooManyEargs, "an exit probe keeps at most 15 arguments of the entry"},
    {Kind::TypecastNotEvent, "a typecast is for the field of an event probe: `(task_struct)field->comm`"},
    {Kind::TypecastReqField, "a field follows: `(STRUCT)EXPRESSION->FIELD`"},
    {Kind::TypecastBadArrow, "the member inside the typecast is written with `.` alone"},
    {Kind::TypecastSymOffset, "write `(STRUCT)(@SYMBOL+OFFSET)->FIELD`"},
    {Kind::NosupPercpu, "per-CPU variables belong to the kernel: `p`, `r`, `f` and `t` probes"},
    {Kind::NoEventField, "a field of the event it attaches to"},
    {Kind::TooManyNested, "at most 8 typecasts and dereferences around a value"},
    {Kind::FileOnKernelProbe, "file offsets are for `PATH:OFFSET` places; use `@SYMBOL` or `@ADDRESS`"},
    {Kind::BadRetprobe, "a return probe sits on a function's first byte; drop the offset"},
    {Kind::GroupTooLong, "at most 63 characters"},
    {Kind::EventTooLong, "at most 63 characters"},
    {Kind::EventExist, "choose another name, or delete that event first with `-:GROUP/EVENT`"},
    {Kind::RetvalOnProbe, "use `r:` for a return probe"},
    {Kind::BadVar, "`$stack`, `$stackN`, `$retval`, `$comm`, and `$argN` at a function's entry"},
    {Kind::BadRegName,
     "registers of x86-64: %ax %bx %cx %dx %si %di %bp %sp %r8 to %r15 %ip %flags; in a process %xmm0 to %xmm15"},
    {Kind::SymOnUprobe, "data symbols are for kernel-style places; use `@+OFFSET` for a byte of the file"},
    {Kind::FileOnKprobe, "file offsets are for `PATH:OFFSET` places; use `@SYMBOL` or `@ADDRESS`"},
    {Kind::ImmstrNoClose, "an immediate string is \\\"text\" and cannot hold a blank"},
    {Kind::TooManyOps, "an argument has room for 15 fetch operations"},
    {Kind::DerefNeedBrace, "to read memory write `+OFFSET(ARGUMENT)`"},
    {Kind::CommCantDeref, "`$comm` and immediate strings are text already; write them without `+0( )`"},
    {Kind::BadFetchArg, "an argument begins with `$`, `%`, `@`, `+`, `-` or `\\`"},
    {Kind::BadArrayNum, "an array has 1 to 64 items; in kevtrace also u32[LENGTH]"},
    {Kind::ArrayTooBig, "an array has 1 to 64 items"},
    {Kind::BadType,
     "u8-u64, s8-s64, x8-x64, char, string, ustring, symbol, symstr, bWIDTH@OFFSET/CONTAINER; in kevtrace f32, f64, "
     "be16, be32, be64, hex[N], "
     "o16, o32, enum, string(LENGTH), u32[LENGTH]"},
    {Kind::BadString, "strings and arrays are read from memory: `+0(%si):string`"},
    {Kind::BadSymstring, "symstr takes an address held in a register, a stack slot, an argument or memory"},
    {Kind::BadBitfield, "bWIDTH@OFFSET/CONTAINER with WIDTH + OFFSET <= CONTAINER"},
    {Kind::UsedArgName, "names of arguments differ from each other and from the common fields"},
    {Kind::ArgTooLong, "at most 63 characters after `NAME=`"},
    {Kind::BadInsnBndry, "the offset must be where an instruction begins"},
    {Kind::DiffProbeType,
     "an event's probes are all entry or all return probes, and all of programs or all of the kernel"},
    {Kind::DiffArgType, "an event's probes have the same arguments: names, types and their number"},
    {Kind::NoEventInfo, "an event probe's place is `SYSTEM.EVENT`"},
    {Kind::NeedStringType, "leave the type away or write `:string`"},
    {Kind::EventTooBig, "the fixed part of a record holds 3072 bytes of arguments"},
    {Kind::SynthInvalidCmd, "for instance `wakeup pid_t pid; u64 delta; char comm[16]`"},
    {Kind::SynthIncompleteType, "`unsigned` is followed by a type and a name"},
    {Kind::BadDeletion, "for instance `-:kprobes/my_event`"},
};

}  // namespace

std::string_view help_text(Kind kind) {
  for (const Help& help : kHelp) {
    if (help.kind == kind) return help.text;
  }
  return "";
}

}  // namespace kevt::diag
