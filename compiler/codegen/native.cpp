// Native code of programs, each compiled for itself or as copies of one.
//
//   p:a f x=+8(%di)    p:b g x=+24(%di)       movq K(%rdi), %rax      a: K = 8, b: K = 24
//
// What a thousand probes take differs in offsets and numbers, mostly: LLVM then runs once, with symbols for those that
// differ, and the linker's last step, putting a symbol's value into an instruction, is done for each.
#include "compiler/codegen/native.h"

#include <algorithm>
#include <cstring>

#include "common/abi/probe.h"
#include "common/assert.h"
#include "compiler/codegen/native_hooks.h"
#include "compiler/codegen/native_module.h"

namespace kevt::codegen {

std::uint32_t registers_from_frame(const ir::Program& program) {
  const auto in_place = registers_in_place(program.probe_kind);
  std::uint32_t words = 0;
  for (const ir::Value& value : program.values)
    if (value.op == ir::Op::Register &&
        std::ranges::find(in_place, static_cast<std::uint32_t>(value.imm)) == in_place.end())
      words |= 1u << (value.imm / 8);
  return words;
}

namespace {

Result<NativeEvent> find_event(const LinkedImage& linked, const NativeInput& input) {
  const auto of = [&](const std::string& name) {
    const auto it = linked.symbols.find(input.name + name);
    return it == linked.symbols.end() ? NativeFunction{} : it->second;
  };
  const NativeEvent event{of(""), of(".event").entry};
  if (!event.extractor.size || !of(".event").size)
    return std::unexpected(Error("extractor `" + input.name + "` is missing"));
  return event;
}

Result<void> refuse(std::span<const NativeInput> inputs) {
  for (const NativeInput& input : inputs)
    if (std::string why = native_refusal(*input.program); !why.empty())
      return std::unexpected(Error(input.name + ": " + why));
  return {};
}

}  // namespace

Result<NativeOutput> compile_native(std::span<const NativeInput> inputs, KeepIr keep_ir) {
  if (auto refused = refuse(inputs); !refused) return std::unexpected(std::move(refused.error()));
  auto made = compile_module(inputs, {}, keep_ir);
  if (!made) return std::unexpected(std::move(made.error()));
  NativeOutput out;
  out.image = std::move(made->linked.image);
  out.llvm_ir = std::move(made->llvm_ir);
  for (const NativeInput& input : inputs) {
    auto event = find_event(made->linked, input);
    if (!event) return std::unexpected(std::move(event.error()));
    out.events.push_back(*event);
  }
  return out;
}

namespace {

using Constants = std::vector<ir::Constant>;

// Those of the first that are not the same in all.
Constants varying(const std::vector<Constants>& family) {
  Constants differ;
  for (std::size_t i = 0; i < family.front().size(); ++i) {
    const auto is_other = [&](const Constants& member) { return member.at(i).word != family.front()[i].word; };
    if (std::ranges::any_of(family, is_other)) differ.push_back(family.front()[i]);
  }
  return differ;
}

// Whether `bytes` hold `word`: as what their instruction extends them from.
bool fits(std::int64_t word, const ConstantPlace& place) {
  if (place.bytes == 8) return true;
  return place.is_signed ? word == static_cast<std::int32_t>(word)
                         : word == static_cast<std::int64_t>(static_cast<std::uint32_t>(word));
}

Result<model::NativeImage> with_constants(const LinkedImage& linked, const Constants& constants) {
  model::NativeImage image = linked.image;
  for (const ConstantPlace& place : linked.constants) {
    const auto constant = std::ranges::find(constants, place.position, &ir::Constant::position);
    KEVT_ASSERT(constant != constants.end());
    const std::int64_t word = constant->word + place.addend;
    if (!fits(word, place)) return std::unexpected(Error("a constant does not fit its instruction"));
    std::memcpy(image.bytes.data() + place.offset, &word, place.bytes);
  }
  return image;
}

}  // namespace

Result<std::vector<NativeOutput>> compile_family(std::span<const NativeInput> family) {
  std::vector<NativeOutput> outputs;
  if (family.empty()) return outputs;
  if (auto refused = refuse(family); !refused) return std::unexpected(std::move(refused.error()));
  std::vector<Constants> constants;
  for (const NativeInput& member : family) constants.push_back(ir::exchangeable_constants(*member.program));
  for (const Constants& one : constants) KEVT_ASSERT(one.size() == constants.front().size());
  auto made = compile_module(family.first(1), varying(constants), KeepIr::No);
  if (!made) return std::unexpected(std::move(made.error()));
  const auto event = find_event(made->linked, family.front());
  if (!event) return std::unexpected(event.error());
  for (const Constants& one : constants) {
    auto image = with_constants(made->linked, one);
    if (!image) return std::unexpected(std::move(image.error()));
    outputs.push_back({.image = std::move(*image), .events = {*event}, .llvm_ir = {}});
  }
  return outputs;
}

}  // namespace kevt::codegen
