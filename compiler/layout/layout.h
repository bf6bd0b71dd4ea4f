// Layout: where the bytes of a record lie, and every text the kernel prints about an event.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "compiler/diag/diagnostic.h"
#include "compiler/model/definition.h"
#include "compiler/model/record_layout.h"
#include "compiler/target/target_env.h"

namespace kevt::layout {

// nullopt: the sum of the fixed sizes is over the kernel's limit; EventTooBig was reported.
std::optional<model::RecordLayout> layout_record(const model::Definition& definition, diag::Sink& sink);

// The `format` file, byte for byte.
std::string format_text(const model::Definition& definition, const model::RecordLayout& layout, std::uint32_t id);
// One line of dynamic_events, without '\n'. A return probe without a written number of instances lists the default
// for `possible_cpus`, max(10, 2 * possible_cpus), as 6.1 does. With `possible_cpus` 0 it lists none: 6.1 knows the
// number only when the probe is armed, so a waiting probe has none.
std::string listing(const model::Definition& definition, unsigned possible_cpus);
// The line of a `p` or `r` probe with everything written that types completed: it means the same without types.
std::string written_out(const model::Definition& definition);

// How symbols of probed places are printed: the options sym-offset and sym-addr.
struct PlaceStyle {
  bool offsets = false;    // show offsets also where they are implied
  bool addresses = false;  // show the address behind the symbol
};
// What follows the time stamp of a trace line: "EV: (vfs_read+0x0/0x140) a=1 s=\"x\"".
// Kprobe-style places print symbols, uprobe-style ones raw addresses. `record` may be hostile: lengths and
// offsets outside it print as the kernel would print a fault.
std::string event_text(const model::Definition& definition, const model::RecordLayout& layout,
                       std::span<const std::uint8_t> record, const target::TargetEnv& env, PlaceStyle style = {});

// The parts of event_text(), for printers of many lines: the text in the parentheses, which is the same for the same
// addresses and can be kept, and " a=1 s=\"x\"". Not for synthetic events.
std::string place_text(const model::Definition& definition, const model::RecordLayout& layout,
                       std::span<const std::uint8_t> record, const target::TargetEnv& env, PlaceStyle style);
void append_arguments(std::string& out, const model::RecordLayout& layout, std::span<const std::uint8_t> record,
                      const target::TargetEnv& env);

// "%16s-%-7d [%03d] ..... %5lu.%06lu: " as trace prints it.
enum class TimeUnit : std::uint8_t { Nanoseconds, Count };  // Count: of a clock that counts no time, " %12llu"
struct LineContext {
  std::string_view comm;
  std::int32_t pid = 0;
  std::uint32_t cpu = 0;
  std::uint64_t timestamp_ns = 0;
  std::uint8_t flags = 0;
  std::uint8_t preempt_count = 0;
  bool shows_flags = true;           // irq-info
  std::optional<std::int32_t> tgid;  // record-tgid: "(%7d) ", 0: "(-------) "
  TimeUnit unit = TimeUnit::Nanoseconds;
};
std::string line_prefix(const LineContext& context);
void append_line_prefix(std::string& out, const LineContext& context);
// "  %-44s %15lu %15lu\n" of kprobe_profile.
std::string profile_line(std::string_view event, std::uint64_t hits, std::uint64_t misses);

}  // namespace kevt::layout
