// Linking without a linker and without a process that would run the code: ORC's ObjectLinkingLayer with a memory
// manager that hands out one heap block for each object, as both working and target memory. An image must be closed: an
// object with an external symbol or an absolute address is refused. Constants that are put in later look like absolute
// addresses: they are taken out of the graph, and their places are noted.
#include "compiler/codegen/native_image.h"

#include <llvm/ExecutionEngine/JITLink/x86_64.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>

#include "common/assert.h"

namespace kevt::codegen {

namespace jl = llvm::jitlink;

namespace {

constexpr const char* kFaultSection = "kevt_faults";

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

// Collects the image of one object, once all its blocks have their addresses.
class Collector {
 public:
  Collector(std::span<const std::uint8_t> image, LinkedImage& out)
      : start_(reinterpret_cast<std::uint64_t>(image.data())), out_(out) {
    out_.image.bytes.assign(image.begin(), image.end());
  }

  void collect(jl::LinkGraph& graph, std::span<const OpenConstant> constants) {
    for (jl::Symbol* symbol : graph.defined_symbols())
      if (symbol->hasName())
        out_.symbols[symbol->getName().str()] = {offset_of(symbol->getAddress()),
                                                 static_cast<std::uint32_t>(symbol->getSize())};
    if (jl::Section* faults = graph.findSectionByName(kFaultSection))
      for (jl::Block* block : faults->blocks()) collect_faults(*block);
    std::ranges::sort(out_.image.faults, {}, &model::FaultEntry::fault);
    for (const OpenConstant& open : constants) {
      ConstantPlace place = open.place;
      place.offset = offset_of(open.block->getAddress()) + open.offset;
      out_.constants.push_back(place);
    }
  }

 private:
  std::uint32_t offset_of(llvm::orc::ExecutorAddr address) const {
    return static_cast<std::uint32_t>(address.getValue() - start_);
  }

  // The block holds pairs of 32-bit distances, each counted from its own address.
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

  const std::uint64_t start_;
  LinkedImage& out_;
};

}  // namespace

// ---- memory ---------------------------------------------------------------------------------

// LLVM aligns blocks by their addresses, so the image starts at a multiple of kImageAlignment.
std::span<std::uint8_t> ImageMemory::room_for(const jl::LinkGraph& graph, std::size_t bytes) {
  const std::scoped_lock lock(mutex_);
  Room& room = rooms_[&graph];
  room.bytes.assign(bytes + model::kImageAlignment, 0);
  const auto address = reinterpret_cast<std::uintptr_t>(room.bytes.data());
  room.image = std::span(room.bytes).subspan(llvm::alignTo(address, model::kImageAlignment) - address, bytes);
  return room.image;
}

std::span<const std::uint8_t> ImageMemory::image_of(const jl::LinkGraph& graph) const {
  const std::scoped_lock lock(mutex_);
  return rooms_.at(&graph).image;
}

namespace {

// Nothing has to be undone: ImageMemory owns the rooms.
class InFlight final : public jl::JITLinkMemoryManager::InFlightAlloc {
 public:
  void abandon(OnAbandonedFunction done) override { done(llvm::Error::success()); }
  void finalize(OnFinalizedFunction done) override {
    done(jl::JITLinkMemoryManager::FinalizedAlloc(llvm::orc::ExecutorAddr(1)));
  }
};

}  // namespace

void ImageMemory::allocate(const jl::JITLinkDylib*, jl::LinkGraph& graph, OnAllocatedFunction done) {
  jl::BasicLayout layout(graph);
  const auto aligned = [](std::uint64_t at, const auto& segment) {
    return llvm::alignTo(at, std::max<std::uint64_t>(segment.Alignment.value(), model::kImageAlignment));
  };
  std::uint64_t size = 0;
  for (auto& [group, segment] : layout.segments())
    size = aligned(size, segment) + segment.ContentSize + segment.ZeroFillSize;
  const auto image = room_for(graph, size);
  std::uint64_t at = 0;
  for (auto& [group, segment] : layout.segments()) {
    at = aligned(at, segment);
    segment.WorkingMem = reinterpret_cast<char*>(image.data() + at);
    segment.Addr = llvm::orc::ExecutorAddr::fromPtr(segment.WorkingMem);
    at += segment.ContentSize + segment.ZeroFillSize;
  }
  if (llvm::Error error = layout.apply()) return done(std::move(error));
  done(std::make_unique<InFlight>());
}

void ImageMemory::deallocate(std::vector<FinalizedAlloc> allocations, OnDeallocatedFunction done) {
  for (FinalizedAlloc& allocation : allocations) allocation.release();
  done(llvm::Error::success());
}

// ---- what is done with each object ------------------------------------------------------------

void ImageCollector::modifyPassConfig(llvm::orc::MaterializationResponsibility&, jl::LinkGraph& graph,
                                      jl::PassConfiguration& passes) {
  LinkedImage* const out = image_of_(graph.getName());
  KEVT_ASSERT(out != nullptr);
  const auto constants = std::make_shared<std::vector<OpenConstant>>();
  passes.PrePrunePasses.push_back([constants](jl::LinkGraph& its) {
    *constants = take_constants(its);
    return keep_closed(its);
  });
  passes.PostFixupPasses.push_back([this, out, constants](jl::LinkGraph& its) {
    Collector(memory_.image_of(its), *out).collect(its, *constants);
    return llvm::Error::success();
  });
}

}  // namespace kevt::codegen
