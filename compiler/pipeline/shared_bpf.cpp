// Which BPF programs the events need, and where the code of each comes from.
//
//   p:a vfs_read n=$arg3   p:b vfs_write n=$arg3     one program, whose hits find their event by a cookie
//   p:c vfs_read ino=file->f_inode->i_ino            from a .kevo that was made elsewhere: its code, with the numbers
//   of
//                                                    this kernel written into it
//
// Code with open numbers belongs to a layout shape (ir/type_relocations.h): what is read, in which order, and how many
// bytes. If this kernel's types lead to another shape, the code does not fit, and is not taken.
#include "compiler/pipeline/shared_bpf.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "compiler/ir/text.h"
#include "compiler/ir/type_relocations.h"
#include "compiler/pipeline/compile_modules.h"

namespace kevt::pipeline {

namespace {

using codegen::BpfNumbers;
using codegen::BpfUsers;
using Tasks = std::vector<std::size_t>;  // indices of tasks with the same code

// Writes `number` into a 16-byte load, which is `instruction` and the next one: into the upper half of each (struct
// bpf_insn).
void write_number(model::BpfCode& code, std::uint32_t instruction, std::int64_t number) {
  constexpr std::uint64_t kLowHalf = 0xffff'ffff;
  const auto word = static_cast<std::uint64_t>(number);
  std::uint64_t& low = code.instructions.at(instruction);
  std::uint64_t& high = code.instructions.at(instruction + 1);
  low = (low & kLowHalf) | word << 32;
  high = (high & kLowHalf) | (word & ~kLowHalf);
}

// Fills in the code's open numbers. nullopt: the code has a number that the program lacks (from a damaged file).
std::optional<model::BpfCode> with_numbers(model::BpfCode code, const BpfTask& task) {
  const auto numbers = ir::type_relocations(*task.program, task.context);
  for (const model::BpfNumber& open : code.numbers) {
    if (open.number >= numbers.size()) return std::nullopt;
    write_number(code, open.instruction, numbers[open.number].word);
  }
  code.numbers.clear();
  return code;
}

std::optional<model::BpfCode> find_made(const BpfTask& task, BpfUsers users, const CodeStore& made, unsigned cpus) {
  const auto find = [&](BpfNumbers numbers) {
    return made.find_bpf(bpf_key(task, numbers), task.context, users, cpus);
  };
  if (task.uses_target_types)
    if (const model::BpfCode* open = find(BpfNumbers::Open)) return with_numbers(*open, task);
  const model::BpfCode* known = find(BpfNumbers::Known);
  return known ? std::optional(*known) : std::nullopt;
}

class Sharing {
 public:
  Sharing(std::span<const BpfTask> tasks, const BpfRequest& request) : tasks_(tasks), request_(request) {
    out_.places.resize(tasks.size());
  }

  Result<SharedBpf> share() {
    // The last part of the key is the event's number if events cannot share a program: without a cookie, or with
    // histograms, since each event counts in its own tables.
    std::map<std::tuple<model::BpfContext, std::string, bool, std::size_t>, Tasks> same;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      const BpfTask& task = tasks_[i];
      const std::size_t alone = model::has_cookie(task.context) && task.program->aggregates.empty() ? 0 : i;
      same[{task.context, ir::print(*task.program), task.uses_target_types, alone}].push_back(i);
    }
    std::vector<Tasks> missing;
    for (const auto& [key, tasks] : same)
      if (!take_made(tasks)) missing.push_back(tasks);
    if (auto compiled = compile(missing); !compiled) return failed(std::move(compiled.error()), request_.made);
    return std::move(out_);
  }

 private:
  void give(const Tasks& tasks) {
    for (const std::size_t i : tasks) out_.places[i] = static_cast<std::uint32_t>(out_.programs.size());
  }

  // Code that was made for one event serves several events as one copy for each; code for several events serves one.
  bool take_made(const Tasks& tasks) {
    if (request_.made == nullptr) return false;
    const auto find = [&](BpfUsers users) {
      return find_made(tasks_[tasks.front()], users, *request_.made, request_.possible_cpus);
    };
    auto one = find(BpfUsers::One);
    auto many = tasks.size() > 1 || !one ? find(BpfUsers::Many) : std::nullopt;
    if (!one && !many) return false;
    if (many) {
      give(tasks);
      out_.programs.push_back(*std::move(many));
      return true;
    }
    for (const std::size_t task : tasks) {
      give({task});
      out_.programs.push_back(*one);
    }
    return true;
  }

  codegen::BpfInput input(const Tasks& tasks) const {
    const BpfTask& task = tasks_[tasks.front()];
    return {.name = task.name,
            .program = task.program,
            .context = task.context,
            .users = tasks.size() > 1 ? BpfUsers::Many : BpfUsers::One,
            .numbers = task.uses_target_types ? request_.numbers : BpfNumbers::Known};
  }

  Result<void> compile(const std::vector<Tasks>& missing) {
    std::vector<codegen::BpfInput> inputs;
    for (const Tasks& tasks : missing) inputs.push_back(input(tasks));
    const std::size_t modules = (inputs.size() + kTogether - 1) / kTogether;
    std::vector<Result<codegen::BpfOutput>> outputs(modules);
    in_parallel(modules, [&](std::size_t m) {
      const std::size_t first = m * kTogether;
      const auto part = std::span(inputs).subspan(first, std::min(kTogether, inputs.size() - first));
      outputs[m] = codegen::compile_bpf(part, request_.possible_cpus, request_.keep_ir);
    });
    std::size_t next = 0;
    for (Result<codegen::BpfOutput>& part : outputs) {
      if (!part) return std::unexpected(std::move(part.error()));
      for (model::BpfCode& code : part->programs) {
        give(missing[next++]);
        out_.programs.push_back(std::move(code));
      }
      out_.llvm_ir += part->llvm_ir;
    }
    return {};
  }

  std::span<const BpfTask> tasks_;
  const BpfRequest& request_;
  SharedBpf out_;
};

}  // namespace

std::string bpf_key(const BpfTask& task, BpfNumbers numbers) {
  const bool open = task.uses_target_types && numbers == BpfNumbers::Open;
  return open ? ir::layout_shape(*task.program, task.context) : ir::print(*task.program);
}

bool is_made(const BpfTask& task, const CodeStore& made, unsigned possible_cpus) {
  return find_made(task, BpfUsers::One, made, possible_cpus) || find_made(task, BpfUsers::Many, made, possible_cpus);
}

Result<SharedBpf> compile_bpf_programs(std::span<const BpfTask> tasks, const BpfRequest& request) {
  return Sharing(tasks, request).share();
}

}  // namespace kevt::pipeline
