// Native code of programs: each compiled by itself, or all of a family as copies of one.
//
//   p:a f x=+8(%di)    p:b g x=+24(%di)       movq K(%rdi), %rax      a: K = 8, b: K = 24
//
// The programs of a thousand probes mostly differ only in offsets and numbers. Then LLVM runs once, with symbols for
// the numbers that differ; the linker's last step, putting a symbol's value into an instruction, is done for each
// program.
#include "compiler/codegen/native.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>

#include "common/abi/probe.h"
#include "common/assert.h"
#include "compiler/codegen/native_hooks.h"
#include "compiler/codegen/native_session.h"

namespace kevt::codegen {

namespace {

constexpr std::uint32_t frame_word(std::size_t offset) { return 1u << offset / 8; }
// What the agent reads of the frame to walk a stack, and to take a sample (runtime-user/agent/stack.c).
constexpr std::uint32_t kOfStacks =
    frame_word(offsetof(kevt_registers, sp)) | frame_word(offsetof(kevt_registers, bp)) |
    frame_word(offsetof(kevt_registers, bx)) | frame_word(offsetof(kevt_registers, r12)) |
    frame_word(offsetof(kevt_registers, r13)) | frame_word(offsetof(kevt_registers, r14)) |
    frame_word(offsetof(kevt_registers, r15));

}  // namespace

std::uint32_t registers_from_frame(const ir::Program& program) {
  const auto in_place = registers_in_place(program.probe_kind);
  std::uint32_t words = 0;
  for (const ir::Value& value : program.values) {
    if (value.op == ir::Op::StackNumber) words |= kOfStacks;
    if (value.op == ir::Op::Register &&
        std::ranges::find(in_place, static_cast<std::uint32_t>(value.imm)) == in_place.end())
      words |= 1u << (value.imm / 8);
  }
  return words;
}

namespace {

using Constants = std::vector<ir::Constant>;

Result<NativeEvent> find_event(const LinkedImage& linked, const NativeInput& input) {
  const auto of = [&](const std::string& name) {
    const auto it = linked.symbols.find(name);
    return it == linked.symbols.end() ? NativeFunction{} : it->second;
  };
  const NativeEvent event{of(input.name), of(data_block_of(input.name)).entry};
  if (!event.extractor.size || !of(data_block_of(input.name)).size)
    return std::unexpected(Error("extractor `" + input.name + "` is missing"));
  return event;
}

Result<void> refuse(std::span<const NativeModule> modules) {
  for (const NativeModule& module : modules)
    for (const NativeInput& input : module.inputs)
      if (std::string why = native_refusal(*input.program); !why.empty())
        return std::unexpected(Error(input.name + ": " + why));
  return {};
}

// The first program's constants that are not the same in all programs.
Constants varying(const std::vector<Constants>& family) {
  Constants differ;
  for (std::size_t i = 0; i < family.front().size(); ++i) {
    const auto is_other = [&](const Constants& member) { return member.at(i).word != family.front()[i].word; };
    if (std::ranges::any_of(family, is_other)) differ.push_back(family.front()[i]);
  }
  return differ;
}

// Whether `word` fits the bytes of `place`, which the instruction sign- or zero-extends.
bool fits(std::int64_t word, const ConstantPlace& place) {
  if (place.bytes == 8) return true;
  return place.is_signed ? word == static_cast<std::int32_t>(word)
                         : word == static_cast<std::int64_t>(static_cast<std::uint32_t>(word));
}

// nullopt: a constant does not fit its instruction.
std::optional<model::NativeImage> with_constants(const LinkedImage& linked, const Constants& constants) {
  model::NativeImage image = linked.image;
  for (const ConstantPlace& place : linked.constants) {
    const auto constant = std::ranges::find(constants, place.position, &ir::Constant::position);
    KEVT_ASSERT(constant != constants.end());
    const std::int64_t word = constant->word + place.addend;
    if (!fits(word, place)) return std::nullopt;
    std::memcpy(image.bytes.data() + place.offset, &word, place.bytes);
  }
  return image;
}

// How LLVM compiles a module: of a family only the first program, with the constants left open that differ in others.
class Plan {
 public:
  explicit Plan(const NativeModule& module) : inputs_(module.inputs) {
    if (!module.is_family) return;
    for (const NativeInput& member : inputs_) family_.push_back(ir::exchangeable_constants(*member.program));
    for (const Constants& one : family_) KEVT_ASSERT(one.size() == family_.front().size());
    varying_ = varying(family_);
  }
  // From now on the programs are compiled with their own numbers, as those of any other module.
  void give_up_family() {
    family_.clear();
    varying_.clear();
  }
  ModuleRequest request() const {
    return {.inputs = family_.empty() ? inputs_ : inputs_.first(1), .varying = varying_};
  }
  // Empty: a constant of the family does not fit its instruction.
  Result<std::vector<NativeOutput>> outputs(ModuleOutput made) const {
    std::vector<NativeOutput> outputs;
    if (!family_.empty()) {
      const auto event = find_event(made.linked, inputs_.front());
      if (!event) return std::unexpected(event.error());
      for (const Constants& constants : family_) {
        auto image = with_constants(made.linked, constants);
        if (!image) return std::vector<NativeOutput>();
        outputs.push_back({.image = std::move(*image), .events = {*event}, .llvm_ir = {}});
      }
      return outputs;
    }
    NativeOutput& out = outputs.emplace_back();
    for (const NativeInput& input : inputs_) {
      auto event = KEVT_TRY(find_event(made.linked, input));
      out.events.push_back(event);
    }
    out.image = std::move(made.linked.image);
    out.llvm_ir = std::move(made.llvm_ir);
    return outputs;
  }

 private:
  std::span<const NativeInput> inputs_;
  std::vector<Constants> family_;  // constants of each member; empty: the module is no family
  Constants varying_;
};

// Compiles the `wanted` plans and fills in their outputs. Returns the plans whose family has to be given up.
Result<std::vector<std::size_t>> compile_plans(std::span<const Plan> plans, std::span<const std::size_t> wanted,
                                               KeepIr keep_ir, std::vector<std::vector<NativeOutput>>& outputs) {
  std::vector<ModuleRequest> requests;
  for (const std::size_t plan : wanted) requests.push_back(plans[plan].request());
  auto made = KEVT_TRY(compile_in_session(requests, keep_ir));
  std::vector<std::size_t> given_up;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    auto output = KEVT_TRY(plans[wanted[i]].outputs(std::move(made[i])));
    if (output.empty()) given_up.push_back(wanted[i]);
    outputs[wanted[i]] = std::move(output);
  }
  return given_up;
}

}  // namespace

Result<std::vector<std::vector<NativeOutput>>> compile_modules(std::span<const NativeModule> modules, KeepIr keep_ir) {
  KEVT_TRY(refuse(modules));
  std::vector<Plan> plans;
  std::vector<std::size_t> wanted;
  for (const NativeModule& module : modules) {
    if (!module.inputs.empty()) wanted.push_back(plans.size());
    plans.emplace_back(module);
  }
  std::vector<std::vector<NativeOutput>> outputs(modules.size());
  bool has_families = std::ranges::any_of(modules, &NativeModule::is_family);
  while (!wanted.empty()) {
    auto given_up = compile_plans(plans, wanted, keep_ir, outputs);
    if (!given_up && std::exchange(has_families, false)) given_up = wanted;  // open constants may be the reason
    if (!given_up) return std::unexpected(std::move(given_up.error()));
    for (const std::size_t plan : *given_up) plans[plan].give_up_family();
    wanted = std::move(*given_up);
  }
  return outputs;
}

}  // namespace kevt::codegen
