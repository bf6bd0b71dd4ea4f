// kevtrace compile: an event script with its machine code, to be run where there is no LLVM.
//
//   kevtrace compile opened.kev -o opened.kevo      kevtrace run opened.kevo -- python3 …
//
// Problem: code belongs to what a definition means, and that may hang on types. Idea: keep the script beside the code;
// where it runs it is read, checked and turned into a fetch program again, and the code is taken only for the very same
// program. What a program's debug information completed is written out in the script that is kept, so that none is
// needed there. A kernel's types are there wherever it runs: names stay, offsets stay open in the code, and the same
// events may be compiled with the types of several kernels, where members have other sizes. Symbols and files are found
// where it runs.
//
// Code is made for every runtime that may run the script. If the target is the kernel: for the kernel. If the script
// names no target and its places may be the kernel's (SYMBOL or PATH:OFFSET): for programs and the kernel. Otherwise:
// for programs.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/definitions/fix_files.h"
#include "cli/definitions/run_request.h"
#include "cli/exit_status.h"
#include "cli/reporter.h"
#include "cli/verbs/commands.h"
#include "compiler/ir/text.h"
#include "compiler/layout/layout.h"
#include "compiler/pipeline/compile.h"
#include "compiler/pipeline/front.h"
#include "compiler/pipeline/shared_bpf.h"
#include "compiler/script/compiled_script.h"
#include "compiler/script/event_name.h"
#include "compiler/target/fixed_target.h"
#include "compiler/target/kernel/kernel_of_types.h"
#include "grammar/parse.h"
#include "runtime-user/engine/events/draft.h"
#include "runtime-user/session/launch.h"

namespace kevt::cli {

namespace {

bool needs_types(const std::string& definition) {
  diag::Sink unused;
  const auto statement = grammar::parse_line_leniently(definition, grammar::EventsFile::Dynamic, unused);
  const auto* written = statement ? std::get_if<model::Definition>(&*statement) : nullptr;
  return written != nullptr && pipeline::needs_types(*written);
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

constexpr const char* kTypesOfThisKernel = "/sys/kernel/btf";

std::string place_and_name_of(const script::StoredEvent& event) {
  return event.listing.substr(0, event.listing.find(' '));
}

class Compile {
 public:
  Compile(const CompileOptions& options, const GlobalOptions& global) : options_(options), report_(global) {}
  ~Compile() {
    if (held_) session::end_held(*held_);
  }
  int go();

 private:
  std::optional<int> read();
  std::optional<int> compile_for_kernels();
  std::optional<int> compile_for_kernel(const std::string& btf);
  std::optional<int> compile_for_programs();
  std::optional<int> hold();
  std::optional<int> check(const target::TargetEnv& env);
  Filters filters_of_hits() const;
  std::optional<int> generate_native();
  std::optional<int> generate_bpf();
  void keep_new();
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
  std::optional<session::HeldProgram> held_;
  target::UncheckedTargetEnv unchecked_;
  script::CompiledScript script_;
  // For the kernel or the programs, whichever is compiled for now.
  std::vector<pipeline::CheckedEvent> events_;
  std::vector<std::size_t> sources_;  // the definition of each
  std::vector<std::vector<std::optional<model::FilterExpr>>> sinks_;
  std::vector<script::StoredEvent> stored_;
  std::vector<model::BpfCode> bpf_;
};

std::optional<int> Compile::read() {
  RunOptions run;
  run.definition_files = {options_.script};
  run.command = {"-"};  // stands for any command
  run.unsafe = true;    // nothing is traced now; `run` asks for --unsafe
  int status = kOk;
  request_ = read_run_request(run, report_, status);
  if (!request_) return status;
  if (!request_->texts.compiled.empty()) {
    report_.error("`" + options_.script + "` is compiled already");
    return kUsage;
  }
  text_ = request_->texts.scripts.front();
  for (const Source& source : request_->texts.definitions) typed_.push_back(needs_types(source.text));
  return std::nullopt;
}

std::optional<int> Compile::compile_for_kernels() {
  if (!options_.command.empty()) {
    report_.error("names of arguments of the kernel are looked up in its BTF (--btf), not in a program");
    return kUsage;
  }
  script_.text = text_;
  std::vector<std::string> kernels = options_.btf;
  const bool typed = std::ranges::find(typed_, true) != typed_.end();
  if (kernels.empty()) kernels = {typed ? kTypesOfThisKernel : ""};
  for (const std::string& btf : kernels)
    if (const auto failed = compile_for_kernel(btf)) return failed;
  return std::nullopt;
}

std::optional<int> Compile::compile_for_kernel(const std::string& btf) {
  const target::KernelOfTypes kernel(btf, script::kStoredCpus);
  if (auto read = kernel.read(); !read) {
    const bool chosen = !options_.btf.empty();
    report_.error(
        std::move(read.error())
            .while_doing(chosen ? "reading a kernel's types" : "looking for the kernel's types; give --btf FILE"));
    return chosen ? kUsage : kMissing;
  }
  if (options_.btf.size() > 1) report_.status("for the kernel of `" + btf + "`");
  if (const auto failed = check(kernel)) return failed;
  if (const auto failed = generate_bpf()) return failed;
  keep_new();
  return std::nullopt;
}

std::optional<int> Compile::compile_for_programs() {
  if (!options_.btf.empty()) {
    report_.error("--btf tells a kernel's types: it is for scripts with `target kernel`");
    return kUsage;
  }
  if (const auto failed = hold()) return failed;
  if (const auto failed = check(env())) return failed;
  std::map<int, std::string> lines;
  for (std::size_t i = 0; i < events_.size(); ++i) {
    pipeline::CheckedEvent& event = events_[i];
    if (event.uses_target_types)
      lines[request_->texts.definitions[sources_[i]].line] = layout::written_out(event.definition);
    event.uses_target_types = false;  // the types need not exist where it runs
  }
  script_.text = with_lines(text_, lines);
  if (const auto failed = generate_native()) return failed;
  if (may_run_in_kernel())
    if (const auto failed = generate_bpf()) return failed;
  keep_new();
  return std::nullopt;
}

// The program in which argument names are looked up: that of the command line, or the script's own.
std::optional<int> Compile::hold() {
  if (std::ranges::find(typed_, true) == typed_.end()) return std::nullopt;
  std::vector<std::string> command = options_.command;
  const auto* program = request_->texts.target ? std::get_if<model::ProgramTarget>(&*request_->texts.target) : nullptr;
  if (command.empty() && program != nullptr) command = program->command;
  if (command.empty()) {
    report_.error("names of arguments are looked up in a program; give it after --, or write `target kernel`");
    return kUsage;
  }
  int status = kOurFailure;
  held_ = session::launch_held(command, {.ring_bytes = 64u << 10, .rows = 64}, report_, status);
  return held_ ? std::nullopt : std::optional(status);
}

// If only one instance has the event on, hits check its filter; otherwise the reader checks the filters.
Filters Compile::filters_of_hits() const {
  const Texts& texts = request_->texts;
  Filters asked;
  for (std::size_t i = 0; i < texts.filters.filters.size(); ++i) {
    const engine::EventFilter& filter = texts.filters.filters[i];
    const model::EventName name = script::split_event_name(filter.event);
    const auto is_on = [&](const InstanceTexts& instance) { return instance.is_on(name); };
    const auto of = std::ranges::find(texts.instances, filter.instance, &InstanceTexts::name);
    const bool is_named = std::ranges::any_of(texts.instances, is_on);
    if (is_named && (!is_on(*of) || std::ranges::count_if(texts.instances, is_on) > 1)) continue;
    asked.filters.push_back(filter);
    asked.sources.push_back(texts.filters.sources[i]);
  }
  return asked;
}

std::optional<int> Compile::check(const target::TargetEnv& env) {
  engine::Draft draft;
  std::vector<engine::Problem> problems;
  const Texts& texts = request_->texts;
  engine::Draft all;
  all.check(texts_of(texts.definitions), texts.filters.filters, env, pipeline::Forms::Runnable, problems);
  if (!problems.empty()) {
    report_.problems(problems, {.definitions = texts.definitions, .filters = texts.filters.sources});
    return kNotCompiled;
  }
  draft.check(texts_of(texts.definitions), filters_of_hits().filters, env, pipeline::Forms::Runnable, problems);
  events_.clear();
  sources_.clear();
  sinks_.clear();
  stored_.clear();
  for (engine::Draft::Entry& entry : draft.entries()) {
    stored_.push_back({.listing = entry.event.listing,
                       .format = layout::format_text(entry.event.definition, entry.event.layout, 0),
                       .image = script::kNoCode});
    sources_.push_back(entry.index);
    events_.push_back(std::move(entry.event));
    sinks_.push_back({std::move(entry.filter)});
  }
  return std::nullopt;
}

// Keeps the compiled events, except those that code of an earlier kernel already serves.
void Compile::keep_new() {
  std::map<std::uint32_t, std::uint32_t> places;
  for (script::StoredEvent& event : stored_) {
    const auto serves = [&](const script::StoredEvent& earlier) {
      return place_and_name_of(earlier) == place_and_name_of(event) && earlier.program == event.program;
    };
    if (std::ranges::any_of(script_.events, serves)) continue;
    if (event.bpf != script::kNoCode) {
      const auto [place, added] = places.try_emplace(event.bpf, static_cast<std::uint32_t>(script_.bpf.size()));
      if (added) script_.bpf.push_back(bpf_[event.bpf]);
      event.bpf = place->second;
    }
    script_.events.push_back(std::move(event));
  }
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

// The machine on which the code will run, which is not known yet.
class AnyMachine final : public target::UncheckedTargetEnv {
 public:
  unsigned possible_cpus() const override { return script::kStoredCpus; }
};

// What the kernel's code cannot do is an error only if no other code is made.
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
  bpf_ = std::move(compiled->batch.bpf);
  for (std::size_t i = 0; i < events_.size(); ++i) {
    const model::CompiledEvent& event = compiled->batch.events[i];
    script::StoredEvent& stored = stored_[i];
    stored.slots = event.slots;
    stored.bpf = event.bpf;
    stored.program = pipeline::bpf_key({.program = &compiled->programs[i],
                                        .name = "",
                                        .context = bpf_[event.bpf].context,
                                        .uses_target_types = events_[i].uses_target_types},
                                       codegen::BpfNumbers::Open);
  }
  return std::nullopt;
}

std::optional<int> Compile::generate_native() {
  auto compiled = pipeline::compile_events(events_, sinks_, env(), pipeline::Artifacts::Unresolved);
  if (!compiled) {
    report_.error(compiled.error());
    return kFailed;
  }
  for (std::size_t i = 0; i < events_.size(); ++i) {
    const model::CompiledEvent& event = compiled->batch.events[i];
    script::StoredEvent& stored = stored_[i];
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
                             request_->texts.definitions.size(), code, kernel, bytes.size()));
  return std::nullopt;
}

int Compile::go() {
  if (const auto failed = read()) return *failed;
  script_.made_by = "kevtrace " KEVT_VERSION;
  if (const auto failed = targets_kernel() ? compile_for_kernels() : compile_for_programs()) return *failed;
  return write().value_or(kOk);
}

}  // namespace

int compile(const CompileOptions& options, const GlobalOptions& global) { return Compile(options, global).go(); }

}  // namespace kevt::cli
