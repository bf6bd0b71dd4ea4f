// Everything a command line says about events: -e, --filter, -B, and files, which are event scripts.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "cli/options/run_options.h"
#include "cli/reporter.h"
#include "compiler/dialect/dialect.h"
#include "compiler/model/histogram.h"
#include "compiler/model/script.h"
#include "compiler/script/check_triggers.h"
#include "compiler/script/compiled_script.h"

namespace kevt::cli {

// An `event` line of a script that names an event which no definition here makes.
struct ForeignEvent {
  model::EventName name;
  Source source;
};

// The events of one instance.
struct InstanceTexts {
  std::string name;                     // empty: the top one
  std::set<model::EventName> events;    // defined or named in it
  std::set<model::EventName> off;       // those of them with `enable 0`
  std::string output;                   // file for its records; for the top one see RunOptions
  std::optional<Source> output_source;  // the script's line that names it

  bool is_on(const model::EventName& event) const { return events.contains(event) && !off.contains(event); }
};

struct Texts {
  std::vector<Source> definitions;
  Filters filters;  // of events defined here
  std::vector<script::TriggerText> triggers;
  std::vector<Source> trigger_sources;
  std::vector<engine::EventInjection> injections;  // of scripts
  std::vector<Source> injection_sources;
  std::vector<ForeignEvent> foreign_events;
  Filters foreign_filters;                             // of foreign_events
  std::vector<std::optional<model::EventName>> names;  // by definition; nullopt: it is wrong, or a deletion
  std::vector<InstanceTexts> instances = std::vector<InstanceTexts>(1);  // the top one first
  std::optional<model::ScriptTarget> target;
  Source target_source;
  model::ScriptOptions options;
  std::map<std::string, Source> option_sources;  // by the option's name
  std::vector<diag::Located> mistakes;           // of the scripts themselves
  std::vector<std::string> scripts;              // text of each file, also of a compiled one
  std::vector<script::CompiledScript> compiled;  // scripts that bring code
  std::vector<std::string> compiled_names;       // their names in messages

  bool is_empty() const;
  InstanceTexts& top() { return instances.front(); }
  const InstanceTexts& top() const { return instances.front(); }
  // The instance of this name; made if there is none.
  InstanceTexts& instance(const std::string& name);
};

struct TextsRequest {
  const std::vector<std::string>& definitions;
  const std::vector<std::string>& files;
  const std::vector<std::string>& filters;  // they win over filters of scripts
  std::span<const InstanceOptions> instances = {};
  bool needs_names = false;  // fill Texts::names even for a plain list of definitions
  dialect::Dialect dialect = dialect::Dialect::superset();
};
// Fails if a file cannot be read, or a filter of the command line names no event.
Result<Texts> collect_texts(const TextsRequest& request);

// Sorts by file, in the order of `files`, then by line.
void sort_mistakes(std::vector<diag::Located>& mistakes, const std::vector<std::string>& files);

// Shows all mistakes on standard error, in the form that was asked for.
void show_mistakes(const Reporter& report, std::vector<diag::Located> mistakes, std::size_t definitions);

// A mistake whose place is the first byte behind the line's first word.
diag::Located mistake_at(diag::Kind kind, const Source& source, std::string detail);

}  // namespace kevt::cli
