// Extractors read their event's data at a fixed distance, so an event has code of its own, also where the compiler made
// one for many:
//
//   image 0, one place     a → copy 1   b → copy 2   c → copy 3
//   image 1, two places    d, e → copy 1
//
// An image is copied again for each object that is probed: a jump in one does not reach what is near the other.
#include "runtime-user/runtime/inproc/code/batch_code.h"

namespace kevt::inproc {

Result<RemoteAddr> BatchCode::place(const model::NativeImage& image, const ProbedObject& object) {
  auto at = placement_.allocate(object.loaded.start(), object.loaded.end(), image.bytes.size());
  if (!at) return at;
  arena_.write(*at, image.bytes);
  for (const model::FaultEntry& fault : image.faults)
    if (auto noted = placement_.note_fault(*at + fault.fault, *at + fault.fixup); !noted)
      return std::unexpected(std::move(noted.error()));
  return at;
}

Result<RemoteAddr> BatchCode::image_for(const model::CompiledEvent& event, const ProbedObject& object) {
  const auto [it, is_new] = copies_.try_emplace({event.image, &object});
  Copy& copy = it->second;
  if (is_new || copy.taken.contains(event.block)) {
    auto at = place(batch_.images[event.image], object);
    if (!at) return at;
    copy = {*at, {}};
  }
  copy.taken.insert(event.block);
  return copy.at;
}

}  // namespace kevt::inproc
