// Runs relocated code: every snippet is called where the assembler put it and through its copy, and
// must return the same for all inputs. The copy lies elsewhere and jumps back behind the region.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "runtime-user/runtime/inproc/x86/relocate.h"

// `snippet NAME` starts a function, `region` ends its displaced part; both go into a table.
asm(R"(
  .macro snippet name
  .text
  .p2align 5
  snippet_\name:
  .pushsection kevt_snippets, "aw"
  .quad snippet_\name, region_\name, 9f
  .popsection
  .pushsection .rodata
  9: .asciz "\name"
  .popsection
  .endm
  .macro region name
  region_\name:
  .endm

  .data
  .p2align 4
run_number: .quad 0x1122334455667788, 0x99aabbccddeeff00
run_helper_pointer: .quad run_helper
  .text
run_helper:                      # tells its return address and its argument
  mov (%rsp), %rax
  add %rdi, %rax
  ret

  snippet rip_load
  mov run_number(%rip), %rax
  region rip_load
  add %rdi, %rax
  ret

  snippet rip_immediate
  cmpl $0x55667788, run_number(%rip)
  sete %al
  region rip_immediate
  movzbl %al, %eax
  ret

  snippet rip_vector
  movaps run_number(%rip), %xmm0
  region rip_vector
  movhlps %xmm0, %xmm0
  movq %xmm0, %rax
  ret

  snippet rip_push
  push run_number(%rip)
  region rip_push
  pop %rax
  ret

  snippet rip_address
  lea run_number+8(%rip), %rax
  region rip_address
  sub %rdi, %rax
  ret

  snippet short_condition
  test $1, %dil
  je 1f
  region short_condition
  mov $1, %eax
  ret
1: mov $2, %eax
  ret

  snippet near_condition
  cmp $2, %rdi
  {disp32} jbe 1f
  region near_condition
  mov $1, %eax
  ret
1: mov $2, %eax
  ret

  snippet short_jump
  lea (%rdi,%rdi,2), %rax
  jmp 1f
  region short_jump
  ud2
1: inc %rax
  ret

  snippet near_jump
  {disp32} jmp 1f
  region near_jump
  ud2
1: lea 7(%rdi), %rax
  ret

  snippet loop_forward
  lea 1(%rdi), %rcx
  loop 1f
  region loop_forward
  mov $1, %eax
  ret
1: mov %rcx, %rax
  ret

  snippet loop_equal
  mov $5, %ecx
  test $1, %dil
  loope 1f
  region loop_equal
  mov $100, %eax
  ret
1: mov %rcx, %rax
  ret

  snippet loop_not_equal
  mov $5, %ecx
  test $1, %dil
  loopne 1f
  region loop_not_equal
  mov $100, %eax
  ret
1: mov %rcx, %rax
  ret

  snippet jump_rcx_zero
  mov %rdi, %rcx
  jrcxz 1f
  region jump_rcx_zero
  mov $1, %eax
  ret
1: mov $2, %eax
  ret

  snippet jump_ecx_zero
  mov %rdi, %rcx
  shl $32, %rcx
  jecxz 1f
  region jump_ecx_zero
  mov $1, %eax
  ret
1: mov $2, %eax
  ret

  snippet call_direct
  call run_helper
  region call_direct
  ret

  snippet call_padded              # data16 rex.W call: how TLS accesses are padded
  .byte 0x66, 0x66, 0x48
  call run_helper
  region call_padded
  ret

  snippet call_register
  lea run_helper(%rip), %r11
  call *%r11
  region call_register
  ret

  snippet call_memory
  lea run_number(%rip), %r10
  call *16(%r10)
  region call_memory
  ret

  snippet call_rip
  call *run_helper_pointer(%rip)
  region call_rip
  ret

  snippet call_stack
  push run_helper_pointer(%rip)
  call *(%rsp)
  region call_stack
  pop %rcx
  ret

  snippet call_stack_far           # 8 more does not fit in 8 bits
  sub $128, %rsp
  push %rbx
  lea run_helper(%rip), %rcx
  mov %rcx, 124(%rsp)
  call *124(%rsp)
  region call_stack_far
  pop %rbx
  add $128, %rsp
  ret

  snippet call_stack_index
  push run_helper_pointer(%rip)
  push run_number(%rip)
  mov $1, %ecx
  call *(%rsp,%rcx,8)
  region call_stack_index
  pop %rcx
  pop %rcx
  ret

  snippet call_rex_base
  push %r12
  lea run_number(%rip), %r12
  call *16(%r12)
  region call_rex_base
  pop %r12
  ret

  snippet jump_memory
  lea 1f(%rip), %rax
  push %rax
  pop run_slot(%rip)
  jmp *run_slot(%rip)
  region jump_memory
  ud2
1: mov $9, %eax
  ret
  .data
  .p2align 3
run_slot: .quad 0

  snippet returns
  endbr64
  lea 3(%rdi), %rax
  ret
  region returns
  ud2

  snippet thread_pointer
  mov %fs:0, %rax
  region thread_pointer
  ret

  snippet prologue
  push %rbp
  mov %rsp, %rbp
  sub $0x10, %rsp
  mov %rdi, -8(%rbp)
  region prologue
  mov -8(%rbp), %rax
  leave
  ret

  snippet repeated
  mov %rdi, %rax
  and $3, %edi
  mov %edi, %ecx
  lea -64(%rsp), %rdi
  cld
  rep stosb
  region repeated
  mov %rcx, %rax
  ret
  .text
)");

namespace kevt::x86 {
namespace {

struct Snippet {
  const std::uint8_t* start;
  const std::uint8_t* region_end;
  const char* name;
};
extern "C" const Snippet __start_kevt_snippets[];
extern "C" const Snippet __stop_kevt_snippets[];

using Function = std::uint64_t (*)(std::uint64_t);

// One page within reach of this program's text: written, then made executable, never both.
class Page {
 public:
  Page() {
    const auto near = reinterpret_cast<std::uintptr_t>(__start_kevt_snippets[0].start) & ~std::uintptr_t{0xfff};
    for (std::uintptr_t distance = 64 << 20; !usable() && distance < (std::uintptr_t{2} << 30); distance += 16 << 20) {
      address_ = ::mmap(reinterpret_cast<void*>(near - distance), 4096, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    }
  }
  ~Page() {
    if (usable()) ::munmap(address_, 4096);
  }
  bool usable() const { return address_ != MAP_FAILED; }
  RemoteAddr address() const { return {reinterpret_cast<std::uintptr_t>(address_)}; }
  Function load(std::span<const std::uint8_t> code) {
    std::memset(address_, 0xcc, 4096);
    std::memcpy(address_, code.data(), code.size());
    EXPECT_EQ(::mprotect(address_, 4096, PROT_READ | PROT_EXEC), 0);
    return reinterpret_cast<Function>(address_);
  }

 private:
  void* address_ = MAP_FAILED;
};

void append_jump(std::vector<std::uint8_t>& code, RemoteAddr place, RemoteAddr target) {
  const auto distance = static_cast<std::uint32_t>(target - (place + code.size() + 5));
  code.push_back(0xe9);
  for (unsigned shift = 0; shift < 32; shift += 8) code.push_back(static_cast<std::uint8_t>(distance >> shift));
}

TEST(RelocateRun, CopiesDoWhatOriginalsDo) {
  unsigned count = 0;
  for (const Snippet* snippet = __start_kevt_snippets; snippet != __stop_kevt_snippets; ++snippet, ++count) {
    SCOPED_TRACE(snippet->name);
    Page page;
    ASSERT_TRUE(page.usable());
    const RemoteAddr from{reinterpret_cast<std::uintptr_t>(snippet->start)};
    auto moved = relocate({snippet->start, snippet->region_end}, from, page.address());
    ASSERT_TRUE(moved) << moved.error().message();
    append_jump(moved->code, page.address(), {reinterpret_cast<std::uintptr_t>(snippet->region_end)});
    const auto original = reinterpret_cast<Function>(reinterpret_cast<std::uintptr_t>(snippet->start));
    const Function copy = page.load(moved->code);
    for (const std::uint64_t input : {0ull, 1ull, 2ull, 3ull, 0x100000000ull, ~0ull}) {
      EXPECT_EQ(original(input), copy(input)) << input;
    }
  }
  EXPECT_GE(count, 25u);
}

}  // namespace
}  // namespace kevt::x86
