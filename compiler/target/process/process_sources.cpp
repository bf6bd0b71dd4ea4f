// What debug information and notes say of a process's files: markers, lines of the source, places by offset.
#include <algorithm>
#include <utility>

#include "compiler/target/elf/usdt.h"
#include "compiler/target/process/process_env_state.h"

namespace kevt::target {

void ProcessEnv::State::refuse_copied(LinePlaces& line) {
  const auto program = std::ranges::find_if(objects, [](const Loaded& one) { return one.module.is_program; });
  const ElfImage* image = program == objects.end() ? nullptr : image_of(*program);
  if (!image) return;
  for (LinePlace& place : line.places)
    for (SourceVariable& variable : place.variables)
      if (variable.location.base == VariableLocation::Base::Address && variable.location.reads.empty() &&
          std::ranges::any_of(image->find_objects(variable.name),
                              [](const ElfSymbol& one) { return one.binding != SymbolBinding::Local; }))
        variable.location = {.why = "the program has a copy of it, and the library uses that one"};
}

std::expected<std::uint64_t, LookupError> ProcessEnv::find_file_offset(std::string_view path,
                                                                       std::uint64_t offset) const {
  std::optional<FileId> wanted = file_id(std::string(path));
  const std::optional<FileId> rooted =
      state_->pid ? file_id(fmt::format("/proc/{}/root{}", state_->pid, path)) : std::nullopt;
  bool is_loaded = false;
  for (Loaded& loaded : state_->objects) {
    // Offsets are those of the file that has the name now, not of a deleted one that had it before.
    const bool named = loaded.module.path == path && !(loaded.object.deleted && (wanted || rooted));
    const bool same = named || (loaded.id && (loaded.id == wanted || loaded.id == rooted));
    if (!same) continue;
    is_loaded = true;
    const ElfImage* image = image_of(loaded);
    if (!image) continue;
    if (const auto address = image->image_addr({offset})) return address->value + loaded.module.bias;
  }
  if (is_loaded || !may_be_loaded(path)) return failure(LookupFailure::NotFound);
  const auto file = ElfImage::open(state_->path_of(path));
  const auto address = file ? file->image_addr({offset}) : std::nullopt;
  return failure(address && file->is_executable(*address) ? LookupFailure::ModuleMissing : LookupFailure::NotFound);
}

std::expected<std::vector<UsdtSite>, LookupError> ProcessEnv::find_usdt(std::string_view module,
                                                                        std::string_view provider,
                                                                        std::string_view name) const {
  for (Loaded* loaded : state_->matching(module))
    if (const ElfImage* image = image_of(*loaded)) return usdt_sites(*image, loaded->module.path, provider, name);
  if (!module.contains('/')) return failure(LookupFailure::ModuleMissing);
  const auto image = ElfImage::open(state_->path_of(module));
  return image ? usdt_sites(*image, module, provider, name)
               : failure(LookupFailure::NotFound, {}, image.error().message());
}

std::expected<LinePlaces, LookupError> ProcessEnv::find_line(const LineQuestion& question) const {
  for (Loaded* loaded : state_->matching(question.module)) {
    const ElfImage* image = image_of(*loaded);
    if (!image) continue;
    if (auto entry = entry_by_symbols(*image, loaded->module.path, question)) return *std::move(entry);
    SourcePlaces& places = state_->lines.try_emplace(loaded, loaded->open_path).first->second;
    auto found = places.find(*image, loaded->module.path, question);
    if (found && !loaded->module.is_program) state_->refuse_copied(*found);
    return found;
  }
  if (!question.module.contains('/')) return failure(LookupFailure::ModuleMissing);
  return lines_of_file(state_->path_of(question.module), question);
}

std::expected<ListedSource, LookupError> ProcessEnv::list_lines(const LinesWanted& wanted) const {
  for (Loaded* loaded : state_->matching(wanted.module)) {
    const ElfImage* image = image_of(*loaded);
    if (!image) continue;
    return state_->lines.try_emplace(loaded, loaded->open_path).first->second.list(*image, wanted);
  }
  if (!wanted.module.contains('/')) return failure(LookupFailure::ModuleMissing);
  return list_lines_of_file(state_->path_of(wanted.module), wanted);
}

}  // namespace kevt::target
