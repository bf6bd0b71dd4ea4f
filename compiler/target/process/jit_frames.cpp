// Frame pointers are a habit, not a promise: V8 always keeps them, OpenJDK's compilers with -XX:+PreserveFramePointer.
// Where code does not, a walk ends, or leaves functions out: it follows the stack upwards only, and from code to code.
#include "compiler/target/process/jit_frames.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "common/unique_fd.h"

namespace kevt::target {

namespace {

constexpr std::uint64_t kAtEntry = KEVT_STACK_RULE(KEVT_STACK_FROM_SP, 0, 8, 0);
constexpr std::uint64_t kInTrampoline = KEVT_STACK_RULE(KEVT_STACK_FROM_SP, 0, 16, 0);
constexpr std::size_t kMostRules = 1 << 18;

// CPython 3.12 and 3.13, Python/asm_trampoline.S: [endbr64;] sub $8, %rsp; call *%rcx; add $8, %rsp; ret. A probe may
// stand at its first byte.
constexpr std::array<std::uint8_t, 11> kTrampoline = {0x48, 0x83, 0xec, 0x08, 0xff, 0xd1, 0x48, 0x83, 0xc4, 0x08, 0xc3};
constexpr std::array<std::uint8_t, 4> kEndbr64 = {0xf3, 0x0f, 0x1e, 0xfa};
constexpr std::uint8_t kBreakpoint = 0xcc;

// As `text` begins, but for a probe at its first byte.
template <std::size_t kBytes>
bool begins_with(std::span<const std::uint8_t> text, const std::array<std::uint8_t, kBytes>& code) {
  return text.size() >= kBytes && (text[0] == code[0] || text[0] == kBreakpoint) &&
         std::equal(code.begin() + 1, code.end(), text.begin() + 1);
}

bool is_trampoline(const UniqueFd& memory, RemoteAddr at) {
  std::array<std::uint8_t, kEndbr64.size() + kTrampoline.size()> room{};
  const ssize_t got = ::pread(memory.get(), room.data(), room.size(), static_cast<off_t>(at.value));
  const std::span text(room.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return begins_with(text, kTrampoline) ||
         (begins_with(text, kEndbr64) && begins_with(text.subspan(kEndbr64.size()), kTrampoline));
}

class RuleWriter {
 public:
  explicit RuleWriter(pid_t pid) : memory_(::open(fmt::format("/proc/{}/mem", pid).c_str(), O_RDONLY | O_CLOEXEC)) {}

  void begin(RemoteAddr start) { put(start.value, KEVT_STACK_BY_FRAME_POINTER); }
  void end(RemoteAddr end) { put(end.value, KEVT_STACK_NO_RULE); }
  void function(const PerfMapEntry& one) {
    const std::uint64_t start = one.start.value;
    const bool is_python = one.name.starts_with("py::") && is_trampoline(memory_, one.start);
    put(start, kAtEntry);
    put(start + 1, is_python ? kInTrampoline : KEVT_STACK_BY_FRAME_POINTER);
    if (is_python) put(one.end().value, KEVT_STACK_BY_FRAME_POINTER);
  }
  std::size_t size() const { return rules_.size(); }
  std::vector<kevt_stack_rule> take() { return std::move(rules_); }

 private:
  void put(std::uint64_t start, std::uint64_t rule) {
    if (!rules_.empty() && rules_.back().start == start) rules_.pop_back();
    if (rules_.empty() || rules_.back().rule != rule) rules_.push_back({start, rule});
  }

  UniqueFd memory_;
  std::vector<kevt_stack_rule> rules_;
};

// Memory that may be written in one place and run in another: .NET's memfd `doublemapper`, shared memory.
bool is_shared_memory(std::string_view path) {
  return path.starts_with("/memfd:") || path.starts_with("/dev/zero") || path.starts_with("/SYSV");
}

// V8 maps its builtins once more, near the code that it makes: a part of a file, which libdw would take for its
// beginning.
std::vector<Mapping> second_copies(const std::vector<Mapping>& maps) {
  std::vector<Mapping> copies;
  for (const LoadedObject& object : loaded_objects(maps)) {
    const bool is_agent = object.path.starts_with("/memfd:kevtrace");
    if (is_agent || (object.ranges.front().offset.value == 0 && !is_shared_memory(object.path))) continue;
    std::ranges::copy_if(object.ranges, std::back_inserter(copies), &Mapping::executable);
  }
  return copies;
}

// Ascending.
std::vector<Mapping> code_without_tables(const std::vector<Mapping>& maps) {
  std::vector<Mapping> code = second_copies(maps);
  std::ranges::copy_if(maps, std::back_inserter(code), &Mapping::may_be_jit);
  std::ranges::sort(code, {}, &Mapping::start);
  return code;
}

std::vector<kevt_stack_rule> rules_for(pid_t pid, const std::vector<Mapping>& code,
                                       const std::vector<PerfMapEntry>& functions) {
  RuleWriter writer(pid);
  for (const Mapping& mapping : code) {
    if (writer.size() >= kMostRules) break;
    writer.begin(mapping.start);
    const auto first = std::ranges::lower_bound(functions, mapping.start, {}, &PerfMapEntry::start);
    for (auto one = first; one != functions.end() && one->end() <= mapping.end && writer.size() < kMostRules; ++one)
      writer.function(*one);
    writer.end(mapping.end);
  }
  return writer.take();
}

std::uint64_t rule_in(const std::vector<kevt_stack_rule>& rules, std::uint64_t address) {
  const auto after = std::ranges::upper_bound(rules, address, {}, &kevt_stack_rule::start);
  return after == rules.begin() ? std::uint64_t{KEVT_STACK_NO_RULE} : std::prev(after)->rule;
}

bool is_one_rule(const kevt_stack_rule& a, const kevt_stack_rule& b) { return a.start == b.start && a.rule == b.rule; }

}  // namespace

bool JitFrames::look(pid_t pid, const std::vector<Mapping>& maps) {
  const std::vector<Mapping> code = code_without_tables(maps);
  const auto version = code.empty() ? std::nullopt : perf_map_version(pid);
  if (!version) {
    functions_.clear();
    version_.reset();
  } else if (version != version_) {
    const auto map = read_perf_map(pid);
    functions_ = map && *map ? parse_perf_map((*map)->text) : std::vector<PerfMapEntry>();
    version_ = version;
  }
  std::vector<kevt_stack_rule> now = rules_for(pid, code, functions_);
  const bool is_other = !std::ranges::equal(now, rules_, is_one_rule);
  rules_ = std::move(now);
  return is_other;
}

std::uint64_t JitFrames::rule_at(std::uint64_t address) const { return rule_in(rules_, address); }

std::vector<kevt_stack_rule> joined_rules(const std::vector<kevt_stack_rule>& files,
                                          const std::vector<kevt_stack_rule>& jit) {
  std::vector<kevt_stack_rule> joined;
  joined.reserve(files.size() + jit.size());
  std::uint64_t of_file = KEVT_STACK_NO_RULE, of_jit = KEVT_STACK_NO_RULE;
  for (auto file = files.begin(), made = jit.begin(); file != files.end() || made != jit.end();) {
    const bool is_file = made == jit.end() || (file != files.end() && file->start <= made->start);
    const std::uint64_t start = is_file ? file->start : made->start;
    if (is_file) of_file = (file++)->rule;
    if (made != jit.end() && made->start == start) of_jit = (made++)->rule;
    const std::uint64_t rule = of_jit == KEVT_STACK_NO_RULE ? of_file : of_jit;
    if (joined.empty() || joined.back().rule != rule) joined.push_back({start, rule});
  }
  return joined;
}

}  // namespace kevt::target
