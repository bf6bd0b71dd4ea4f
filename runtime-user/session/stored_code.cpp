// Several .kevo files become one store: their images stand one after the other.
//
//   a.kevo: images 0 1     b.kevo: images 0     →  images 0 1 2, and what b's event says of image 0 is said of 2
//
// BPF code is stored under its fetch program, with a note whether one event uses it or several: the code differs.
#include "runtime-user/session/stored_code.h"

#include <algorithm>
#include <vector>

#include "common/fs_base.h"

namespace kevt::session {

namespace {

// "group/event" of a listing.
std::string name_of(const script::StoredEvent& event) {
  const std::size_t colon = event.listing.find(':');
  if (colon == std::string::npos) return "";
  return event.listing.substr(colon + 1, event.listing.find(' ') - colon - 1);
}

// Code that reads thread-local variables was made for a machine where programs may read %fs by an instruction.
bool runs_here(const script::StoredEvent& event) {
  return may_read_fs_base() || !event.program.contains(" = thread_local ");
}

void add_bpf(const script::CompiledScript& script, pipeline::CodeStore& store) {
  for (std::uint32_t i = 0; i < script.bpf.size(); ++i) {
    const auto users = std::ranges::count(script.events, i, &script::StoredEvent::bpf);
    const auto first = std::ranges::find(script.events, i, &script::StoredEvent::bpf);
    if (users == 0) continue;
    if (!script.bpf[i].numbers.empty())
      for (const script::StoredEvent& event : script.events)
        if (event.bpf == i) store.add_format(name_of(event), event.format);
    store.add_bpf(first->program,
                  {.code = script.bpf[i], .users = users > 1 ? codegen::BpfUsers::Many : codegen::BpfUsers::One});
  }
}

}  // namespace

std::optional<pipeline::CodeStore> stored_code(const std::vector<script::CompiledScript>& scripts) {
  if (scripts.empty()) return std::nullopt;
  std::vector<model::NativeImage> images;
  for (const script::CompiledScript& script : scripts)
    images.insert(images.end(), script.images.begin(), script.images.end());
  pipeline::CodeStore store(std::move(images));
  std::uint32_t first = 0;
  for (const script::CompiledScript& script : scripts) {
    for (const script::StoredEvent& event : script.events) {
      if (event.image == script::kNoCode || !runs_here(event)) continue;
      store.add(event.program, {.image = first + event.image,
                                .event = {.extractor = {event.entry, event.code_size}, .block = event.block},
                                .register_reads = event.register_reads});
    }
    first += static_cast<std::uint32_t>(script.images.size());
    add_bpf(script, store);
  }
  return store;
}

}  // namespace kevt::session
