// Extractors read their event's data at a fixed distance, so an event has code of its own, also where the compiler made
// one for many:
//
//   image 0, one place     a → copy 1   b → copy 2   c → copy 3
//   image 1, two places    d, e → copy 1
//
// An image is copied again for each object that is probed: a jump in one object does not reach what is near another.
#include "runtime-user/runtime/inproc/code/batch_code.h"

namespace kevt::inproc {

Result<std::shared_ptr<const PlacedCode>> BatchCode::place(const model::NativeImage& image,
                                                           const ProbedObject& object) {
  auto allocated = KEVT_TRY(placement_.allocate(object.loaded.start(), object.loaded.end(), image.bytes.size()));
  const auto code = std::make_shared<PlacedCode>(std::move(allocated));
  placed_.push_back(code);
  arena_.write(code->at, image.bytes);
  for (const model::FaultEntry& fault : image.faults)
    KEVT_TRY(placement_.note_fault(*code, code->at + fault.fault, code->at + fault.fixup));
  return code;
}

Result<std::shared_ptr<const PlacedCode>> BatchCode::image_for(const model::CompiledEvent& event,
                                                               const ProbedObject& object) {
  const auto [it, is_new] = copies_.try_emplace({event.image, &object});
  Copy& copy = it->second;
  if (is_new || copy.taken.contains(event.block)) {
    auto code = place(batch_.images[event.image], object);
    if (!code) return code;
    copy = {*code, {}};
  }
  copy.taken.insert(event.block);
  return copy.code;
}

void BatchCode::give_back() {
  for (const auto& code : placed_) placement_.give_back(*code);
  placed_.clear();
  copies_.clear();
}

}  // namespace kevt::inproc
