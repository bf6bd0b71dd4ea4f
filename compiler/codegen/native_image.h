// Object file → flat image: ORC's linking layer lays the sections out in one block and applies the relocations. All of
// them are relative, so the block works wherever it is copied.
#pragma once

#include <llvm/ExecutionEngine/JITLink/JITLink.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "common/error.h"
#include "compiler/codegen/native.h"

namespace kevt::codegen {

// A symbol of this prefix and a number is a constant that becomes known only when the image is copied.
inline constexpr const char* kConstantPrefix = "constant.";

// A place in the image for such a constant: the constant's word + `addend` is written there.
struct ConstantPlace {
  std::uint32_t position = 0;  // the number in the symbol's name; ir::Constant::position
  std::uint32_t offset = 0;    // in the image
  std::uint8_t bytes = 4;      // 4 or 8
  bool is_signed = true;       // whether the instruction sign-extends 4 bytes; else it zero-extends them
  std::int64_t addend = 0;
};

struct LinkedImage {
  model::NativeImage image;
  std::vector<ConstantPlace> constants;
  std::map<std::string, NativeFunction> symbols;  // code and data, by name
};

// Gives each object one block of the heap. Thread safe.
class ImageMemory final : public llvm::jitlink::JITLinkMemoryManager {
 public:
  void allocate(const llvm::jitlink::JITLinkDylib*, llvm::jitlink::LinkGraph& graph, OnAllocatedFunction done) override;
  void deallocate(std::vector<FinalizedAlloc> allocations, OnDeallocatedFunction done) override;
  using llvm::jitlink::JITLinkMemoryManager::allocate;
  // The image of an object that allocate() has placed; valid as long as this object lives.
  std::span<const std::uint8_t> image_of(const llvm::jitlink::LinkGraph& graph) const;

 private:
  struct Room {
    std::vector<std::uint8_t> bytes;
    std::span<std::uint8_t> image;
  };
  std::span<std::uint8_t> room_for(const llvm::jitlink::LinkGraph& graph, std::size_t bytes);

  mutable std::mutex mutex_;
  std::map<const llvm::jitlink::LinkGraph*, Room> rooms_;
};

// Refuses objects that are not closed; copies the images of all others.
class ImageCollector final : public llvm::orc::ObjectLinkingLayer::Plugin {
 public:
  // Where to put the image of the object of that name; called from any thread.
  using ImageOf = std::function<LinkedImage*(const std::string& object)>;
  ImageCollector(const ImageMemory& memory, ImageOf image_of) : memory_(memory), image_of_(std::move(image_of)) {}

  void modifyPassConfig(llvm::orc::MaterializationResponsibility&, llvm::jitlink::LinkGraph& graph,
                        llvm::jitlink::PassConfiguration& passes) override;
  llvm::Error notifyFailed(llvm::orc::MaterializationResponsibility&) override { return llvm::Error::success(); }
  llvm::Error notifyRemovingResources(llvm::orc::JITDylib&, llvm::orc::ResourceKey) override {
    return llvm::Error::success();
  }
  void notifyTransferringResources(llvm::orc::JITDylib&, llvm::orc::ResourceKey, llvm::orc::ResourceKey) override {}

 private:
  const ImageMemory& memory_;
  const ImageOf image_of_;
};

}  // namespace kevt::codegen
