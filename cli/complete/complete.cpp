// Whose value the word is decides.
//
//   -e 'p:open libc:op|      functions of the target that the line names, its types, words of the language
//   --filter 'open: pa|      events of the line or of its recording, and their fields
//   --pid 12|                processes
//   everything else          the words that the option takes, or files
#include "cli/complete/complete.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/complete/known_events.h"
#include "cli/complete/named_target.h"
#include "cli/complete/running_words.h"
#include "cli/exit_status.h"
#include "common/installed_file.h"
#include "common/print.h"
#include "compiler/author/completion.h"
#include "compiler/author/prototypes.h"
#include "compiler/target/process/process_env.h"
#include "runtime-user/runtime/runtime_names.h"

namespace kevt::cli {
namespace {

constexpr std::string_view kBlanks = " \t";

struct Candidates {
  std::vector<Candidate> all;  // whole words, each begins with what is typed
  bool also_files = false;     // so could names of files; the shell knows these
};

class Completer {
 public:
  explicit Completer(const AskedWord& asked) : asked_(asked), typed_(asked.typed) {}

  Candidates complete() {
    static constexpr Row kRows[] = {
        {"event", &Completer::add_definition},
        {"filter", &Completer::add_filter},
        {"trigger", &Completer::add_trigger},
        {"hist", &Completer::add_hist},
        {"inject", &Completer::add_injection},
        {"enable", &Completer::add_enabled},
        {"field", &Completer::add_field},
        {"key", &Completer::add_fields_of_all},
        {"columns", &Completer::add_fields_of_all},
        {"lat", &Completer::add_event_pair},
        {"START", &Completer::add_start},
        {"GLOB", &Completer::add_event_names},
        {"EVENT.FIELD", &Completer::add_field},
        {"GLOB|FILE", &Completer::add_listed},
        {"pid", &Completer::add_pids},
        {"event-pid", &Completer::add_pids},
        {"comm", &Completer::add_comms},
        {"container", &Completer::add_containers},
        {"cgroup", &Completer::add_cgroups},
        {"CMD", &Completer::add_programs},
        {"WORD", &Completer::add_help_words},
    };
    const auto row = std::ranges::find(kRows, asked_.value_of, &Row::value_of);
    if (!asked_.words.empty())
      found_.all = asked_.words;
    else if (row != std::end(kRows))
      (this->*row->add)();
    else
      found_.also_files = is_file_name();
    std::erase_if(found_.all, [&](const Candidate& one) { return !one.text.starts_with(typed_); });
    return std::move(found_);
  }

 private:
  struct Row {
    std::string_view value_of;  // AskedWord::value_of
    void (Completer::*add)();
  };

  void add(std::string text, std::string note = "") { found_.all.push_back({std::move(text), std::move(note)}); }

  // Numbers, times and names that somebody makes up have no candidates.
  bool is_file_name() const {
    static constexpr std::string_view kNames[] = {"probes", "output",   "hist-output", "messages", "input", "before",
                                                  "btf",    "kallsyms", "FILE",        "SCRIPT",   "DIR",   "OUTPUT",
                                                  "A",      "B",        "ARGUMENT",    "ADDRESS"};
    return std::ranges::find(kNames, asked_.value_of) != std::end(kNames);
  }

  // ---- definitions

  void add_definition() {
    static const author::SymbolIndex kNone;
    NamedTarget target(asked_);
    const author::DefinitionPart part = author::part_at(typed_, typed_.size());
    const bool needs_types = part == author::DefinitionPart::Argument || author::place_text(typed_).contains(':');
    const auto found = author::complete_definition(typed_, typed_.size(),
                                                   part == author::DefinitionPart::Place ? target.symbols() : kNone,
                                                   needs_types ? target.env() : nullptr, author::NameMatch::Prefix);
    for (const author::Suggestion& one : found.suggestions) add(typed_.substr(0, found.begin) + one.text, one.note);
  }

  // ---- events and their fields

  const std::vector<KnownEvent>& events() {
    if (!events_) events_ = known_events(asked_);
    return *events_;
  }
  void add_events(std::string_view end = "") {
    for (const KnownEvent& one : events()) add(one.event + std::string(end), one.system);
  }

  // The event whose name and `:` the word begins with; nullptr: none. `at`: where what belongs to it begins.
  const KnownEvent* event_of_word(std::size_t& at) {
    for (const KnownEvent& one : events())
      for (const std::string& name : {one.event, one.system + ':' + one.event, one.system + '/' + one.event})
        if (typed_.starts_with(name + ':')) {
          at = std::min(typed_.find_first_not_of(kBlanks, name.size() + 1), typed_.size());
          return &one;
        }
    return nullptr;
  }

  void add_expression(std::size_t begin, const KnownEvent& event) {
    const std::string_view text = std::string_view(typed_).substr(begin);
    const auto found = author::complete_filter(text, text.size(), event.fields);
    for (const author::Suggestion& one : found.suggestions)
      add(typed_.substr(0, begin + found.begin) + one.text, one.note);
  }

  void add_filter() {
    std::size_t at = 0;
    if (const KnownEvent* event = event_of_word(at)) return add_expression(at, *event);
    add_events(":");
  }

  void add_injection() {
    std::size_t at = 0;
    if (!event_of_word(at)) return add_events(":");
    const std::string lead = typed_.substr(0, std::max(at, typed_.find_last_of(kBlanks) + 1));
    for (const char* word : {"ret=", "probability=", "count=", "seed="}) add(lead + word);
  }

  // "EV:WORDS if EXPRESSION"
  template <std::size_t Count>
  void add_action(const Candidate (&words)[Count], void (Completer::*add_more)(std::size_t, const KnownEvent&)) {
    std::size_t at = 0;
    const KnownEvent* event = event_of_word(at);
    if (!event) return add_events(":");
    if (const std::size_t condition = typed_.find(" if ", at); condition != std::string::npos)
      return add_expression(condition + 4, *event);
    const std::size_t part = std::max(at, typed_.find_last_of(':') + 1);
    if (add_more && typed_.find('=', part) != std::string::npos) return (this->*add_more)(part, *event);
    if (part != at && add_more && !is_hist_part(at)) return;  // a count, or the event of enable_event
    for (const Candidate& word : words)
      if (part == at || word.text.ends_with('=')) add(typed_.substr(0, part) + word.text, word.note);
  }
  // Whether what is typed from `at` on are parts of a histogram: behind `hist:`, or of --hist.
  bool is_hist_part(std::size_t at) const {
    return asked_.value_of == "hist" || std::string_view(typed_).substr(at).starts_with("hist:");
  }

  void add_trigger() {
    std::size_t at = 0;
    if (event_of_word(at) && is_hist_part(at)) return add_hist();
    static const Candidate kWords[] = {{"traceon", "begin to record"},
                                       {"traceoff", "stop recording"},
                                       {"snapshot", "keep what was recorded"},
                                       {"stacktrace", "record the calls under way"},
                                       {"enable_event:", "switch SYSTEM:EVENT on"},
                                       {"disable_event:", "switch SYSTEM:EVENT off"},
                                       {"hist:keys=", "count hits by key"}};
    add_action(kWords, &Completer::add_hist_fields);
  }

  void add_hist() {
    static const Candidate kWords[] = {{"keys=", "fields that hits are counted by"},
                                       {"vals=", "fields that are summed up"},
                                       {"sort=", "a key or value; .descending"},
                                       {"size=", "how many keys there may be"},
                                       {"name=", "a name, for histograms that count together"}};
    add_action(kWords, &Completer::add_hist_fields);
  }

  // Behind `keys=`, `vals=` and `sort=`: fields, and behind a `.` how they are shown.
  void add_hist_fields(std::size_t part, const KnownEvent& event) {
    static const Candidate kModifiers[] = {{"hex", "hexadecimal"},
                                           {"sym", "function of an address"},
                                           {"sym-offset", "function and offset"},
                                           {"execname", "of common_pid"},
                                           {"syscall", "name of a system call"},
                                           {"log2", "powers of two"},
                                           {"buckets=", "equal widths"},
                                           {"usecs", "of a time"},
                                           {"loglinear", "of percentiles"}};
    const std::string_view word = std::string_view(typed_).substr(part);
    const std::size_t begin = part + word.find_last_of("=,.") + 1;
    const std::string lead = typed_.substr(0, begin);
    if (lead.back() == '.') {
      for (const Candidate& one : kModifiers) add(lead + one.text, one.note);
      return;
    }
    for (const std::string& field : event.fields) add(lead + field);
    for (const char* common : {"common_pid", "common_cpu", "common_timestamp", "common_stacktrace"})
      if (word.starts_with("keys=")) add(lead + common, "every event has it");
    if (!word.starts_with("keys=")) add(lead + "hitcount", "how many hits");
  }

  void add_field() {  // EVENT.FIELD
    for (const KnownEvent& one : events())
      for (const std::string& field : one.fields) add(one.event + '.' + field, one.system);
  }
  // Of any event; behind the last ',' or '=' of "time,pid" and "a=b".
  void add_fields_of_all() {
    const std::string lead = typed_.substr(0, typed_.find_last_of(",=") + 1);
    std::set<std::string> names;
    for (const KnownEvent& one : events()) names.insert(one.fields.begin(), one.fields.end());
    for (const std::string& name : names) add(lead + name);
  }
  void add_event_names() { add_events(); }
  void add_event_pair() {  // START,END
    const std::size_t comma = typed_.find(',');
    for (const KnownEvent& one : events())
      add(comma == std::string::npos ? one.event + ',' : typed_.substr(0, comma + 1) + one.event, one.system);
  }
  void add_start() {  // of `lat`: an event, or a definition
    const bool is_definition = typed_.contains(' ') || typed_.contains(':');
    is_definition ? add_definition() : add_events();
  }
  // Of the kernel, too, where the line traces it.
  void add_enabled() {
    add_events();
    if (!asked_.values.contains("with-kernel") &&
        std::ranges::none_of(asked_.values_named("runtime"), runtime::traces_whole_machine))
      return;
    std::ifstream file("/sys/kernel/tracing/available_events");
    for (std::string line; std::getline(file, line);) add(line, "of the kernel");
  }

  // ---- what runs, and what could

  void add_pids() {
    const std::string lead = typed_.substr(0, typed_.find_last_of(',') + 1);
    for (const Candidate& process : process_words()) add(lead + process.text, process.note);
  }
  void add_comms() { add_all(comm_words()); }
  void add_containers() { add_all(container_words()); }
  void add_cgroups() { add_all(cgroup_words(typed_)); }
  void add_programs() {
    found_.also_files = true;
    add_all(program_words(typed_));
  }
  void add_all(const std::set<std::string>& texts) {
    for (const std::string& text : texts) add(text);
  }

  // ---- others

  // Of `list`: functions of the files that the line names, and files.
  void add_listed() {
    found_.also_files = true;
    std::vector<std::string> files;
    for (const std::string& word : asked_.values_named("GLOB|FILE"))
      if (word.contains('/')) files.push_back(word);
    if (typed_.contains('/')) return;
    const auto env = target::ProcessEnv::of_files(files, {});
    if (!env || files.empty()) return;
    auto modules = env->modules();
    for (target::ProcessModule& module : modules) module.is_program = true;  // names stand alone
    const auto symbols = author::SymbolIndex::of_modules(modules);
    for (std::string& name : symbols.places_prefixed(typed_)) add(std::move(name));
  }
  void add_help_words() {
    found_.all = asked_.verbs;
    if (const auto folder = documentation_folder())
      for (std::error_code error; const auto& page : std::filesystem::directory_iterator(*folder, error))
        if (page.path().extension() == ".md") add(page.path().stem(), "a page");
  }

  const AskedWord& asked_;
  const std::string& typed_;
  Candidates found_;
  std::optional<std::vector<KnownEvent>> events_;
};

}  // namespace

int print_candidates(const AskedWord& asked) {
  const Candidates found = Completer(asked).complete();
  std::set<std::string> printed;
  for (const Candidate& one : found.all) {
    std::string note = one.note;
    std::ranges::replace(note, '\n', ' ');
    std::string text = asked.lead + one.text;
    text.erase(0, std::min(asked.kept, text.size()));
    if (text.contains('\n') || !printed.insert(text).second) continue;
    print("{}{}{}\n", text, note.empty() ? "" : "\t", note);
  }
  return found.also_files ? kFailed : kOk;
}

}  // namespace kevt::cli
