// The problem: any bytes may be written to a trigger file.
//
// The idea: parse them. Either there is a spec and no diagnostic, or one diagnostic with an errno and a column
// within its command. Spans of an accepted one lie inside its command, and a histogram has keys.
//
// Its filter is only cut out; fuzz_filter.cpp parses filters.
#include <cstdlib>

#include "grammar/parse.h"
#include "tests/fuzz/fuzz_entry.h"

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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  kevt::diag::Sink sink;
  const auto spec = kevt::grammar::parse_trigger({reinterpret_cast<const char*>(data), size}, sink);
  require(spec.has_value() == sink.empty());
  if (spec) {
    check_spec(*spec);
    return 0;
  }
  const kevt::diag::Diagnostic& mistake = sink.diagnostics().front();
  require(sink.diagnostics().size() == 1 && mistake.errno_value > 0);
  require(!mistake.column || *mistake.column <= mistake.command.size());
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
          "!hist:keys=i:vals=v if m == 1"};
}
