// The problem: any bytes may be written to the files of events.
//
// The idea: the first byte chooses the file, the rest is one line. It is parsed, checked and laid out over a fixed
// world. Either it is accepted without a diagnostic, or there are diagnostics with an errno, in the kernel's order and
// with columns no further than behind the text; what was accepted has a listing that is accepted again, and a
// format and record text for any record.
//
// What a definition means is not checked here (tests/golden).
#include <algorithm>
#include <cstdlib>
#include <variant>

#include "compiler/layout/layout.h"
#include "compiler/sema/sema.h"
#include "grammar/parse.h"
#include "tests/fuzz/fuzz_entry.h"
#include "tests/golden/definition_world.h"

namespace {

using kevt::golden::DefinitionWorld;

void require(bool promise) {
  if (!promise) std::abort();
}

void check_mistakes(const std::vector<kevt::diag::Diagnostic>& mistakes) {
  std::uint32_t order = 0;
  for (const kevt::diag::Diagnostic& mistake : mistakes) {
    require(mistake.errno_value > 0);
    require(!mistake.column || *mistake.column <= mistake.command.size() + 1);
    require(mistake.order >= order);
    order = mistake.order;
    render_text(mistake, "-", 1, kevt::diag::Color::Off);
    render_kernel(mistake, 0, 0);
  }
}

// Listing a probe and defining it again gives the same listing.
void check_round_trip(const kevt::sema::CheckedDefinition& checked, const DefinitionWorld& world) {
  const auto& definition = checked.definition;
  const std::string line = kevt::layout::listing(definition, checked.is_deferred ? 0 : world.env().possible_cpus());
  if (line.size() > 4000) return;  // names were added
  // An address is not a symbol again where a probe of it returns; a '#' would begin a comment.
  kevt::diag::Sink sink;
  const auto again = kevt::grammar::parse_line(line, kevt::grammar::EventsFile::Dynamic, sink);
  // Names the kernel makes up from a file's name need not be names it takes.
  if (!sink.empty() && sink.diagnostics().front().kind == kevt::diag::Kind::BadEventName) return;
  require(again.has_value() && std::holds_alternative<kevt::model::Definition>(*again));
  auto rechecked =
      kevt::sema::check_definition(std::get<kevt::model::Definition>(*again), world.env(), world.catalog(), sink);
  require(rechecked.has_value());
  require(kevt::layout::listing(rechecked->definition, checked.is_deferred ? 0 : world.env().possible_cpus()) == line);
}

void check_layout(const kevt::model::Definition& definition, std::span<const std::uint8_t> bytes,
                  const DefinitionWorld& world) {
  kevt::diag::Sink sink;
  const auto layout = kevt::layout::layout_record(definition, sink);
  require(layout.has_value());
  kevt::layout::format_text(definition, *layout, 1);
  kevt::layout::event_text(definition, *layout, bytes, world.env());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using kevt::grammar::EventsFile;
  if (size == 0) return 0;
  static DefinitionWorld world;
  static constexpr EventsFile kFiles[] = {EventsFile::Kprobe, EventsFile::Uprobe, EventsFile::Synthetic,
                                          EventsFile::Dynamic};
  const EventsFile file = kFiles[data[0] % 4];
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  kevt::grammar::tokenize(text);
  for (const kevt::grammar::Line& line : kevt::grammar::split_lines(text)) {
    kevt::diag::Sink sink;
    auto statement = kevt::grammar::parse_line_leniently(line.text, file, sink);
    require(!statement || std::holds_alternative<kevt::model::Definition>(*statement) || sink.empty());
    if (!statement || !std::holds_alternative<kevt::model::Definition>(*statement)) {
      check_mistakes(sink.diagnostics());
      continue;
    }
    const auto checked = kevt::sema::check_definition(std::get<kevt::model::Definition>(std::move(*statement)),
                                                      world.env(), world.catalog(), sink);
    require(checked.has_value() == sink.empty());
    check_mistakes(sink.diagnostics());
    if (!checked) continue;
    check_layout(checked->definition, {data, size}, world);
    if (size % 4 == 0) check_round_trip(*checked, world);  // some, for it doubles the time
  }
  return 0;
}

std::vector<std::string> kevt::fuzz::seeds() {
  return {"\x03p:g/e vfs_read a=+8(+u0(%di)):string[2] $stack3 \\1:u8 \\\"text\"",
          "\x03r10:g/e vfs_read%return ret=$retval:s32 @jiffies+8",
          "\x03p /gold/target:0x1017%return(0x2224) %ax:b3@5/32 @+0x20:x16",
          "\x03"
          "e:g/ sched/sched_switch p=$next_pid:s32 c=$comm if next_pid > 0 && prev_comm ~ \"a*\"",
          "\x03s:lat u64 d; pid_t pid; char comm[16]; char text[]; unsigned long[] st",
          "\x02wakeup unsigned int a; char[8] b",
          "\x01p:e /gold/with:colon:0x10 +0($stack1):ustring $comm",
          "\x04p vfs_write+4294967295 $arg1",
          "\x04p ext4:f+0x10 %ip:symbol %ip:symstr",
          "\x04p 0xffffffff81000010 a=%di b=%si c=%dx:x8",
          "\x03-:g/e vfs_read a=%di",
          "\x03!r10:g/e vfs_read"};
}
