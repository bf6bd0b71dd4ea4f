// kevtrace compile: an event script with its machine code, to be run where there is no LLVM.
//
//   kevtrace compile opened.kev -o opened.kevo      kevtrace run opened.kevo -- python3 …
//
// Problem: code belongs to what a definition means, and that may hang on a program's debug information. Idea: keep the
// script beside the code; where it runs it is read, checked and turned into a fetch program again, and the code is
// taken only for the very same program. What types completed is written out in the script that is kept, so that no
// debug information is needed there. Symbols and files are found where it runs.
//
// Code is made for whoever may run it: for the kernel where that is the target; for programs and the kernel where the
// script names no target and its places are ones that a kernel knows, SYMBOL or PATH:OFFSET; else for programs.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/fix_files.h"
#include "cli/launch.h"
#include "cli/report.h"
#include "cli/run_request.h"
#include "compiler/ir/text.h"
#include "compiler/layout/layout.h"
#include "compiler/pipeline/compile.h"
#include "compiler/script/compiled_script.h"
#include "compiler/target/fixed_target.h"
#include "grammar/parse.h"
#include "runtime-user/engine/draft.h"

namespace kevt::cli {

namespace {

bool needs_types(const std::string& definition) {
  diag::Sink unused;
  const auto statement = grammar::parse_line_leniently(definition, grammar::EventsFile::Dynamic, unused);
  const auto* written = statement ? std::get_if<model::Definition>(&*statement) : nullptr;
  return written != nullptr && std::ranges::any_of(written->args, &model::FetchArg::needs_types);
}

// The script with some of its lines replaced.
std::string with_lines(const std::string& text, const std::map<int, std::string>& lines) {
  std::string out;
  int number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const auto replaced = lines.find(++number);
    out += replaced == lines.end() ? text.substr(at, end - at) : replaced->second;
    out += '\n';
    at = end + 1;
  }
  return out;
}

class Compile {
 public:
  Compile(const CompileOptions& options, const GlobalOptions& global) : options_(options), report_(global) {}
  ~Compile() {
    if (held_) end_held(*held_);
  }
  int go();

 private:
  std::optional<int> read();
  std::optional<int> hold();
  std::optional<int> check();
  std::optional<int> generate();
  std::optional<int> generate_native();
  std::optional<int> generate_bpf();
  bool targets_kernel() const;
  bool may_run_in_kernel() const;
  std::optional<int> write() const;
  const target::TargetEnv& env() const {
    if (held_) return *held_->env;
    return unchecked_;
  }

  const CompileOptions& options_;
  Reporter report_;
  std::string text_;
  std::optional<RunRequest> request_;
  std::vector<bool> typed_;  // of each definition
  std::optional<HeldProgram> held_;
  target::UncheckedTargetEnv unchecked_;
  std::vector<pipeline::CheckedEvent> events_;
  std::vector<std::vector<std::optional<model::FilterExpr>>> sinks_;
  script::CompiledScript script_;
};

std::optional<int> Compile::read() {
  auto text = read_whole(options_.script);
  if (!text) {
    report_.error(text.error());
    return kUsage;
  }
  text_ = std::move(*text);
  if (script::is_compiled_script(text_)) {
    report_.error("`" + options_.script + "` is compiled already");
    return kUsage;
  }
  RunOptions run;
  run.definition_files = {options_.script};
  run.command = {"-"};  // whatever it will trace
  int status = kOk;
  request_ = read_run_request(run, report_, status);
  if (!request_) return status;
  for (const Source& source : request_->texts.definitions) typed_.push_back(needs_types(source.text));
  return std::nullopt;
}

// A program, where names of arguments must be looked up: the one named, or the script's own.
std::optional<int> Compile::hold() {
  if (std::ranges::find(typed_, true) == typed_.end()) return std::nullopt;
  if (targets_kernel()) {
    report_.error(
        "fields and names of arguments lie elsewhere in each kernel, and a compiled script cannot follow them; "
        "write `+OFFSET(%REG)` or `$argN`");
    return kNotCompiled;
  }
  std::vector<std::string> command = options_.command;
  const auto* program = request_->texts.target ? std::get_if<model::ProgramTarget>(&*request_->texts.target) : nullptr;
  if (command.empty() && program != nullptr) command = program->command;
  if (command.empty()) {
    report_.error("names of arguments are looked up in a program; give it after --");
    return kUsage;
  }
  int status = kOurFailure;
  held_ = launch_held(command, {.ring_bytes = 64u << 10, .rows = 64}, report_, status);
  return held_ ? std::nullopt : std::optional(status);
}

std::optional<int> Compile::check() {
  engine::Draft draft({});
  std::vector<engine::Problem> problems;
  const Texts& texts = request_->texts;
  draft.check(texts_of(texts.definitions), texts.filters.filters, env(), pipeline::Forms::Runnable, problems);
  if (!problems.empty()) {
    report_.problems(problems, texts.definitions, texts.filters.sources);
    return kNotCompiled;
  }
  std::map<int, std::string> lines;
  for (engine::Draft::Entry& entry : draft.entries()) {
    if (typed_[entry.index]) lines[texts.definitions[entry.index].line] = layout::written_out(entry.event.definition);
    script_.events.push_back({.listing = entry.event.listing,
                              .format = layout::format_text(entry.event.definition, entry.event.layout, 0),
                              .image = script::kNoCode});
    events_.push_back(std::move(entry.event));
    sinks_.push_back({std::move(entry.filter)});
  }
  script_.text = with_lines(text_, lines);
  script_.made_by = "kevtrace " KEVT_VERSION;
  return std::nullopt;
}

bool Compile::targets_kernel() const {
  const auto& target = request_->texts.target;
  return target && std::holds_alternative<model::KernelTarget>(*target);
}

bool Compile::may_run_in_kernel() const {
  if (request_->texts.target) return targets_kernel();
  return std::ranges::all_of(events_, [](const pipeline::CheckedEvent& event) {
    const auto* symbol = std::get_if<model::SymbolPlace>(&event.definition.place);
    return (symbol != nullptr && !symbol->module) || std::holds_alternative<model::FilePlace>(event.definition.place);
  });
}

// A machine that is not known yet.
class AnyMachine final : public target::UncheckedTargetEnv {
 public:
  unsigned possible_cpus() const override { return script::kStoredCpus; }
};

// What the kernel's code cannot do is refused only where it is all there would be.
std::optional<int> Compile::generate_bpf() {
  auto compiled =
      pipeline::compile_events(events_, sinks_, AnyMachine(), pipeline::Artifacts::Unresolved, model::CodeKind::Bpf);
  if (!compiled && targets_kernel()) {
    report_.error(compiled.error());
    return kFailed;
  }
  if (!compiled) {
    report_.status("no code for the kernel: " + compiled.error().message());
    return std::nullopt;
  }
  for (std::size_t i = 0; i < events_.size(); ++i) {
    script_.events[i].program = ir::print(compiled->programs[i]);
    script_.events[i].slots = compiled->batch.events[i].slots;
    script_.events[i].bpf = compiled->batch.events[i].bpf;
  }
  script_.bpf = std::move(compiled->batch.bpf);
  return std::nullopt;
}

std::optional<int> Compile::generate() {
  if (!targets_kernel())
    if (const auto failed = generate_native()) return failed;
  return may_run_in_kernel() ? generate_bpf() : std::nullopt;
}

std::optional<int> Compile::generate_native() {
  auto compiled = pipeline::compile_events(events_, sinks_, env(), pipeline::Artifacts::Unresolved);
  if (!compiled) {
    report_.error(compiled.error());
    return kFailed;
  }
  for (std::size_t i = 0; i < events_.size(); ++i) {
    const model::CompiledEvent& event = compiled->batch.events[i];
    script::StoredEvent& stored = script_.events[i];
    stored.program = ir::print(compiled->programs[i]);
    stored.slots = event.slots;
    stored.image = event.image;
    stored.entry = event.entry;
    stored.code_size = event.code_size;
    stored.block = event.block;
    stored.register_reads = event.register_reads;
  }
  script_.images = std::move(compiled->batch.images);
  return std::nullopt;
}

std::optional<int> Compile::write() const {
  const std::string bytes = script::write_compiled_script(script_);
  if (auto written = write_file(options_.output, bytes); !written) {
    report_.error(written.error());
    return kFailed;
  }
  std::size_t code = 0, kernel = 0;
  for (const script::StoredEvent& event : script_.events) code += event.code_size;
  for (const model::BpfCode& one : script_.bpf) kernel += one.instructions.size() * sizeof(std::uint64_t);
  report_.status(fmt::format("{}: {} events, {} bytes of code, {} for the kernel, {} bytes", options_.output,
                             script_.events.size(), code, kernel, bytes.size()));
  return std::nullopt;
}

int Compile::go() {
  for (const auto step : {&Compile::read, &Compile::hold, &Compile::check, &Compile::generate})
    if (const auto failed = (this->*step)()) return *failed;
  return write().value_or(kOk);
}

}  // namespace

int compile(const CompileOptions& options, const GlobalOptions& global) { return Compile(options, global).go(); }

}  // namespace kevt::cli
