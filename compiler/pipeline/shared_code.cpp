// LLVM takes milliseconds for an event, and 1,000 probes with the same arguments are one program 1,000 times: what
// differs, the event's id and address, is in the data block beside the code.
//
//   p:a f x=%di     p:b g x=%di     r:c f v=$retval     p:d h y=%si      programs A A C D
//   modules: [A] alone, as it will be copied        [C D] together, as LLVM's fixed cost is paid once for both
//
// Modules know nothing of each other, so that each CPU compiles one at a time. The result does not depend on which.
// Programs are equal when their text form is.
#include "compiler/pipeline/shared_code.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>
#include <unordered_map>
#include <utility>

#include "compiler/ir/text.h"

namespace kevt::pipeline {

namespace {

constexpr std::size_t kTogether = 16;  // programs in one module

// Programs that are compiled together, by the number of the first that is equal to each.
using Module = std::vector<std::size_t>;

// For each program the first one that equals it, and where it stands if it was made earlier.
struct Sorted {
  std::vector<std::size_t> firsts;
  std::vector<const CodeStore::Place*> made;  // nullptr: to be compiled
};
Sorted sort_programs(std::span<const ir::Program> programs, const CodeStore* made) {
  std::unordered_map<std::string, std::size_t> first;
  Sorted result;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const auto [known, added] = first.emplace(ir::print(programs[i]), i);
    result.firsts.push_back(known->second);
    result.made.push_back(made == nullptr ? nullptr : made->find(known->first));
  }
  return result;
}

std::vector<Module> plan_modules(const Sorted& sorted) {
  std::vector<std::size_t> users(sorted.firsts.size());
  for (std::size_t i = 0; i < sorted.firsts.size(); ++i)
    if (sorted.made[i] == nullptr) ++users[sorted.firsts[i]];
  std::vector<Module> modules;
  Module together;
  for (std::size_t i = 0; i < users.size(); ++i) {
    if (users[i] > 1) modules.push_back({i});
    if (users[i] == 1) together.push_back(i);
    if (together.size() == kTogether) modules.push_back(std::exchange(together, {}));
  }
  if (!together.empty()) modules.push_back(std::move(together));
  return modules;
}

// Images of the store that are used, copied once each behind those that were compiled.
class TakenImages {
 public:
  TakenImages(const CodeStore& store, SharedCode& code) : store_(store), code_(code) {}

  SharedCode::Place take(const CodeStore::Place& place) {
    const auto [known, added] = where_.try_emplace(place.image, static_cast<std::uint32_t>(code_.images.size()));
    if (added) code_.images.push_back(store_.images()[place.image]);
    return {known->second, place.event, place.register_reads};
  }

 private:
  const CodeStore& store_;
  SharedCode& code_;
  std::unordered_map<std::uint32_t, std::uint32_t> where_;
};

// Calls `work` for each of `count` numbers, on as many threads as there are CPUs.
template <class Work>
void in_parallel(std::size_t count, Work work) {
  std::atomic<std::size_t> next = 0;
  const auto take = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::jthread> helpers;
  const std::size_t cpus = std::max(1u, std::thread::hardware_concurrency());
  for (std::size_t i = 1; i < std::min(cpus, count); ++i) helpers.emplace_back(take);
  take();
}

}  // namespace

Result<SharedCode> compile_programs(std::span<const ir::Program> programs, std::span<const std::string> names,
                                    codegen::KeepIr keep_ir, const CodeStore* made) {
  const Sorted sorted = sort_programs(programs, made);
  const std::vector<Module> modules = plan_modules(sorted);
  std::vector<Result<codegen::NativeOutput>> outputs(modules.size());
  in_parallel(modules.size(), [&](std::size_t m) {
    std::vector<codegen::NativeInput> inputs;
    for (std::size_t i : modules[m]) inputs.push_back({names[i], &programs[i]});
    outputs[m] = codegen::compile_native(inputs, keep_ir);
  });

  SharedCode code;
  code.places.resize(programs.size());
  for (std::size_t m = 0; m < modules.size(); ++m) {
    if (!outputs[m]) return std::unexpected(std::move(outputs[m].error()));
    for (std::size_t k = 0; k < modules[m].size(); ++k) {
      const std::size_t i = modules[m][k];
      code.places[i] = {static_cast<std::uint32_t>(m), outputs[m]->events[k],
                        codegen::registers_from_frame(programs[i])};
    }
    code.images.push_back(std::move(outputs[m]->image));
    code.llvm_ir += outputs[m]->llvm_ir;
  }
  if (made != nullptr) {
    TakenImages taken(*made, code);
    for (std::size_t i = 0; i < programs.size(); ++i)
      if (sorted.made[i] != nullptr) code.places[i] = taken.take(*sorted.made[i]);
  }
  for (std::size_t i = 0; i < programs.size(); ++i) code.places[i] = code.places[sorted.firsts[i]];
  return code;
}

Result<SharedBpf> compile_bpf_programs(std::span<const ir::Program> programs, std::span<const std::string> names,
                                       std::span<const model::BpfContext> contexts, unsigned possible_cpus,
                                       codegen::KeepIr keep_ir) {
  std::map<std::pair<model::BpfContext, std::string>, std::vector<std::size_t>> users;
  for (std::size_t i = 0; i < programs.size(); ++i) users[{contexts[i], ir::print(programs[i])}].push_back(i);
  std::vector<codegen::BpfInput> inputs;
  SharedBpf out;
  out.places.resize(programs.size());
  for (const auto& [text, same] : users) {
    for (std::size_t i : same) out.places[i] = static_cast<std::uint32_t>(inputs.size());
    inputs.push_back({.name = names[same.front()],
                      .program = &programs[same.front()],
                      .context = contexts[same.front()],
                      .users = same.size() > 1 ? codegen::BpfUsers::Many : codegen::BpfUsers::One});
  }
  const std::size_t modules = (inputs.size() + kTogether - 1) / kTogether;
  std::vector<Result<codegen::BpfOutput>> made(modules);
  in_parallel(modules, [&](std::size_t m) {
    const std::size_t first = m * kTogether;
    const auto part = std::span(inputs).subspan(first, std::min(kTogether, inputs.size() - first));
    made[m] = codegen::compile_bpf(part, possible_cpus, keep_ir);
  });
  for (Result<codegen::BpfOutput>& part : made) {
    if (!part) return std::unexpected(std::move(part.error()));
    for (model::BpfCode& code : part->programs) out.programs.push_back(std::move(code));
    out.llvm_ir += part->llvm_ir;
  }
  return out;
}

}  // namespace kevt::pipeline
