// A .kevo has code for the types of the kernel it was made for: the sizes of members are fixed, their offsets are not.
//
//   mode=file->f_mode      `u16 mode` here, `u32 mode` where it was compiled
//
// Problem: it is only seen that no code fits; the user wants to know which member is to blame. Idea: the event's
// `format` file is kept beside its code; the first field with another type is named. If all fields are alike, only
// reads on the way to them differ, and the whole event is named.
#include "compiler/pipeline/type_mismatch.h"

#include <fmt/format.h>

#include <string_view>

#include "compiler/layout/layout.h"

namespace kevt::pipeline {

namespace {

// Takes the next `field:TYPE NAME;…signed:N;` off the front of `format`; empty: there is no more.
std::string_view next_field(std::string_view& format) {
  constexpr std::string_view kField = "\tfield:";
  const std::size_t at = format.find(kField);
  if (at == std::string_view::npos) return {};
  format.remove_prefix(at + kField.size());
  const std::string_view line = format.substr(0, format.find('\n'));
  format.remove_prefix(line.size());
  return line;
}

std::string_view declaration(std::string_view field) { return field.substr(0, field.find(';')); }

std::string type_mismatch(const CheckedEvent& event, const std::string& made_format) {
  const std::string format = layout::format_text(event.definition, event.layout, 0);
  std::string_view here = format, there = made_format;
  for (;;) {
    const std::string_view now = next_field(here), then = next_field(there);
    if (now.empty() || then.empty()) break;
    if (declaration(now) == declaration(then)) continue;
    return fmt::format("`{}` is `{}` in this kernel, `{}` where the script was compiled", event.definition.command,
                       declaration(now), declaration(then));
  }
  return fmt::format("`{}` takes other reads in this kernel than where the script was compiled",
                     event.definition.command);
}

}  // namespace

Error with_type_mismatches(Error error, std::span<const CheckedEvent* const> events, std::span<const BpfTask> tasks,
                           const BpfRequest& request) {
  if (request.made == nullptr) return error;
  std::string text;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const model::Definition& definition = events[i]->definition;
    const std::string* format = request.made->find_format(definition.group + "/" + definition.event);
    if (!events[i]->uses_target_types || format == nullptr || is_made(tasks[i], *request.made, request.possible_cpus))
      continue;
    text += (text.empty() ? "" : "; ") + type_mismatch(*events[i], *format);
  }
  if (text.empty()) return error;
  return Error(fmt::format("{}; compile it with this kernel's types as well (--btf): {}", text, error.message()),
               error.errno_value());
}

}  // namespace kevt::pipeline
