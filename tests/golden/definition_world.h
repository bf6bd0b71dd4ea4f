// A tracing directory in miniature: definitions are parsed, checked, laid out and kept; deletions remove them.
//
// What the engine does for real, over a fixed world: a few kernel functions, the files of the corpus' folder and
// some static events. It serves goldens, corpus replay and fuzzing.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/model/definition.h"
#include "compiler/target/fixed_target.h"
#include "grammar/parse.h"

namespace kevt::golden {

struct WriteResult {
  int errno_value = 0;
  std::vector<diag::Diagnostic> mistakes;     // of the line that failed, the kernel's first one first
  std::map<std::string, std::string> format;  // of the events defined that are still there: "group/event" → text
  bool needs_types = false;                   // of the last definition: only the target's types complete it
};

class DefinitionWorld {
 public:
  explicit DefinitionWorld(dialect::Dialect dialect = dialect::Dialect::of(dialect::Kernel::Linux6_1));

  // One write(2): lines in order, the first failing one ends it.
  WriteResult write(grammar::EventsFile file, std::string_view text);
  // The lines of dynamic_events.
  std::vector<std::string> listing() const;

  target::FixedTargetEnv& env() { return env_; }
  const target::FixedTargetEnv& env() const { return env_; }
  const target::FixedCatalog& catalog() const { return catalog_; }

 private:
  bool write_line(grammar::EventsFile file, std::string_view line, WriteResult& result);
  bool define(model::Definition definition, diag::Sink& sink, WriteResult& result);
  int remove(const model::Deletion& deletion, grammar::EventsFile file, WriteResult& result);
  void rebuild(std::string_view group, std::string_view event);

  dialect::Dialect dialect_;
  target::FixedTargetEnv env_;
  target::FixedCatalog catalog_;
  struct Probe {
    model::Definition definition;
    std::string listing;
  };
  std::vector<Probe> probes_;  // in order of definition
};

// The static events of that world.
std::vector<target::CatalogEntry> static_catalog();

// "kprobe_events" → Kprobe
std::optional<grammar::EventsFile> events_file(std::string_view name);
// 22 → "EINVAL", 0 → ""
std::string error_name(int value);

// The folder of the corpus' files, as long as its place-holder "@DIR@".
inline constexpr std::string_view kFolder = "/gold";

}  // namespace kevt::golden
