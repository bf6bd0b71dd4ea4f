// ProbePoints: the files that the target has mapped, and those that it does not have any more.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "compiler/target/elf/mapped_file.h"
#include "compiler/target/process/jit_code.h"
#include "runtime-user/runtime/inproc/code/probe_points.h"
#include "runtime-user/runtime/inproc/code/startup_files.h"
#include "runtime-user/runtime/inproc/process/startup.h"

namespace kevt::inproc {

Result<void> ProbePoints::refresh() {
  auto maps = KEVT_TRY(target::read_maps(tracee_.pid()));
  unreadable_.clear();
  std::set<const ProbedObject*> mapped;
  for (target::LoadedObject& loaded : target::loaded_objects(maps)) {
    const auto known = std::ranges::find_if(objects_, [&](const auto& object) {
      return object->is_mapped && object->loaded.start() == loaded.start() && object->loaded.inode == loaded.inode;
    });
    if (known != objects_.end()) {
      mapped.insert(known->get());
      continue;
    }
    const std::string path = target::readable_path(tracee_.pid(), loaded);
    auto file = files_.open(path);
    const auto bias = file ? target::load_bias(loaded, (*file)->image) : std::nullopt;
    if (!bias) {  // not ELF, as a JIT's cache; nobody may read it; it was written to since
      const std::string why = path.empty() ? target::unreadable_text(loaded)
                              : file       ? fmt::format("`{}` is not what is mapped", loaded.path)
                                           : file.error().message();
      unreadable_.push_back({std::move(loaded), why});
      continue;
    }
    auto object = std::make_unique<ProbedObject>();
    object->loaded = std::move(loaded);
    object->file = std::move(*file);
    object->image = &object->file->image;
    object->bias = *bias;
    mapped.insert(object.get());
    objects_.push_back(std::move(object));
  }
  if (!maps.empty())  // a process whose first thread has ended shows none
    for (const auto& object : objects_) object->is_mapped = object->stays || mapped.contains(object.get());
  refresh_jit(maps);
  return {};
}

// A map that is not believed, or code that cannot be read, is no reason to refuse probes in files: there is no JIT code
// then.
void ProbePoints::refresh_jit(const std::vector<target::Mapping>& maps) {
  const auto version = target::perf_map_version(tracee_.pid());
  if (!version || *version == jit_version_) return;
  jit_version_ = *version;
  auto code = target::read_jit_code(tracee_.pid(), maps,
                                    [this](RemoteAddr at, std::span<std::uint8_t> text) { restore(at, text); });
  if (!code || !*code) return;
  const auto before = std::exchange(jit_, std::make_unique<ProbedObject>());
  for (auto& [_, point] : points_)
    if (point.object == before.get()) point.object = jit_.get();
  jit_->loaded.path = target::kJitModule;
  jit_->loaded.ranges = std::move((*code)->ranges);
  jit_->file = std::make_shared<ProbedFile>(std::move((*code)->image));
  jit_->image = &jit_->file->image;
  jit_version_ = (*code)->version;
}

ProbedObject* ProbePoints::known_at(RemoteAddr address) const {
  for (const auto& object : objects_)
    if (object->is_mapped && object->loaded.contains(address)) return object.get();
  return jit_ && jit_->loaded.contains(address) ? jit_.get() : nullptr;
}

Result<ProbedObject*> ProbePoints::object_at(RemoteAddr address) {
  ProbedObject* known = known_at(address);
  if (known != nullptr && known != jit_.get()) return known;
  KEVT_TRY(refresh());  // JIT code changes while it stays where it is
  if (known = known_at(address); known != nullptr) return known;
  for (const auto& [loaded, why] : unreadable_)
    if (loaded.contains(address))
      return std::unexpected(Error(fmt::format("{:#x} cannot be probed: {}", address.value, why)));
  return std::unexpected(Error(fmt::format("{:#x} lies in no file that the target has mapped", address.value)));
}

Result<std::vector<ProbedObject*>> ProbePoints::objects() {
  std::vector<ProbedObject*> all;
  KEVT_TRY(refresh());
  for (const auto& object : objects_)
    if (object->is_mapped) all.push_back(object.get());
  return all;
}

// Of a file that is mapped anew at its place one point tells: the bytes there are the file's own.
Result<ProbePoints::Unloaded> ProbePoints::look_for_unloaded() {
  Unloaded found;
  const auto may_go = [](const auto& entry) { return !entry.second.object->stays && !entry.second.object->is_jit(); };
  KEVT_TRY(note_staying());
  if (std::ranges::none_of(points_, may_go)) return found;
  KEVT_TRY(refresh());
  std::set<const ProbedObject*> used, seen;
  for (auto& [site, point] : points_) {
    used.insert(point.object);
    if (point.gone || point.object->is_jit()) continue;
    if (point.patch.empty()) {
      if (!point.object->is_mapped) found.unarmed.push_back(site);
    } else if (!point.object->is_mapped) {
      found.is_any_armed = true;
    } else if (seen.insert(point.object).second) {
      const auto expected = expected_at(point);
      auto now = expected;
      found.is_any_armed = found.is_any_armed || !tracee_.read(site, now) || now != expected;
    }
  }
  std::erase_if(objects_, [&](const auto& object) { return !object->is_mapped && !used.contains(object.get()); });
  return found;
}

std::vector<RemoteAddr> ProbePoints::unarmed_beside(RemoteAddr site) {
  std::vector<RemoteAddr> found;
  ProbedObject* const object = points_.at(site).object;
  if (object->is_jit() || object->stays) return found;  // a program may change a place of its own text
  object->is_mapped = false;                            // what is there now is another mapping
  for (const auto& [other, point] : points_)
    if (point.object == object && point.patch.empty() && !point.gone) found.push_back(other);
  return found;
}

void ProbePoints::forget(RemoteAddr site) {
  const auto point = points_.find(site);
  if (point != points_.end() && point->second.is_over() && point->second.made.empty()) points_.erase(point);
}

// What a program has from its start on it keeps, so that one look is enough.
Result<void> ProbePoints::note_staying() {
  if (knows_staying_) return {};
  auto all = KEVT_TRY(objects());
  for (ProbedObject* object : loaded_at_start(all, program_entry(tracee_.pid()))) object->stays = true;
  knows_staying_ = true;
  return {};
}

Result<bool> ProbePoints::may_be_unloaded(std::span<const RemoteAddr> sites) {
  KEVT_TRY(note_staying());
  return std::ranges::any_of(sites, [&](RemoteAddr site) {
    const auto point = points_.find(site);
    return point != points_.end() && !point->second.object->is_jit() && !point->second.object->stays;
  });
}

}  // namespace kevt::inproc
