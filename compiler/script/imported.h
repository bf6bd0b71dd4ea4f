// The events that shell files and boot parameters set up, collected in their order and written as an event script.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/model/definition.h"
#include "compiler/model/histogram.h"
#include "compiler/model/script.h"

namespace kevt::script {

// Something that was left out, or is wrong, with the line of the imported text (1-based).
struct ImportMistake {
  int line = 1;
  diag::Diagnostic diagnostic;
};
struct ImportNote {
  int line = 1;
  std::string text;
};
struct ImportResult {
  std::string script;  // in canonical layout
  std::vector<ImportMistake> mistakes;
  std::vector<ImportNote> notes;
};

// The files to which definitions are written.
enum class DefinitionsFile : std::uint8_t { Kprobe, Uprobe, Synthetic, Dynamic };

// The state of the tracing directory that the texts would leave, as far as it is known.
class ImportedEvents {
 public:
  struct Event {
    model::EventName name;
    std::string instance;  // of the switches, filter and triggers; empty: the top one
    std::vector<std::string> comments;
    std::vector<std::string> definitions;  // empty: an event that exists already
    std::vector<model::Definition> parsed;
    std::optional<std::string> filter;
    std::vector<std::string> triggers;
    std::optional<bool> enabled;
  };

  // Applies one line that is written to `file`, without its comment; a blank line does nothing. Mistakes go to `log`; a
  // wrong definition is kept as it is written.
  void write_line(DefinitionsFile file, std::string_view text, int line, ImportResult& log);
  // The file was opened for truncation.
  void clear(DefinitionsFile file);

  struct Instance {
    std::string name;
    std::optional<std::string> output;
  };

  // The event of that name in an instance; it is added if it is not known.
  Event& event(const model::EventName& name, const std::string& instance = {});
  Event* find(const model::EventName& name, const std::string& instance = {});
  // The names of the top instance's events of a group.
  std::vector<model::EventName> names_of(const std::string& system) const;
  Instance& instance(const std::string& name);  // added if it is not known
  void remove_instance(const std::string& name);
  std::vector<Event>& all() { return events_; }
  const std::vector<Event>& all() const { return events_; }

  void add_comment(std::string text) { comments_.push_back(std::move(text)); }
  void drop_comments() { comments_.clear(); }

  model::ScriptOptions options;

  // The script. If no event was enabled, all are on; otherwise events that are off have a line `enable 0`.
  std::string script() const;

 private:
  void define(model::Definition definition, std::string text);
  // False: there is no event of that name, or the deletion means more than is known here.
  bool remove(const model::Deletion& deletion);
  std::string head() const;
  std::string target() const;
  std::string text_of(const Event& event, bool any_on) const;

  std::vector<Event> events_;
  std::vector<Instance> instances_;
  std::vector<std::string> comments_;  // before the next event
};

}  // namespace kevt::script
