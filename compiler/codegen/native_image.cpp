// Linking without a linker and without an executor process: JITLink with a memory manager that
// hands out one heap block as both working and target memory. What it must never see is an
// external symbol or an absolute address; either is refused, so a closed image is a checked fact. Constants that are
// put in later look like absolute addresses: they are taken out of the graph, and where they belong is noted.
#include "compiler/codegen/native_image.h"

#include <llvm/ExecutionEngine/JITLink/JITLink.h>
#include <llvm/ExecutionEngine/JITLink/x86_64.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>

namespace kevt::codegen {

namespace jl = llvm::jitlink;

namespace {

constexpr const char* kFaultSection = "kevt_faults";

class FlatMemory final : public jl::JITLinkMemoryManager {
 public:
  // Blocks are aligned by their addresses here, so the image must start at one that is a multiple of its alignment.
  std::uint8_t* image() {
    const auto address = reinterpret_cast<std::uintptr_t>(room_.data());
    return room_.data() + (llvm::alignTo(address, model::kImageAlignment) - address);
  }
  std::vector<std::uint8_t> take() { return {image(), image() + size_}; }

  void allocate(const jl::JITLinkDylib*, jl::LinkGraph& graph, OnAllocatedFunction done) override {
    jl::BasicLayout layout(graph);
    std::uint64_t size = 0;
    for (auto& [group, segment] : layout.segments()) {
      size = llvm::alignTo(size, std::max<std::uint64_t>(segment.Alignment.value(), model::kImageAlignment));
      size += segment.ContentSize + segment.ZeroFillSize;
    }
    size_ = size;
    room_.assign(size + model::kImageAlignment, 0);
    std::uint64_t at = 0;
    for (auto& [group, segment] : layout.segments()) {
      at = llvm::alignTo(at, std::max<std::uint64_t>(segment.Alignment.value(), model::kImageAlignment));
      segment.WorkingMem = reinterpret_cast<char*>(image() + at);
      segment.Addr = llvm::orc::ExecutorAddr::fromPtr(segment.WorkingMem);
      at += segment.ContentSize + segment.ZeroFillSize;
    }
    if (llvm::Error error = layout.apply()) return done(std::move(error));
    done(std::make_unique<InFlight>());
  }
  using jl::JITLinkMemoryManager::allocate;

  void deallocate(std::vector<FinalizedAlloc> allocations, OnDeallocatedFunction done) override {
    for (FinalizedAlloc& allocation : allocations) allocation.release();
    done(llvm::Error::success());
  }

 private:
  std::vector<std::uint8_t> room_;
  std::uint64_t size_ = 0;

  class InFlight final : public InFlightAlloc {
   public:
    void abandon(OnAbandonedFunction done) override { done(llvm::Error::success()); }
    void finalize(OnFinalizedFunction done) override {
      done(FinalizedAlloc(llvm::orc::ExecutorAddr(1)));  // nothing to undo: the block is ours
    }
  };
};

bool is_relative(const jl::Edge& edge) {
  return edge.getKind() == jl::x86_64::Delta32 || edge.getKind() == jl::x86_64::PCRel32 ||
         edge.getKind() == jl::x86_64::BranchPCRel32 || edge.getKind() == jl::Edge::KeepAlive ||
         edge.getKind() == jl::x86_64::Delta64;
}

// A constant's place before its block has an address.
struct OpenConstant {
  jl::Block* block = nullptr;
  std::uint32_t offset = 0;  // in the block
  ConstantPlace place;
};

std::optional<ConstantPlace> constant_place(const jl::Edge& edge) {
  const jl::Symbol& target = edge.getTarget();
  ConstantPlace place{.addend = edge.getAddend()};
  if (!target.isExternal()) return std::nullopt;
  llvm::StringRef name = target.getName();
  if (!name.consume_front(kConstantPrefix) || name.getAsInteger(10, place.position)) return std::nullopt;
  if (edge.getKind() == jl::x86_64::Pointer32Signed) return place;
  place.is_signed = false;
  if (edge.getKind() == jl::x86_64::Pointer32) return place;
  place.bytes = 8;
  if (edge.getKind() == jl::x86_64::Pointer64) return place;
  return std::nullopt;
}

std::vector<OpenConstant> take_constants(jl::LinkGraph& graph) {
  std::vector<OpenConstant> taken;
  std::set<jl::Symbol*> symbols;
  for (jl::Block* block : graph.blocks()) {
    for (auto edge = block->edges().begin(); edge != block->edges().end();) {
      const auto place = constant_place(*edge);
      if (!place) {
        ++edge;
        continue;
      }
      taken.push_back({block, edge->getOffset(), *place});
      symbols.insert(&edge->getTarget());
      edge = block->removeEdge(edge);
    }
  }
  for (jl::Symbol* symbol : symbols) graph.removeExternalSymbol(*symbol);
  return taken;
}

llvm::Error keep_closed(jl::LinkGraph& graph) {
  for (jl::Symbol* symbol : graph.external_symbols())
    return llvm::createStringError("generated code refers to the external symbol `" + symbol->getName().str() + "`");
  for (jl::Block* block : graph.blocks())
    for (const jl::Edge& edge : block->edges())
      if (!is_relative(edge)) return llvm::createStringError("generated code holds an absolute address");
  for (jl::Symbol* symbol : graph.defined_symbols()) symbol->setLive(true);
  if (jl::Section* faults = graph.findSectionByName(kFaultSection))
    for (jl::Block* block : faults->blocks()) graph.addAnonymousSymbol(*block, 0, block->getSize(), false, true);
  return llvm::Error::success();
}

class FlatLink final : public jl::JITLinkContext {
 public:
  FlatLink(FlatMemory& memory, LinkedImage& out, std::optional<std::string>& failure)
      : JITLinkContext(nullptr), memory_(memory), out_(out), failure_(failure) {}

  jl::JITLinkMemoryManager& getMemoryManager() override { return memory_; }
  void notifyFailed(llvm::Error error) override { failure_ = llvm::toString(std::move(error)); }
  void lookup(const LookupMap&, std::unique_ptr<jl::JITLinkAsyncLookupContinuation> next) override {
    next->run(jl::AsyncLookupResult{});
  }
  llvm::Error notifyResolved(jl::LinkGraph&) override { return llvm::Error::success(); }
  void notifyFinalized(jl::JITLinkMemoryManager::FinalizedAlloc allocation) override { allocation.release(); }
  bool shouldAddDefaultTargetPasses(const llvm::Triple&) const override { return false; }
  llvm::Error modifyPassConfig(jl::LinkGraph&, jl::PassConfiguration& passes) override {
    passes.PrePrunePasses.push_back([this](jl::LinkGraph& graph) {
      constants_ = take_constants(graph);
      return llvm::Error::success();
    });
    passes.PrePrunePasses.push_back(keep_closed);
    passes.PostFixupPasses.push_back([this](jl::LinkGraph& graph) { return collect(graph); });
    return llvm::Error::success();
  }

 private:
  std::uint32_t offset_of(llvm::orc::ExecutorAddr address) const {
    return static_cast<std::uint32_t>(address.getValue() - reinterpret_cast<std::uint64_t>(memory_.image()));
  }

  llvm::Error collect(jl::LinkGraph& graph) {
    for (jl::Symbol* symbol : graph.defined_symbols())
      if (symbol->hasName())
        out_.symbols[symbol->getName().str()] = {offset_of(symbol->getAddress()),
                                                 static_cast<std::uint32_t>(symbol->getSize())};
    if (jl::Section* faults = graph.findSectionByName(kFaultSection))
      for (jl::Block* block : faults->blocks()) collect_faults(*block);
    std::ranges::sort(out_.image.faults, {}, &model::FaultEntry::fault);
    for (OpenConstant& open : constants_) {
      open.place.offset = offset_of(open.block->getAddress()) + open.offset;
      out_.constants.push_back(open.place);
    }
    return llvm::Error::success();
  }

  // Pairs of 32-bit distances from the word itself.
  void collect_faults(const jl::Block& block) {
    const std::uint32_t base = offset_of(block.getAddress());
    const char* content = block.getContent().data();
    for (std::size_t at = 0; at + 8 <= block.getSize(); at += 8) {
      std::int32_t distances[2];
      std::memcpy(distances, content + at, sizeof distances);
      const auto word = static_cast<std::int64_t>(base + at);
      out_.image.faults.push_back(
          {static_cast<std::uint32_t>(word + distances[0]), static_cast<std::uint32_t>(word + 4 + distances[1])});
    }
  }

  FlatMemory& memory_;
  LinkedImage& out_;
  std::optional<std::string>& failure_;
  std::vector<OpenConstant> constants_;
};

}  // namespace

Result<LinkedImage> link_flat(llvm::MemoryBufferRef object) {
  auto graph = jl::createLinkGraphFromObject(object);
  if (!graph) return std::unexpected(Error("jitlink: " + llvm::toString(graph.takeError())));
  FlatMemory memory;
  LinkedImage out;
  std::optional<std::string> failure;
  jl::link(std::move(*graph), std::make_unique<FlatLink>(memory, out, failure));
  if (failure) return std::unexpected(Error("jitlink: " + *failure));
  out.image.bytes = memory.take();
  return out;
}

}  // namespace kevt::codegen
