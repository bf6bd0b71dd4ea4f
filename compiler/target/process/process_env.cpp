// A process as the compiler sees it: which symbol lies at which address.
//
// /proc/PID/maps gives the loaded files, ElfImage what is in them; an address in the process is an
// image address plus the file's load bias. Example, `p libc:open`: `libc` matches libc.so.6 at bias
// 0x7f0012000000, `open` is at 0xf6a40 there, so the probe is at 0x7f00120f6a40.
// A name without a module must mean one place in everything that is loaded, as a kernel symbol must
// (NON_UNIQ_SYMBOL); names a file merely imports are no definitions, and aliases at one address are one.
// A name that no file of a program has may be the kernel's: then the error says so and offers no near misses.
// Code of a JIT compiler is one more object, whose image is made from the perf map (jit_code.h).
// Not done: the vdso, symbols of deleted files that this process may not read.
#include "compiler/target/process/process_env.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <utility>
#include <variant>

#include "compiler/target/elf/instruction_start.h"
#include "compiler/target/elf/mapped_file.h"
#include "compiler/target/elf/source_names.h"
#include "compiler/target/glob_matches.h"
#include "compiler/target/kernel/kernel_names.h"
#include "compiler/target/near_misses.h"
#include "compiler/target/process/process_env_state.h"
#include "compiler/target/process/process_thread_locals.h"

namespace kevt::target {
namespace {

constexpr std::uint32_t kStackSlots = 16384 / 8;  // THREAD_SIZE / word, as in the kernel

}  // namespace

namespace {

Symbol make_symbol(const Loaded& loaded, const ElfSymbol& symbol) {
  return {.name = std::string(symbol.name),
          .module = loaded.module.is_program ? std::string{} : loaded.module.name,
          .address = symbol.address.value + loaded.module.bias,
          .size = symbol.size};
}

// What is wrong with the first of `objects` that is in trouble. If they are simply all loaded objects, those without an
// image do not count: some mapped files are no ELF files.
std::string first_trouble(const std::vector<Loaded*>& objects, bool were_asked_for) {
  for (const Loaded* loaded : objects)
    if (std::string trouble = trouble_with(*loaded); !trouble.empty() && (were_asked_for || loaded->image))
      return trouble;
  return "";
}

}  // namespace

std::vector<Loaded*> ProcessEnv::State::matching(std::string_view module) {
  std::vector<Loaded*> found;
  for (Loaded& loaded : objects) {
    if (module_matches(loaded, module)) found.push_back(&loaded);
  }
  if (!found.empty()) return found;
  for (Loaded& loaded : objects) {  // sonames need the files, so they come last
    const ElfImage* image = image_of(loaded);
    if (image && !image->soname().empty() && (image->soname() == module || library_stem(image->soname()) == module)) {
      found.push_back(&loaded);
    }
  }
  if (!found.empty() || !pid || !is_started_as(pid, module)) return found;
  for (Loaded& loaded : objects)
    if (loaded.module.is_program) found.push_back(&loaded);
  return found;
}

Loaded* ProcessEnv::State::covering(RemoteAddr address) {
  for (Loaded& loaded : objects) {
    if (loaded.covers(address)) return image_of(loaded) ? &loaded : nullptr;
  }
  // .bss is mapped without the file, behind the object's own mappings.
  for (Loaded& loaded : objects) {
    if (loaded.object.ranges.empty() || address < loaded.object.start() || !image_of(loaded)) continue;
    if (loaded.image->is_mapped({address.value - loaded.module.bias})) return &loaded;
  }
  return nullptr;
}

std::optional<RemoteAddr> ProcessEnv::State::choice_of(RemoteAddr resolver) {
  if (const auto known = choices.find(resolver); known != choices.end()) return known->second;
  const auto chosen = options.resolve_ifuncs({&resolver, 1});
  if (!chosen) return std::nullopt;
  return choices[resolver] = chosen->front();
}

// An indirect function is what its resolver chooses; sizes come from what lies at the final address.
std::expected<Symbol, LookupError> ProcessEnv::State::finish_function(const Found& found, std::string_view name) {
  Symbol symbol = make_symbol(*found.loaded, found.symbol);
  symbol.name = std::string(name.substr(0, name.find('@')));
  Loaded* home = found.loaded;
  if (found.symbol.kind == SymbolKind::IFunc) {
    if (!options.resolve_ifuncs) return failure(LookupFailure::NotChecked);
    const std::optional<RemoteAddr> chosen = choice_of(found.address());
    if (!chosen) return failure(LookupFailure::NotFound);
    home = covering(*chosen);
    if (!home) return failure(LookupFailure::NotFound);
    symbol.module = home->module.is_program ? std::string{} : home->module.name;
    symbol.address = chosen->value;
    symbol.size = 0;
  }
  if (symbol.size != 0) return symbol;
  const auto range = image_of(*home)->function_containing({symbol.address - home->module.bias});
  if (range && range->start.value == symbol.address - home->module.bias) symbol.size = range->size;
  return symbol;
}

namespace {

// Whether the tracer put `object` into the process: such files are not part of the traced program.
bool is_machinery(const LoadedObject& object, const Blacklist& blacklisted) {
  return blacklisted && std::ranges::any_of(object.ranges, [&](const Mapping& mapping) {
           return mapping.executable && blacklisted(mapping.start);
         });
}

bool is_jit(const Loaded& loaded) { return loaded.image && loaded.image->is_jit(); }

// The same file at the same place.
bool is_same(const LoadedObject& one, const LoadedObject& other) {
  return one.inode == other.inode && one.device_major == other.device_major && one.device_minor == other.device_minor &&
         one.start() == other.start();
}

}  // namespace

ProcessEnv::ProcessEnv(std::unique_ptr<State> state) : state_(std::move(state)) {}
ProcessEnv::ProcessEnv(ProcessEnv&&) noexcept = default;
ProcessEnv& ProcessEnv::operator=(ProcessEnv&&) noexcept = default;
ProcessEnv::~ProcessEnv() = default;

Result<ProcessEnv> ProcessEnv::of_process(pid_t pid, ProcessEnvOptions options) {
  auto state = std::make_unique<State>();
  state->pid = pid;
  state->options = std::move(options);
  ProcessEnv env(std::move(state));
  KEVT_TRY(env.refresh());
  return env;
}

// Keeps the images of files that are mapped as before. A process that has ended maps nothing: then everything known of
// it is kept.
Result<bool> ProcessEnv::refresh() {
  auto maps = KEVT_TRY(read_maps(state_->pid));
  if (maps.empty() && !state_->maps.empty()) return false;
  bool has_changed = false;
  std::vector<Loaded> known = std::exchange(state_->objects, {});
  state_->debug.clear();  // its keys point to the old objects, as those of `lines` do
  state_->lines.clear();
  state_->choices.clear();
  state_->maps = std::move(maps);
  const std::optional<FileId> program = file_id(fmt::format("/proc/{}/exe", state_->pid));
  for (LoadedObject& object : loaded_objects(state_->maps)) {
    if (is_machinery(object, state_->options.blacklisted)) continue;
    Loaded loaded;
    const auto before = std::ranges::find_if(known, [&](const Loaded& one) { return is_same(one.object, object); });
    if (before != known.end()) {
      loaded = std::move(*before);
      known.erase(before);
    } else {
      has_changed = true;
      loaded.open_image = state_->options.open_image;
      loaded.open_path = readable_path(state_->pid, object);
      loaded.id = file_id(loaded.open_path);
      loaded.module = {.name = std::string(base_name(object.path)), .path = object.path, .open_path = loaded.open_path};
      loaded.module.is_program = loaded.id && loaded.id == program;
    }
    loaded.object = std::move(object);
    state_->objects.push_back(std::move(loaded));
  }
  const auto jit_before = state_->jit_version;
  has_changed = has_changed || std::ranges::any_of(known, [](const Loaded& one) { return !is_jit(one); });
  state_->add_jit(std::move(known));
  return has_changed || state_->jit_version != jit_before;
}

// Makes the image again if the perf map has changed.
void ProcessEnv::State::add_jit(std::vector<Loaded> known) {
  why_no_jit.clear();
  const auto version = perf_map_version(pid);
  if (!version) return jit_version.reset();
  const auto before = std::ranges::find_if(known, is_jit);
  if (before != known.end() && version == jit_version) return objects.push_back(std::move(*before));
  auto code = read_jit_code(pid, maps, options.restore_text);
  if (!code) why_no_jit = code.error().message();
  if (!code || !*code) return;
  jit_version = (*code)->version;
  Loaded loaded;
  loaded.module = {.name = std::string(kJitModule), .path = std::string(kJitModule)};
  loaded.object.path = kJitModule;
  loaded.object.ranges = std::move((*code)->ranges);
  loaded.tried = true;
  loaded.image = std::make_shared<const ElfImage>(std::move((*code)->image));
  objects.push_back(std::move(loaded));
}

void ProcessEnv::keep_files() {
  for (Loaded& loaded : state_->objects) (void)image_of(loaded);
}

Result<ProcessEnv> ProcessEnv::of_files(const std::vector<std::string>& paths, ProcessEnvOptions options) {
  auto state = std::make_unique<State>();
  state->options = std::move(options);
  for (const std::string& path : paths) {
    auto image = KEVT_TRY(state->options.open_image(path));
    Loaded loaded;
    loaded.module = {
        .name = std::string(base_name(path)), .path = path, .open_path = path, .is_program = image->is_program()};
    loaded.open_path = path;
    loaded.id = file_id(path);
    loaded.tried = true;
    loaded.image = std::move(image);
    state->objects.push_back(std::move(loaded));
  }
  return ProcessEnv(std::move(state));
}

namespace {

// All candidates in `objects`, one per object and address.
template <class Find>
std::vector<Found> collect(const std::vector<Loaded*>& objects, Find find) {
  std::vector<Found> found;
  for (Loaded* loaded : objects) {
    const ElfImage* image = image_of(*loaded);
    if (!image) continue;
    for (const ElfSymbol& symbol : find(*image)) found.push_back({loaded, symbol});
  }
  return found;
}

// Names of the source are matched only if the file is named, too: some library or other has a method `open`.
std::vector<Found> functions_named(const std::vector<Loaded*>& objects, bool is_file_named, std::string_view name) {
  auto found = collect(objects, [name](const ElfImage& image) { return image.find_functions(name); });
  if (!found.empty() || !is_file_named) return found;
  return collect(objects, [name](const ElfImage& image) { return image.find_functions_of_source(name); });
}

std::vector<std::string> near_misses(const std::vector<Loaded*>& objects, std::string_view name, SymbolKind kind) {
  NearMisses misses(name);
  for (Loaded* loaded : objects) {
    const ElfImage* image = image_of(*loaded);
    if (!image) continue;
    for (const ElfSymbol& symbol : image->symbols()) {
      const bool data = symbol.kind == SymbolKind::Object;
      if (data == (kind == SymbolKind::Object)) misses.consider(symbol.name, loaded->module.name);
    }
  }
  return misses.best();
}

// One more candidate; `place` tells it from one that reads the same.
void list(std::vector<std::string>& texts, std::string text, std::uint64_t place) {
  if (std::ranges::find(texts, text) != texts.end()) text += fmt::format(" at {:#x}", place);
  texts.push_back(std::move(text));
}

std::vector<std::string> labels(const std::vector<Found>& found) {
  std::vector<std::string> texts;
  for (const Found& one : found) list(texts, label(*one.loaded, one.symbol), one.address().value);
  return texts;
}

// Not memory that was never a file (memfd, shared memory), nor a device.
bool was_a_file(const LoadedObject& object) {
  return !object.ranges.empty() &&
         std::ranges::none_of(std::initializer_list<std::string_view>{"/memfd:", "/SYSV", "/dev/"},
                              [&](std::string_view lead) { return object.path.starts_with(lead); });
}

// Why the first of `objects` that may have the function, and that cannot be read, is unreadable; empty: there is none.
std::string unreadable_among(const std::vector<Loaded*>& objects) {
  for (Loaded* loaded : objects)
    if (!image_of(*loaded) && loaded->open_path.empty() && was_a_file(loaded->object))
      return unreadable_text(loaded->object);
  return "";
}

std::vector<Loaded*> all_of(std::vector<Loaded>& objects) {
  std::vector<Loaded*> all;
  for (Loaded& loaded : objects) all.push_back(&loaded);
  return all;
}

}  // namespace

std::expected<Symbol, LookupError> ProcessEnv::find_function(std::optional<std::string_view> module,
                                                             std::string_view name) const {
  const std::vector<Loaded*> objects = module ? state_->matching(*module) : all_of(state_->objects);
  if (module == kJitModule && objects.empty() && !state_->why_no_jit.empty())
    return std::unexpected(LookupError{.why = state_->why_no_jit});
  if (module && objects.empty()) return failure(LookupFailure::ModuleMissing);
  const bool is_of_jit = module == kJitModule && std::ranges::all_of(objects, [](auto* one) { return is_jit(*one); });
  auto found = functions_named(objects, module.has_value(), name);
  std::erase_if(found, [](const Found& one) { return !trouble_with(*one.loaded).empty(); });
  if (found.empty()) {
    const bool is_glob = name.find_first_of("*?[") != std::string_view::npos;
    if (is_of_jit && !is_glob) return failure(LookupFailure::ModuleMissing);  // it may be compiled later
    if (std::string trouble = first_trouble(objects, module.has_value()); !trouble.empty())
      return std::unexpected(LookupError{.why = std::move(trouble)});
    if (!module && state_->options.becomes_others) return failure(LookupFailure::ModuleMissing);
    if (std::string reason = unreadable_among(objects); !reason.empty())
      return failure(LookupFailure::NotFound, {}, std::move(reason));
    if (!module && state_->pid && is_kernel_function(name))
      return failure(
          LookupFailure::NotFound, {},
          "it is a function of the kernel, which `--runtime bpf` and `--with-kernel` trace, not of the program");
    if (const std::string_view plain = qualified_name(name); plain != name)  // perhaps an overload
      if (const auto others = functions_named(objects, module.has_value(), plain); !others.empty())
        return failure(LookupFailure::NotFound, labels(others));
    return failure(LookupFailure::NotFound, near_misses(objects, name, SymbolKind::Function));
  }
  if (found.size() > 1) return failure(LookupFailure::NotUnique, labels(found));
  return state_->finish_function(found.front(), name);
}

std::vector<std::string> ProcessEnv::functions_matching(std::optional<std::string_view> module,
                                                        std::string_view glob) const {
  GlobMatches matches(glob);
  for (Loaded* loaded : module ? state_->matching(*module) : all_of(state_->objects)) {
    const ElfImage* image = image_of(*loaded);
    if (!image) continue;
    for (const ElfSymbol& symbol : image->symbols()) {
      if (symbol.kind == SymbolKind::Object) continue;
      if (image->is_jit()) {
        matches.consider(jit_function_name(symbol.name));  // not the whole line of the perf map
        continue;
      }
      matches.consider(symbol.name);
      if (may_be_mangled(symbol.name) && matches.may_match_in(symbol.name))  // demangling costs
        matches.consider(symbol.name, qualified_name(source_name(symbol.name)));
    }
  }
  return matches.take();
}

// Each call of resolvers stops the target, so they are all run in one call. Failures are ignored: find_function() meets
// and reports them again.
void ProcessEnv::expect_functions(std::span<const FunctionName> names) const {
  if (!state_->options.resolve_ifuncs) return;
  std::set<RemoteAddr> wanted;
  for (const auto& [module, name] : names) {
    const std::vector<Loaded*> objects = module ? state_->matching(*module) : all_of(state_->objects);
    const auto found = functions_named(objects, module.has_value(), name);
    if (found.size() == 1 && found.front().symbol.kind == SymbolKind::IFunc &&
        !state_->choices.contains(found.front().address()))
      wanted.insert(found.front().address());
  }
  if (wanted.empty()) return;
  const std::vector<RemoteAddr> resolvers(wanted.begin(), wanted.end());
  const auto chosen = state_->options.resolve_ifuncs(resolvers);
  for (std::size_t i = 0; chosen && i < resolvers.size(); ++i) state_->choices[resolvers[i]] = (*chosen)[i];
}

std::expected<FunctionTypes, TypesError> ProcessEnv::function_types(std::optional<std::string_view> module,
                                                                    std::string_view name) const {
  const auto function = find_function(module, name);
  Loaded* loaded = function ? state_->covering({function->address}) : nullptr;
  if (!loaded) return std::unexpected(TypesError{});
  if (has_other_arguments(name))
    return std::unexpected(TypesError{
        TypesFailure::Missing, fmt::format("it is a copy of `{0}` that the compiler has made, with other arguments; "
                                           "`{1}:{0}` has those whose names are known",
                                           copied_function(name), module.value_or("FILE"))});
  if (is_jit(*loaded))
    return std::unexpected(TypesError{TypesFailure::Missing, "a JIT compiler leaves no debug information"});
  const auto types = state_->debug.try_emplace(loaded, loaded->open_path).first;
  return types->second.function_at({function->address - loaded->module.bias}, name);
}

std::expected<Symbol, LookupError> ProcessEnv::State::place_of(const Loaded& loaded,
                                                               const ThreadLocalVariable& variable) const {
  const auto place = thread_local_place(*loaded.image, loaded.module.bias, pid, variable.offset);
  if (!place && pid == 0) return failure(LookupFailure::NotChecked);
  const auto refused = [&](std::string_view why) {
    return failure(LookupFailure::NotFound, {},
                   fmt::format("`{}` of {} is thread-local: {}", variable.name, loaded.module.name, why));
  };
  if (!place) return refused(place.error());
  const bool is_musl = std::ranges::any_of(objects, [](const Loaded& other) {
    return other.module.name.starts_with("ld-musl") || other.module.name.starts_with("libc.musl");
  });
  if (!place->is_static && is_musl) return refused("musl keeps it where the hit cannot find it");
  return Symbol{.name = std::string(variable.name),
                .module = loaded.module.is_program ? std::string{} : loaded.module.name,
                .size = variable.size,
                .thread_local_place = *place};
}

std::expected<Symbol, LookupError> ProcessEnv::find_data(std::string_view name) const {
  std::vector<Loaded*> objects = all_of(state_->objects);
  if (const std::size_t colon = name.find(':'); colon != std::string_view::npos) {
    objects = state_->matching(name.substr(0, colon));
    name = name.substr(colon + 1);
    if (objects.empty()) return failure(LookupFailure::ModuleMissing);
  }
  struct Candidate {
    const Loaded* loaded;
    std::variant<ElfSymbol, ThreadLocalVariable> what;
    bool wins;  // a library's of that name is not meant
  };
  std::vector<Candidate> found;
  for (Loaded* loaded : objects) {
    const ElfImage* image = image_of(*loaded);
    if (!image || !trouble_with(*loaded).empty()) continue;
    const bool is_program = loaded->module.is_program;
    for (const ElfSymbol& one : image->find_objects(name))
      found.push_back({loaded, one, is_program && one.binding != SymbolBinding::Local});
    for (const ThreadLocalVariable& one : image->find_thread_locals(name))
      found.push_back({loaded, one, is_program && !one.is_local});
  }
  if (found.empty()) return failure(LookupFailure::NotFound, near_misses(objects, name, SymbolKind::Object));
  if (const auto winner = std::ranges::find_if(found, &Candidate::wins); winner != found.end()) found = {*winner};
  if (found.size() > 1) {
    std::vector<std::string> texts;
    for (const Candidate& one : found) {
      const Loaded& loaded = *one.loaded;
      if (const auto* symbol = std::get_if<ElfSymbol>(&one.what))
        list(texts, label(loaded, *symbol), symbol->address.value + loaded.module.bias);
      else
        list(texts, fmt::format("{}:{} (thread-local)", loaded.module.name, name),
             std::get<ThreadLocalVariable>(one.what).offset);
    }
    return failure(LookupFailure::NotUnique, std::move(texts));
  }
  const Candidate& only = found.front();
  if (const auto* variable = std::get_if<ThreadLocalVariable>(&only.what))
    return state_->place_of(*only.loaded, *variable);
  return make_symbol(*only.loaded, std::get<ElfSymbol>(only.what));
}

bool ProcessEnv::may_be_loaded(std::string_view module) const {
  if (state_->options.becomes_others || (state_->pid && module == kJitModule)) return true;
  if (!module.contains('/')) return module.contains(".so") || !installed_library(state_->path_of(""), module).empty();
  std::error_code ignored;
  return std::filesystem::is_regular_file(state_->path_of(module), ignored);
}

std::optional<ProcessEnv::Place> ProcessEnv::place(RemoteAddr address) const {
  Loaded* loaded = state_->covering(address);
  if (!loaded) return std::nullopt;
  return Place{&*loaded->image, &loaded->module, {address.value - loaded->module.bias}};
}

std::vector<ProcessModule> ProcessEnv::modules() const {
  std::vector<ProcessModule> all;
  for (Loaded& loaded : state_->objects) {
    if (image_of(loaded)) all.push_back(loaded.module);
  }
  return all;
}

Probeability ProcessEnv::probeability(std::uint64_t address) const {
  if (state_->options.blacklisted && state_->options.blacklisted({address})) return Probeability::Blacklisted;
  const std::optional<Place> where = place({address});
  if (!where || !where->image->is_executable(where->address)) return Probeability::NotExecutable;
  const std::optional<bool> start = is_instruction_start(*where->image, where->address);
  if (!start) return Probeability::NotChecked;
  return *start ? Probeability::Ok : Probeability::NotInstructionBoundary;
}

FileStatus ProcessEnv::file_status(std::string_view path) const {
  struct stat status {};
  std::string text(path);
  if (::stat(text.c_str(), &status) != 0) {
    text = fmt::format("/proc/{}/root{}", state_->pid, path);
    if (state_->pid == 0 || ::stat(text.c_str(), &status) != 0) return FileStatus::Missing;
  }
  return S_ISREG(status.st_mode) ? FileStatus::Regular : FileStatus::NotRegular;
}

std::optional<Symbol> ProcessEnv::symbolize(std::uint64_t address) const {
  Loaded* loaded = state_->covering({address});
  if (!loaded) return std::nullopt;
  const auto symbol = loaded->image->symbol_covering({address - loaded->module.bias});
  if (!symbol) return std::nullopt;
  Symbol shown = make_symbol(*loaded, *symbol);
  shown.name = is_jit(*loaded) ? jit_shown_name(symbol->name) : shown_name(symbol->name);
  return shown;
}

std::optional<std::string> ProcessEnv::place_name(std::uint64_t address) const {
  return file_and_offset(state_->maps, {address});
}

// The number is kept: it is asked for each definition, and sysconf() reads a file each time.
unsigned ProcessEnv::possible_cpus() const {
  static const long count = ::sysconf(_SC_NPROCESSORS_CONF);
  return count > 0 ? static_cast<unsigned>(count) : 1;
}

std::uint32_t ProcessEnv::max_stack_slots() const { return kStackSlots; }

}  // namespace kevt::target
