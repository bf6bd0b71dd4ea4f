// The problem: any bytes may be written to a trigger file.
//
// The idea: parse them, then check them against events on which triggers are set. Where either refuses there is a
// diagnostic with an errno and a column within its command; spans of what is parsed lie inside its command. What
// is taken is applied and listed, one line for each trigger; taking it back as `!TEXT` may be refused, no more.
//
// What a filter may be is fuzz_filter.cpp's.
#include <algorithm>
#include <cstdlib>
#include <string>

#include "compiler/sema/trigger.h"
#include "grammar/parse.h"
#include "tests/fuzz/fuzz_entry.h"
#include "tests/golden/trigger_world.h"

namespace {

void require(bool promise) {
  if (!promise) std::abort();
}

void check_spec(const kevt::model::TriggerSpec& spec) {
  using kevt::model::TriggerKind;
  if (spec.filter) {
    require(spec.filter_span.end == spec.command.size() && spec.filter_span.begin < spec.filter_span.end);
    require(spec.command.substr(spec.filter_span.begin) == *spec.filter);
  }
  bool has_keys = false;
  for (const kevt::model::HistPart& part : spec.hist) {
    require(part.span.begin < part.span.end && part.span.end <= spec.command.size());
    has_keys = has_keys || part.name == "keys";
  }
  require(has_keys == (spec.kind == TriggerKind::Hist));
  const bool switches = spec.kind == TriggerKind::EnableEvent || spec.kind == TriggerKind::DisableEvent ||
                        spec.kind == TriggerKind::EnableHist || spec.kind == TriggerKind::DisableHist;
  require(switches == !spec.target_event.empty() && switches == !spec.target_system.empty());
}

void check_mistakes(const std::vector<kevt::diag::Diagnostic>& mistakes) {
  require(!mistakes.empty());
  for (const kevt::diag::Diagnostic& mistake : mistakes) {
    require(mistake.errno_value > 0);
    require(!mistake.column || *mistake.column <= mistake.command.size() + 1);  // a filter's may be one byte behind
  }
}

using kevt::golden::TriggerWorld;

TriggerWorld make_world() {
  TriggerWorld world;
  kevt::golden::define_trigger_events(world);
  for (const char* text : {"hist:keys=id:t0=val,x=5:ts=common_timestamp.usecs", "hist:name=h:keys=id", "stacktrace"}) {
    require(world.write("uprobes/tb", text).errno_value == 0);
  }
  return world;
}

void check_written(const TriggerWorld& world, const kevt::model::TriggerSpec& spec, const char* event) {
  const kevt::model::EventName name{"uprobes", event};
  kevt::sema::TriggerTable table = world.table();
  kevt::diag::Sink sink;
  const auto change = kevt::sema::check_trigger(spec, name, {world.catalog(), table}, sink);
  require(change.has_value() == sink.empty());
  if (!change) return check_mistakes(sink.diagnostics());
  for (const kevt::sema::TriggerStep& step : change->steps) table.apply(step);
  const auto triggers = table.of(name);
  const std::string text = kevt::sema::trigger_file_text(triggers);
  const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n'));
  require(text.ends_with('\n') && lines >= triggers.size());
  kevt::model::TriggerSpec removal = spec;
  removal.remove = true;
  const auto removed = kevt::sema::check_trigger(removal, name, {world.catalog(), table}, sink);
  require(removed.has_value() == sink.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const TriggerWorld world = make_world();
  kevt::diag::Sink sink;
  const auto spec = kevt::grammar::parse_trigger({reinterpret_cast<const char*>(data), size}, sink);
  require(spec.has_value() == sink.empty());
  if (!spec) {
    require(sink.diagnostics().size() == 1);
    check_mistakes(sink.diagnostics());
    return 0;
  }
  check_spec(*spec);
  for (const char* event : {"ta", "tb", "tc", "ts"}) check_written(world, *spec, event);
  return 0;
}

std::vector<std::string> kevt::fuzz::seeds() {
  return {"traceoff:5 if a > 3",
          "!traceon",
          "snapshot",
          "stacktrace:0x10 if comm ~ 'x*'",
          "enable_event:sched:sched_switch:3 if i == 2",
          "!disable_event:a:b",
          "enable_hist:a:b",
          "disable_hist a:b:1",
          "hist:keys=pid.hex,comm:vals=n,hitcount:sort=n.descending:size=256:clock=mono if m != 3",
          "hist:name=h:keys=common_pid.execname:x=common_timestamp.usecs-$t0,y=1:pause",
          "hist:keys=id:d=val-$t0:onmatch(uprobes.tb).tsyn( id , $d , id ):onmax($d).save(val)",
          "hist:keys=id:onmatch(uprobes.tb).trace(tsyn,id,val,uprobes.tb.id):onchange($d).snapshot()",
          "hist:keys=i.log2,stacktrace:vals=v.hex,p.percent:x=-(v+p)/2*m,y=$x,z=uprobes.tb.$t0",
          "hist:name=h:keys=id:cont:clear",
          "!hist:keys=i:vals=v if m == 1"};
}
