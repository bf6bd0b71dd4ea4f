// What a compiled script asks of the kernels that it is made for.
//
//   vfs_read           FUNC vfs_read of the kernel's BTF           9p:v9fs_mount    of the module's, from the same
//   folder t sched_switch     FUNC __probestub_sched_switch, before 6.5 __traceiter_sched_switch
//
// Without symbols nobody knows which module has a function: one that is named without its module is looked for in the
// kernel's types alone.
#include "compiler/target/kernel/kernel_of_types.h"

namespace kevt::target {

Result<void> KernelOfTypes::read() const {
  if (!btf_) return {};
  const Result<TypeTable>& types = btf_->types("");
  if (!types) return std::unexpected(types.error());
  return {};
}

std::expected<FunctionTypes, TypesError> KernelOfTypes::function_types(std::optional<std::string_view> module,
                                                                       std::string_view name) const {
  if (!btf_) return std::unexpected(TypesError{});
  return btf_->prototype(std::string(module.value_or("")), name);
}

std::expected<FunctionTypes, TypesError> KernelOfTypes::tracepoint_types(std::string_view name) const {
  const TypeTable* types = named_types();
  if (types == nullptr) return std::unexpected(TypesError{});
  for (const char* prefix : {"__probestub_", "__traceiter_"})  // the first argument is the callback's own
    if (auto found = kernel_prototype(*types, prefix + std::string(name), 1)) return found;
  return std::unexpected(TypesError{TypesFailure::Missing, "BTF does not tell of this tracepoint"});
}

const TypeTable* KernelOfTypes::named_types() const {
  const Result<TypeTable>* types = btf_ ? &btf_->types("") : nullptr;
  return types != nullptr && *types ? &**types : nullptr;
}

}  // namespace kevt::target
