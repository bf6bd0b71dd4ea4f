// LLVM takes milliseconds for an event, and 1,000 probes with the same arguments are the same program 1,000 times:
// their differences, the event's id and address, are in the data block beside the code.
//
//   p:a f x=%di     p:b g x=%di     r:c f v=$retval     p:d h y=%si      programs A A C D
//   p:e i z=+8(%di)     p:j k z=+16(%di)                                   and E F, of one shape
//   modules: [A] alone, as it will be copied        [C D] together, as LLVM's fixed cost is paid once for both
//            [E F] as a family: compiled as one, then each gets its numbers
//
// Modules are independent, so each CPU compiles one at a time (codegen::compile_modules); the result does not depend on
// which CPU. Programs are equal if their text forms are.
#include "compiler/pipeline/shared_code.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "compiler/ir/shape.h"
#include "compiler/ir/text.h"
#include "compiler/pipeline/compile_modules.h"

namespace kevt::pipeline {

namespace {

// Programs that are compiled together. Of equal programs the index of the first stands for all.
struct Module {
  std::vector<std::size_t> programs;
  bool is_family = false;  // all programs have one shape; each gets an image
};

// Where code that was made earlier is.
struct Made {
  const CodeStore* store = nullptr;  // nullptr: the program must be compiled
  const CodeStore::Place* place = nullptr;
};
struct Sorted {
  std::vector<std::string> texts;
  std::vector<std::size_t> firsts;
  std::vector<Made> made;
};

Made find_native(const std::string& program, MadeCode made) {
  for (const CodeStore* store : {made.precompiled, static_cast<const CodeStore*>(made.kept)})
    if (const auto* place = store ? store->find(program) : nullptr) return {store, place};
  return {};
}

Sorted sort_programs(std::span<const ir::Program> programs, MadeCode made) {
  std::unordered_map<std::string_view, std::size_t> first;
  Sorted result;
  result.texts.reserve(programs.size());  // the map's keys are views of the texts
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const std::string& text = result.texts.emplace_back(ir::print(programs[i]));
    const auto [known, added] = first.emplace(text, i);
    result.firsts.push_back(known->second);
    result.made.push_back(added ? find_native(text, made) : result.made[known->second]);
  }
  return result;
}

// Groups the programs that must be compiled by their shapes.
std::vector<std::vector<std::size_t>> group_shapes(std::span<const ir::Program> programs, const Sorted& sorted) {
  std::unordered_map<std::string, std::size_t> known;
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    if (sorted.made[i].place != nullptr || sorted.firsts[i] != i) continue;
    const auto [group, added] = known.emplace(ir::shape_of(programs[i]), groups.size());
    if (added) groups.emplace_back();
    groups[group->second].push_back(i);
  }
  return groups;
}

// No families are made if LLVM's text is kept: its reader wants to see the numbers.
std::vector<Module> plan_modules(std::span<const ir::Program> programs, const Sorted& sorted, codegen::KeepIr keep_ir) {
  std::vector<std::size_t> users(sorted.firsts.size());
  for (const std::size_t first : sorted.firsts) ++users[first];
  std::vector<Module> modules;
  Module together;
  const auto add = [&](std::size_t program) {
    if (users[program] > 1) return modules.push_back({{program}});
    together.programs.push_back(program);
    if (together.programs.size() == kTogether) modules.push_back(std::exchange(together, {}));
  };
  for (const std::vector<std::size_t>& group : group_shapes(programs, sorted)) {
    if (group.size() > 1 && keep_ir == codegen::KeepIr::No) {
      modules.push_back({group, true});
    } else {
      std::ranges::for_each(group, add);
    }
  }
  if (!together.programs.empty()) modules.push_back(std::move(together));
  return modules;
}

using Outputs = std::vector<codegen::NativeOutput>;

// Appends the outputs of `module` to `code`, and notes where its programs are.
void take_outputs(const Module& module, std::span<const ir::Program> programs, Outputs outputs, SharedCode& code) {
  std::size_t next = 0;
  for (codegen::NativeOutput& output : outputs) {
    for (const codegen::NativeEvent& event : output.events) {
      const std::size_t program = module.programs.at(next++);
      code.places[program] = {static_cast<std::uint32_t>(code.images.size()), event,
                              codegen::registers_from_frame(programs[program])};
    }
    code.images.push_back(std::move(output.image));
    code.llvm_ir += output.llvm_ir;
  }
}

// Keeps the code that was compiled now, for later requests of the same programs.
void keep_compiled(const SharedCode& code, const Sorted& sorted, CodeStore& kept) {
  std::unordered_map<std::uint32_t, std::uint32_t> where;
  for (std::size_t i = 0; i < sorted.firsts.size(); ++i) {
    if (sorted.firsts[i] != i || sorted.made[i].place != nullptr) continue;
    const SharedCode::Place& place = code.places[i];
    const auto [known, added] = where.try_emplace(place.image, 0);
    if (added) known->second = kept.add_image(code.images[place.image]);
    kept.add(sorted.texts[i], {known->second, place.event, place.register_reads});
  }
}

// Copies each image that is used of a store once, behind the images that were compiled.
class TakenImages {
 public:
  explicit TakenImages(SharedCode& code) : code_(code) {}

  SharedCode::Place take(const Made& made) {
    const CodeStore::Place& place = *made.place;
    const auto [known, added] =
        where_.try_emplace({made.store, place.image}, static_cast<std::uint32_t>(code_.images.size()));
    if (added) code_.images.push_back(made.store->images()[place.image]);
    return {known->second, place.event, place.register_reads};
  }

 private:
  SharedCode& code_;
  std::map<std::pair<const CodeStore*, std::uint32_t>, std::uint32_t> where_;
};

}  // namespace

Result<SharedCode> compile_programs(std::span<const ir::Program> programs, std::span<const std::string> names,
                                    codegen::KeepIr keep_ir, MadeCode made) {
  const Sorted sorted = sort_programs(programs, made);
  const std::vector<Module> modules = plan_modules(programs, sorted, keep_ir);
  std::vector<codegen::NativeModule> requests;
  for (const Module& module : modules) {
    codegen::NativeModule& request = requests.emplace_back();
    request.is_family = module.is_family;
    for (const std::size_t i : module.programs) request.inputs.push_back({names[i], &programs[i]});
  }
  auto outputs = modules.empty() ? Result<std::vector<Outputs>>(std::vector<Outputs>())
                                 : codegen::compile_modules(requests, keep_ir);
  if (!outputs) return failed(std::move(outputs.error()), made.precompiled);

  SharedCode code;
  code.places.resize(programs.size());
  for (std::size_t m = 0; m < modules.size(); ++m) take_outputs(modules[m], programs, std::move((*outputs)[m]), code);
  if (made.kept != nullptr) keep_compiled(code, sorted, *made.kept);
  TakenImages taken(code);
  for (std::size_t i = 0; i < programs.size(); ++i)
    if (sorted.made[i].place != nullptr) code.places[i] = taken.take(sorted.made[i]);
  for (std::size_t i = 0; i < programs.size(); ++i) code.places[i] = code.places[sorted.firsts[i]];
  return code;
}

}  // namespace kevt::pipeline
