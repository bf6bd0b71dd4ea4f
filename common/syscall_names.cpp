// The numbers and names are those of <asm/unistd_64.h>, read when the build is configured. Where the function that
// answers a call has another name than the call, the kernel's events have the function's
// (arch/x86/entry/syscalls/syscall_64.tbl, 6.1).
#include "common/syscall_names.h"

#include <algorithm>
#include <span>

namespace kevt {

namespace {

struct Row {
  std::uint64_t number;
  std::string_view name;
};
constexpr Row kCalls[] = {
#define KEVT_SYSCALL(name, number) {number, "sys_" #name},
#include "syscall_names.inc"
#undef KEVT_SYSCALL
};
constexpr Row kRenamed[] = {
    {4, "sys_newstat"},     {5, "sys_newfstat"},  {6, "sys_newlstat"},
    {40, "sys_sendfile64"}, {63, "sys_newuname"}, {166, "sys_umount"},
};

std::optional<std::string_view> find(std::span<const Row> rows, std::uint64_t number) {
  const auto found = std::ranges::find(rows, number, &Row::number);
  return found == rows.end() ? std::nullopt : std::optional(found->name);
}

}  // namespace

std::optional<std::string_view> syscall_name(std::uint64_t number) {
  const auto renamed = find(kRenamed, number);
  return renamed ? renamed : find(kCalls, number);
}

}  // namespace kevt
