// Instructions are drawn from a table of encodings; those with a distance are completed when their place is known.
//
//   Fragment: [endbr64] any … any  jmp exit_0  stub: jmp exit_1       short branches lead to the stub
//   Function: [endbr64] push rbp; mov rsp, rbp; [sub] plain … leave; ret     or     plain … plain ret
//
// "Plain" instructions leave rsp and (with a frame) rbp alone.
#include "tests/differential/site_code.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <string_view>

#include "tests/differential/machine_state.h"

namespace kevt::test {

namespace {

using namespace std::string_view_literals;

// What the last 1 or 4 bytes of an encoding are.
enum class Tail : std::uint8_t { None, Data32, Exit32, Stub8, Helper32 };

constexpr std::size_t kPadding = 32;
constexpr int kNoRead = 1 << 20;

struct Encoding {
  std::string_view bytes;
  Tail tail = Tail::None;
  int stack_read = kNoRead;  // distance from the stack pointer of 8 bytes that are read
  int stack_move = 0;        // bytes the stack pointer goes up
};

const std::vector<Encoding> kPlain = {
    {"\x85\xc0"sv},                                 // test %eax, %eax
    {"\x39\xd8"sv},                                 // cmp %ebx, %eax
    {"\x48\x11\xd8"sv},                             // adc %rbx, %rax
    {"\x48\x19\xd1"sv},                             // sbb %rdx, %rcx
    {"\x49\x01\xf0"sv},                             // add %rsi, %r8
    {"\x48\xff\xc0"sv},                             // inc %rax
    {"\xd1\xd0"sv},                                 // rcl $1, %eax
    {"\x48\xd1\xf9"sv},                             // sar $1, %rcx
    {"\x0f\x92\xc0"sv},                             // setb %al
    {"\x0f\x9f\xc1"sv},                             // setg %cl
    {"\x0f\x9a\xc2"sv},                             // setp %dl
    {"\x48\x0f\x40\xc2"sv},                         // cmovo %rdx, %rax
    {"\x4c\x0f\x48\xdf"sv},                         // cmovs %rdi, %r11
    {"\x9f"sv},                                     // lahf
    {"\x9e"sv},                                     // sahf
    {"\xf5"sv},                                     // cmc
    {"\xf9"sv},                                     // stc
    {"\x90"sv},                                     // nop
    {"\x0f\x1f\x44\x00\x00"sv},                     // nopl 0(%rax,%rax)
    {"\x48\x0f\xc8"sv},                             // bswap %rax
    {"\x48\x0f\xaf\xc1"sv},                         // imul %rcx, %rax
    {"\x31\xc0"sv},                                 // xor %eax, %eax
    {"\x4d\x89\xfb"sv},                             // mov %r15, %r11
    {"\x48\x87\xd1"sv},                             // xchg %rdx, %rcx
    {"\xb9\x78\x56\x34\x12"sv},                     // mov $0x12345678, %ecx
    {"\x48\x89\x44\x24\xf8"sv},                     // mov %rax, -8(%rsp)
    {"\x48\x8b\x4c\x24\xc0"sv, Tail::None, -0x40},  // mov -0x40(%rsp), %rcx
    {"\x4c\x8b\x54\x24\x80"sv, Tail::None, -0x80},  // mov -0x80(%rsp), %r10
    {"\x48\x01\x5c\x24\xe0"sv, Tail::None, -0x20},  // add %rbx, -0x20(%rsp)
    {"\x66\x48\x0f\x6e\xc0"sv},                     // movq %rax, %xmm0
    {"\x66\x0f\xef\xc9"sv},                         // pxor %xmm1, %xmm1
    {"\x48\x8b\x0d\0\0\0\0"sv, Tail::Data32},       // mov data(%rip), %rcx
    {"\x48\x31\x1d\0\0\0\0"sv, Tail::Data32},       // xor %rbx, data(%rip)
    {"\x4c\x3b\x0d\0\0\0\0"sv, Tail::Data32},       // cmp data(%rip), %r9
};

// No function returns a real address: return probes read where registers point, and the interpreter knows only the
// arena.
const std::vector<Encoding> kFragmentOnly = {
    {"\x48\x8d\x05\0\0\0\0"sv, Tail::Data32},                // lea data(%rip), %rax
    {"\x55"sv, Tail::None, kNoRead, -8},                     // push %rbp
    {"\x41\x57"sv, Tail::None, kNoRead, -8},                 // push %r15
    {"\x48\x89\xe5"sv},                                      // mov %rsp, %rbp
    {"\x48\x83\xec\x40"sv, Tail::None, kNoRead, -0x40},      // sub $0x40, %rsp
    {"\x48\x8d\x64\x24\xf0"sv, Tail::None, kNoRead, -0x10},  // lea -0x10(%rsp), %rsp
    {"\x9c"sv, Tail::None, kNoRead, -8},                     // pushfq
    {"\x5a"sv, Tail::None, 0, 8},                            // pop %rdx
    {"\x0f\x84\0\0\0\0"sv, Tail::Exit32},                    // je exit
    {"\x0f\x8c\0\0\0\0"sv, Tail::Exit32},                    // jl exit
    {"\x0f\x80\0\0\0\0"sv, Tail::Exit32},                    // jo exit
    {"\xe9\0\0\0\0"sv, Tail::Exit32},                        // jmp exit
    {"\x74\0"sv, Tail::Stub8},                               // je stub
    {"\x72\0"sv, Tail::Stub8},                               // jb stub
    {"\x7a\0"sv, Tail::Stub8},                               // jp stub
    {"\xe3\0"sv, Tail::Stub8},                               // jrcxz stub
    {"\xeb\0"sv, Tail::Stub8},                               // jmp stub
    {"\xe8\0\0\0\0"sv, Tail::Helper32},                      // call helper
};

class SiteWriter {
 public:
  SiteWriter(Random& random, RemoteAddr at, RemoteAddr data) : random_(random), at_(at), data_(data) {}

  void put(std::string_view raw) { code_.insert(code_.end(), raw.begin(), raw.end()); }
  void put(const Encoding& encoding);
  void put_any_of(const std::vector<Encoding>& encodings);
  void put_jump(RemoteAddr to);
  void fragment();
  void function();
  std::vector<std::uint8_t> finish() &&;

 private:
  RemoteAddr here() const { return at_ + code_.size(); }
  void set_distance(RemoteAddr to);
  std::size_t random_length() { return 2 + below(random_, 8); }

  Random& random_;
  RemoteAddr at_, data_;
  std::vector<std::uint8_t> code_;
  std::vector<std::size_t> to_stub_;  // ends of short branches
  int stack_ = 0;                     // the stack pointer, from what it was at the start
};

RemoteAddr address_of(void (*function)()) { return {reinterpret_cast<std::uint64_t>(function)}; }

// The last 4 bytes lead to `to` from here.
void SiteWriter::set_distance(RemoteAddr to) {
  const auto distance = static_cast<std::int32_t>(to - here());
  std::memcpy(code_.data() + code_.size() - 4, &distance, 4);
}

// What lay below the red zone of the start may be overwritten at any time: by a detour, too.
void SiteWriter::put_any_of(const std::vector<Encoding>& encodings) {
  for (;;) {
    const Encoding& encoding = pick(random_, encodings);
    if (encoding.stack_read != kNoRead && stack_ + encoding.stack_read < -128) continue;
    return put(encoding);
  }
}

void SiteWriter::put(const Encoding& encoding) {
  stack_ += encoding.stack_move;
  put(encoding.bytes);
  switch (encoding.tail) {
    case Tail::None:
      return;
    case Tail::Data32:
      return set_distance(data_ + 8 * below(random_, 8));
    case Tail::Exit32:
      return set_distance(address_of(kevt_test_exit_2));
    case Tail::Stub8:
      return to_stub_.push_back(code_.size());
    case Tail::Helper32:
      return set_distance(address_of(kevt_test_helper));
  }
}

void SiteWriter::put_jump(RemoteAddr to) {
  put("\xe9\0\0\0\0"sv);
  set_distance(to);
}

void SiteWriter::fragment() {
  for (std::size_t left = random_length(); left > 0; --left) put_any_of(one_in(random_, 3) ? kFragmentOnly : kPlain);
  put_jump(address_of(kevt_test_exit_0));
  for (const std::size_t end : to_stub_) code_[end - 1] = static_cast<std::uint8_t>(code_.size() - end);
  put_jump(address_of(kevt_test_exit_1));
}

void SiteWriter::function() {
  const bool has_frame = one_in(random_, 2);
  if (has_frame) put({"\x55\x48\x89\xe5"sv, Tail::None, kNoRead, -8});  // push %rbp; mov %rsp, %rbp
  if (has_frame && one_in(random_, 2))
    put({"\x48\x81\xec\x00\x01\0\0"sv, Tail::None, kNoRead, -0x100});  // sub $0x100, %rsp
  for (std::size_t left = below(random_, 8); left > 0; --left) put_any_of(kPlain);
  if (has_frame) put("\xc9"sv);  // leave
  put("\xc3"sv);                 // ret
}

// Padding that a jump at the start may overwrite.
std::vector<std::uint8_t> SiteWriter::finish() && {
  code_.insert(code_.end(), kPadding, 0xcc);
  return std::move(code_);
}

}  // namespace

std::vector<std::uint8_t> random_site(Random& random, SiteShape shape, RemoteAddr at, RemoteAddr data) {
  SiteWriter writer(random, at, data);
  if (one_in(random, 4)) writer.put("\xf3\x0f\x1e\xfa"sv);  // endbr64
  switch (shape) {
    case SiteShape::Fragment:
      writer.fragment();
      break;
    case SiteShape::Function:
      writer.function();
      break;
  }
  return std::move(writer).finish();
}

std::string hex(const std::vector<std::uint8_t>& bytes) { return fmt::format("{:02x}", fmt::join(bytes, " ")); }

}  // namespace kevt::test
