// Trigger files in miniature.
//
//   write("uprobes/ta", "traceoff:5\n")  →  read("uprobes/ta") == "traceoff:count=5\n"
//
// Problem: what a trigger does depends on those that are set. Idea: parse and check as the engine does, and
// apply the steps to one table. Not here: hits.
#include "tests/golden/trigger_world.h"

#include <cerrno>

namespace kevt::golden {
namespace {

model::EventName event_name(std::string_view path) {
  const std::size_t slash = path.find('/');
  return {std::string(path.substr(0, slash)), std::string(path.substr(slash + 1))};
}

constexpr std::string_view kEvents[] = {
    "p:ta /gold/target:0x110c i=%di:s32 m=%si:s32 v=%dx:s64 p=%dx\n",
    "p:tb /gold/target:0x111c id=%di:s32 val=%si:s64\n",
    "p:tc /gold/target:0x112a id=%di:s32 val=%si:s64\n",
    "p:ts /gold/target:0x107b s=+0(%di):string n=%si:u64 who=$comm\n",
    "s:tsyn s32 id; s64 d; s32 who\n",
};

}  // namespace

TriggerResult TriggerWorld::write(std::string_view event, std::string_view text) {
  const model::EventName name = event_name(event);
  if (text.empty()) return {};
  if (events_.catalog().find(name.system, name.event) == nullptr) return {.errno_value = ENOENT, .mistakes = {}};
  diag::Sink sink;
  const sema::TriggerWorld world{.catalog = events_.catalog(), .table = table_, .dialect = dialect_};
  auto change = sema::write_trigger(text, name, world, sink);
  if (!change) {
    auto mistakes = sink.take();
    return {.errno_value = mistakes.front().errno_value, .mistakes = std::move(mistakes)};
  }
  apply(change->steps);
  return {.errno_value = 0, .mistakes = std::move(change->remarks)};
}

void TriggerWorld::truncate(std::string_view event) { apply(sema::truncate_triggers(event_name(event), table_)); }

std::string TriggerWorld::read(std::string_view event) const {
  return sema::trigger_file_text(table_.of(event_name(event)));
}

void TriggerWorld::apply(const std::vector<sema::TriggerStep>& steps) {
  for (const sema::TriggerStep& step : steps) table_.apply(step);
}

void define_trigger_events(TriggerWorld& world) {
  for (const std::string_view text : kEvents) world.events().write(grammar::EventsFile::Dynamic, text);
}

}  // namespace kevt::golden
