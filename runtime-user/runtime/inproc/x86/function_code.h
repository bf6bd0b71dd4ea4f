// FunctionCode: all instructions of one function, decoded in a line from its start.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "common/addresses.h"
#include "compiler/target/elf/elf_image.h"
#include "runtime-user/runtime/inproc/x86/decode.h"

namespace kevt::x86 {

struct PlacedInstruction {
  ImageAddr address;
  Instruction in;
  ImageAddr end() const { return address + in.length; }
};

struct DirectBranch {
  ImageAddr target;
  ImageAddr source;
  Flow flow = Flow::Jump;
};

class FunctionCode {
 public:
  static FunctionCode read(const target::ElfImage& image, const target::FunctionRange& range);

  const target::FunctionRange& range() const { return range_; }
  const std::vector<PlacedInstruction>& instructions() const { return instructions_; }
  // Direct jumps and calls, ascending by target.
  const std::vector<DirectBranch>& branches() const { return branches_; }
  // Where decoding stopped before the end of the function; nullopt: everything is instructions.
  std::optional<ImageAddr> undecodable() const { return undecodable_; }
  // The instruction that covers `address`.
  const PlacedInstruction* covering(ImageAddr address) const;
  // The first indirect jump in the function whose targets are in no table and no pointer of the image. Tail calls
  // through pointers are no such jumps.
  std::optional<ImageAddr> unresolved_jump() const { return unresolved_jump_; }

 private:
  void summarise();
  bool resolved(std::size_t jump) const;
  bool resolved_sum(std::size_t sum, std::uint8_t target_register) const;
  bool loads_address_of_data(std::uint8_t reg) const;

  const target::ElfImage* image_ = nullptr;
  target::FunctionRange range_;
  std::vector<PlacedInstruction> instructions_;
  std::vector<DirectBranch> branches_;
  std::optional<ImageAddr> undecodable_;
  std::optional<ImageAddr> unresolved_jump_;
};

// The functions decoded last: neighbouring sites need the same ones again.
class FunctionCodeCache {
 public:
  explicit FunctionCodeCache(const target::ElfImage& image) : image_(&image) {}
  // Valid while fewer than kKept other functions are asked for.
  const FunctionCode& get(const target::FunctionRange& range);

 private:
  static constexpr std::size_t kKept = 32;
  const target::ElfImage* image_;
  std::list<FunctionCode> recent_;  // the latest first
};

}  // namespace kevt::x86
