// site_coverage SITES [SEED] FILE…: how random instructions and all function entries of ELF files would be probed.
//
//   libc.so.6   entries 97.9 % jump, 2.1 % int3, 0 refused   instructions 85.3 % jump, …, and why not
//
// Instructions are drawn evenly over the bytes of each function that the file names or has a frame for, PLT aside.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <string>

#include "compiler/target/elf/elf_image.h"
#include "runtime-user/runtime/inproc/x86/function_code.h"
#include "runtime-user/runtime/inproc/x86/site_plan.h"

namespace {

using namespace kevt;

struct Tally {
  std::size_t jumps = 0, breakpoints = 0, refused = 0;
  std::map<std::string, std::size_t> why;  // not a jump

  void add(const x86::SitePlan& plan) {
    if (plan.kind == x86::ArmKind::Jump) ++jumps;
    if (plan.kind == x86::ArmKind::Breakpoint) ++breakpoints;
    if (plan.kind == x86::ArmKind::Refused) ++refused;
    if (plan.kind != x86::ArmKind::Jump) ++why[general(plan.reason)];
  }
  void print(const char* what) const {
    const double all = static_cast<double>(std::max<std::size_t>(1, jumps + breakpoints + refused)) / 100;
    fmt::print("  {:<12} {:8} sites: {:6.2f} % jump, {:6.2f} % int3, {:5.2f} % refused\n", what,
               jumps + breakpoints + refused, jumps / all, breakpoints / all, refused / all);
  }
  // Reasons without their addresses and names.
  static std::string general(const std::string& reason) {
    std::string out;
    for (std::size_t i = 0; i < reason.size(); ++i) {
      if (reason[i] == '`') i = std::min(reason.find('`', i + 1), reason.size() - 1);
      const bool hex = reason.compare(i, 2, "0x") == 0;
      if (hex) i = std::min(reason.find_first_not_of("0123456789abcdef", i + 2), reason.size());
      if (hex) out += "N";
      if (i < reason.size()) out += reason[i];
    }
    return out;
  }
};

bool is_code(const target::ElfImage& image, const target::FunctionRange& function) {
  return image.is_executable(function.start) && !image.section_name(function.start).starts_with(".plt");
}

int measure(const std::string& path, std::size_t sites, std::mt19937_64& random) {
  auto image = target::ElfImage::open(path);
  if (!image) {
    fmt::print(stderr, "{}\n", image.error().message());
    return 1;
  }
  std::vector<target::FunctionRange> functions;
  std::vector<double> sizes;
  for (const target::FunctionRange& function : image->functions()) {
    if (!is_code(*image, function)) continue;
    functions.push_back(function);
    sizes.push_back(static_cast<double>(function.size));
  }
  x86::SitePlanner planner(*image);
  Tally entries, inside;
  for (const target::FunctionRange& function : functions) entries.add(planner.plan(function.start));
  std::discrete_distribution<std::size_t> by_size(sizes.begin(), sizes.end());
  while (inside.jumps + inside.breakpoints + inside.refused < sites) {
    const x86::FunctionCode code = x86::FunctionCode::read(*image, functions[by_size(random)]);
    if (code.instructions().empty()) continue;
    const std::size_t which = std::uniform_int_distribution<std::size_t>(0, code.instructions().size() - 1)(random);
    inside.add(planner.plan(code.instructions()[which].address));
  }
  fmt::print("{}\n", path);
  entries.print("entries");
  inside.print("instructions");
  std::vector<std::pair<std::size_t, std::string>> reasons;
  for (const auto& [why, count] : inside.why) reasons.emplace_back(count, why);
  std::ranges::sort(reasons, std::greater<>());
  for (const auto& [count, why] : reasons) fmt::print("    {:6} {}\n", count, why);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    fmt::print(stderr, "usage: site_coverage SITES SEED FILE...\n");
    return 2;
  }
  std::mt19937_64 random(std::strtoull(argv[2], nullptr, 0));
  int status = 0;
  for (int i = 3; i < argc; ++i) status |= measure(argv[i], std::strtoull(argv[1], nullptr, 0), random);
  return status;
}
