// Extents of functions: from symbols, and from .eh_frame for functions without a symbol.
//
// Both lists are merged by start address: libc.so.6 of Debian is stripped, so of its 3700 functions
// 2200 have names and the others are known by their frame descriptions alone. A symbol without a size
// takes the size of the frame at its address. Ranges may nest (several entries in one frame); the
// innermost one counts as the function around an address.
// Not done: functions with neither a symbol nor a frame description (hand-written code).
#include <algorithm>

#include "compiler/target/elf/elf_image_state.h"

namespace kevt::target {

void ElfImage::State::load_frames() {
  if (frames_loaded) return;
  frames_loaded = true;
  if (const Elf64_Shdr* section = sections.find(".eh_frame"); section && section->sh_type != SHT_NOBITS) {
    frames = read_eh_frame(sections.contents(*section).unbroken().loaded(), {section->sh_addr}, kMostEntries);
    return;
  }
  if (!frame_header) return;
  // .eh_frame_hdr: version, three encodings, then a pointer to .eh_frame (0x1b: relative, 4 bytes).
  const CheckedBytes header = mapped({frame_header->p_vaddr});
  const auto encoding = header.read<std::uint8_t>(1);
  const auto distance = header.read<std::int32_t>(4);
  if (!encoding || !distance || *encoding != 0x1b) return;
  const ImageAddr address{frame_header->p_vaddr + 4 + static_cast<std::uint64_t>(std::int64_t{*distance})};
  frames = read_eh_frame(mapped(address), address, kMostEntries);
}

void ElfImage::State::load_functions() {
  if (functions_loaded) return;
  functions_loaded = true;
  load_symbols();
  load_frames();
  std::vector<const ElfSymbol*> named;
  named.reserve(symbols.size());
  functions.reserve(std::max(symbols.size(), frames.size()));
  for (const ElfSymbol& symbol : symbols) {
    if (symbol.kind != SymbolKind::Object) named.push_back(&symbol);
  }
  std::size_t frame = 0;
  const auto add_frames_before = [&](std::uint64_t limit) {
    for (; frame < frames.size() && frames[frame].start.value < limit; ++frame) {
      functions.push_back({frames[frame].start, frames[frame].size, {}});
    }
  };
  for (std::size_t i = 0; i < named.size();) {
    const ImageAddr start = named[i]->address;
    add_frames_before(start.value);
    const ElfSymbol* best = named[i];
    std::uint64_t size = named[i]->size;
    for (++i; i < named.size() && named[i]->address == start; ++i) {
      size = std::max(size, named[i]->size);
      if (plainer_name(*named[i], *best)) best = named[i];
    }
    for (; frame < frames.size() && frames[frame].start == start; ++frame) {
      if (size == 0) size = frames[frame].size;
    }
    if (size != 0) functions.push_back({start, size, best->name});
  }
  add_frames_before(~std::uint64_t{0});
}

const std::vector<FunctionRange>& ElfImage::functions() const {
  state_->load_functions();
  return state_->functions;
}

std::optional<FunctionRange> ElfImage::function_containing(ImageAddr address) const {
  const std::vector<FunctionRange>& all = functions();
  auto after = std::ranges::upper_bound(all, address, {}, &FunctionRange::start);
  // Nested ranges are rare (several entries in one frame): the innermost one that covers `address` counts.
  for (unsigned tries = 0; tries < 16 && after != all.begin(); ++tries) {
    --after;
    if (address < after->end()) return *after;
  }
  return std::nullopt;
}

std::optional<ImageAddr> ElfImage::next_function_start(ImageAddr address) const {
  const std::vector<FunctionRange>& all = functions();
  const auto after = std::ranges::upper_bound(all, address, {}, &FunctionRange::start);
  if (after == all.end()) return std::nullopt;
  return after->start;
}

std::optional<ImageAddr> ElfImage::previous_function_end(ImageAddr address) const {
  const std::vector<FunctionRange>& all = functions();
  auto after = std::ranges::upper_bound(all, address, {}, &FunctionRange::start);
  while (after != all.begin()) {
    --after;
    if (after->end() <= address) return after->end();
  }
  return std::nullopt;
}

// Reads the pads of the whole image: those of a function may lie in its cold part, which is another function here.
void ElfImage::State::load_landing_pads() {
  if (landing_pads_loaded) return;
  landing_pads_loaded = true;
  load_frames();
  std::uint64_t budget = 2 * file.data_bytes();  // a damaged file's frames may all have one large table
  for (const FrameRange& frame : frames) {
    if (frame.lsda.value == 0) continue;
    const LandingPads found =
        read_landing_pads(mapped(frame.lsda).unbroken(), frame.lsda, frame.start, kMostEntries - landing_pads.size());
    if (found.read_bytes > budget) break;
    budget -= found.read_bytes;
    landing_pads.insert(landing_pads.end(), found.pads.begin(), found.pads.end());
  }
  std::ranges::sort(landing_pads);
}

const std::vector<ImageAddr>& ElfImage::landing_pads() const {
  state_->load_landing_pads();
  return state_->landing_pads;
}

}  // namespace kevt::target
