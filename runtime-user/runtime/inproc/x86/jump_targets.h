// JumpTargets: every place of an image that some jump, call, table or pointer may lead to.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "common/addresses.h"
#include "compiler/target/elf/elf_image.h"

namespace kevt::x86 {

enum class TargetSource : std::uint8_t {
  Branch,     // jmp, jcc or call with a 4-byte distance
  Address,    // lea or an immediate that names code
  JumpTable,  // entry of a 4-byte relative table
  Pointer,    // 8-byte pointer in data
};

struct JumpTarget {
  ImageAddr target;
  ImageAddr source;  // the instruction, the table or the slot
  TargetSource kind = TargetSource::Branch;
};

class JumpTargets {
 public:
  // Scans every executable byte once, at every offset: what looks like a branch there counts, so
  // nothing is missed where code and data are mixed (see `Branch` entries as suspicions).
  static JumpTargets of_image(const target::ElfImage& image);
  // The same, keeping only what leads into `window`: for a single site.
  static JumpTargets into_window(const target::ElfImage& image, target::ImageRange window);

  // Those in [begin, end), ascending. The first few questions look through all of them; then they are sorted, which
  // costs a large program as much as the scan.
  std::vector<JumpTarget> within(ImageAddr begin, ImageAddr end);
  // Restartable sequences (rseq critical sections).
  const std::vector<target::ImageRange>& restartable() const { return restartable_; }
  std::size_t size() const { return targets_.size(); }

 private:
  std::vector<JumpTarget> targets_;  // as they were found; ascending by target once they are sorted
  unsigned questions_ = 0;
  std::vector<target::ImageRange> restartable_;
};

}  // namespace kevt::x86
