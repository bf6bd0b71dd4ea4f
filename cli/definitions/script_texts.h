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

// An `event` line that names what is not defined here.
struct ForeignEvent {
  model::EventName name;
  Source source;
};

// What an instance has of the events.
struct InstanceTexts {
  std::string name;                     // empty: the top one
  std::set<model::EventName> events;    // that are defined or named in it
  std::set<model::EventName> off;       // of those; `enable 0`
  std::string output;                   // of its records; of the top one RunOptions has it
  std::optional<Source> output_source;  // the line of the script that names it

  bool is_on(const model::EventName& event) const { return events.contains(event) && !off.contains(event); }
};

struct Texts {
  std::vector<Source> definitions;
  Filters filters;  // of events that are defined here
  std::vector<script::TriggerText> triggers;
  std::vector<Source> trigger_sources;
  std::vector<engine::EventInjection> injections;  // of scripts
  std::vector<Source> injection_sources;
  std::vector<ForeignEvent> foreign_events;
  Filters foreign_filters;                             // of those
  std::vector<std::optional<model::EventName>> names;  // of each definition; absent: it is wrong, or a deletion
  std::vector<InstanceTexts> instances = std::vector<InstanceTexts>(1);  // the top one first
  std::optional<model::ScriptTarget> target;
  Source target_source;
  model::ScriptOptions options;
  std::map<std::string, Source> option_sources;  // by the option's name
  std::vector<diag::Located> mistakes;           // of the scripts themselves
  std::vector<std::string> scripts;              // each file as it was read; of a compiled one its text
  std::vector<script::CompiledScript> compiled;  // those that bring their code
  std::vector<std::string> compiled_names;       // as messages say them

  bool is_empty() const;
  InstanceTexts& top() { return instances.front(); }
  const InstanceTexts& top() const { return instances.front(); }
  // Made where there is none of that name.
  InstanceTexts& instance(const std::string& name);
};

struct TextsRequest {
  const std::vector<std::string>& definitions;
  const std::vector<std::string>& files;
  const std::vector<std::string>& filters;  // these win over those of scripts
  std::span<const InstanceOptions> instances = {};
  bool needs_names = false;  // also of files that are a plain list of definitions
  dialect::Dialect dialect = dialect::Dialect::superset();
};
// Fails when a file cannot be read, or a filter of the command line names no event.
Result<Texts> collect_texts(const TextsRequest& request);

// By file in the order given, then by line.
void sort_mistakes(std::vector<diag::Located>& mistakes, const std::vector<std::string>& files);

// All of them, in the form that was asked for, on standard error.
void show_mistakes(const Reporter& report, std::vector<diag::Located> mistakes, std::size_t definitions);

// A mistake at the first byte behind the first word of a line.
diag::Located mistake_at(diag::Kind kind, const Source& source, std::string detail);

}  // namespace kevt::cli
