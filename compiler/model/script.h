// Script: an event script (*.kev) as written, e.g.  (docs/scripts.md)
//
//   target program /usr/bin/python3 -c 'import os'
//   p:open libc:open64 path=+0(%di):string
//     filter path ~ "/etc/*"
//
// Every line is kept, comments too. Definitions, filters and triggers are texts here: their own parsers read them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "compiler/model/span.h"

namespace kevt::model {

// Definition: any line of dynamic_events, deletions too. Nothing: a blank line, or a comment alone.
enum class ScriptWord : std::uint8_t {
  Nothing,
  Definition,
  Target,
  Option,
  Instance,
  Event,
  Filter,
  Trigger,
  Inject,
  Enable
};

// Whether a line with that word belongs to the event above it.
inline bool is_attached(ScriptWord word) {
  switch (word) {
    case ScriptWord::Filter:
    case ScriptWord::Trigger:
    case ScriptWord::Inject:
    case ScriptWord::Enable:
      return true;
    case ScriptWord::Nothing:
    case ScriptWord::Definition:
    case ScriptWord::Target:
    case ScriptWord::Option:
    case ScriptWord::Instance:
    case ScriptWord::Event:
      return false;
  }
  return false;
}

struct ScriptLine {
  ScriptWord word = ScriptWord::Nothing;
  int number = 1;    // 1-based
  std::string text;  // as written, without '\n'
  Span body;         // in `text`, without blanks around it: the whole definition, otherwise the text behind the word
  Span comment;      // in `text`: '#' and the text behind it; empty: none

  std::string_view body_text() const { return std::string_view(text).substr(body.begin, body.end - body.begin); }
  std::string_view comment_text() const {
    return std::string_view(text).substr(comment.begin, comment.end - comment.begin);
  }
};

struct KernelTarget {};
struct ProgramTarget {
  std::vector<std::string> command;  // the program and its arguments
};
struct PidTarget {
  std::vector<int> pids;
};
struct FileTarget {  // every process that has the file mapped
  std::string path;
};
struct ChosenTarget {  // processes that fit one word of each list that has words, also those that come later
  std::vector<std::string> comms, cgroups, containers;
};
using ScriptTarget = std::variant<KernelTarget, ProgramTarget, PidTarget, FileTarget, ChosenTarget>;

struct ScriptOptions {
  std::optional<std::uint64_t> buffer_kb;      // per CPU
  std::optional<std::string> clock;            // a name of trace_clock
  std::optional<double> seconds;               // how long to trace
  std::optional<std::uint64_t> count;          // events to record at most
  std::optional<std::string> output;           // a file's name
  std::optional<std::vector<int>> event_pids;  // threads: hits of others are not recorded
  std::optional<bool> stack;                   // each hit's stack is recorded, too
  std::optional<bool> overwrite;               // a full buffer keeps the newest records
  std::optional<std::string> with_kernel;      // the kernel is traced beside the target, by this runtime
  std::optional<bool> follow_forks;            // programs that the target executes are traced, too

  // Takes the options of `more` that are not set here.
  void take_missing(const ScriptOptions& more) {
    const auto take = [](auto& mine, const auto& other) {
      if (!mine) mine = other;
    };
    take(buffer_kb, more.buffer_kb);
    take(clock, more.clock);
    take(seconds, more.seconds);
    take(count, more.count);
    take(output, more.output);
    take(event_pids, more.event_pids);
    take(stack, more.stack);
    take(overwrite, more.overwrite);
    take(follow_forks, more.follow_forks);
    take(with_kernel, more.with_kernel);
  }
};

// Whether `name` can be a folder's name and has no control characters: trace lines begin with it.
inline bool is_instance_name(std::string_view name) {
  const auto is_bad = [](char c) { return c == '/' || static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
  return !name.empty() && name != "." && name != ".." && std::ranges::none_of(name, is_bad);
}
inline constexpr std::string_view kInstanceNames = "an instance is named as a folder is: no `/`, not `.` or `..`";

// `instance NAME`: the lines below, up to the next `instance`, belong to this instance.
struct ScriptInstance {
  std::size_t line = 0;  // index into Script::lines
  std::string name;
  std::optional<std::string> output;  // a file's name, for its records
};

// A definition or an `event` line, and the lines that belong to it. All numbers are indices of Script::lines.
struct ScriptEvent {
  std::size_t line = 0;
  std::optional<std::size_t> filter;
  std::vector<std::size_t> triggers;
  std::optional<std::size_t> injection;
  std::optional<std::size_t> enable;
  bool enabled = true;                  // false: defined, and off
  std::optional<std::size_t> instance;  // index into Script::instances; nullopt: the top one
};

struct Script {
  std::vector<ScriptLine> lines;
  std::optional<ScriptTarget> target;
  std::size_t target_line = 0;  // with `target`
  ScriptOptions options;
  std::vector<std::size_t> option_lines;
  std::vector<ScriptInstance> instances;
  std::vector<ScriptEvent> events;
};

}  // namespace kevt::model
