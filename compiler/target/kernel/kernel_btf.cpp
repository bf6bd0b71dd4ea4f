// BTF of the kernel that runs, read when the first definition needs a type.
//
//   vfs_read              /sys/kernel/btf/vmlinux: FUNC vfs_read, its prototype
//   v9fs_mount of 9p      /sys/kernel/btf/vmlinux, and 9p's own types behind it
//
// Problem: the file is large and most definitions name no type. Idea: a table for the kernel and one for each module
// that is asked for, made at the first question. A module's table has the kernel's types, too. So the kernel's file may
// be read twice, which is rare, but a table that was handed out never changes.
#include "compiler/target/kernel/kernel_btf.h"

#include <fmt/format.h>

#include <filesystem>
#include <vector>

#include "compiler/target/types/btf.h"

namespace kevt::target {

namespace {

std::unexpected<TypesError> missing(std::string why) {
  return std::unexpected(TypesError{TypesFailure::Missing, std::move(why)});
}

}  // namespace

std::expected<FunctionTypes, TypesError> kernel_prototype(const TypeTable& types, std::string_view function,
                                                          std::uint32_t hidden) {
  const auto id = types.find_function(function);
  if (!id) return missing("");
  const TypeId prototype = types.type(*id).target;
  const Type& type = types.type(prototype);
  if (type.kind != TypeClass::Prototype) return missing("");
  const auto count = static_cast<std::uint32_t>(types.members(type).size());
  return FunctionTypes{.table = &types,
                       .prototype = prototype,
                       .first_parameter = count == 0 ? 0 : hidden,
                       .parameters = count > hidden ? count - hidden : 0};
}

std::string KernelBtf::kernel_file() const {
  std::error_code error;
  return std::filesystem::is_directory(path_, error) ? path_ + "/vmlinux" : path_;
}

const Result<TypeTable>& KernelBtf::types(const std::string& module) const {
  const std::scoped_lock lock(mutex_);
  if (const auto known = tables_.find(module); known != tables_.end()) return known->second;
  std::vector<std::string> files = {kernel_file()};
  if (!module.empty()) files.push_back(path_ + "/" + module);
  const bool leaves = module.find('/') != std::string::npos || module.starts_with('.');
  return tables_
      .emplace(module, leaves ? std::unexpected(Error("`" + module + "` is no module's name")) : read_btf_files(files))
      .first->second;
}

std::expected<FunctionTypes, TypesError> KernelBtf::prototype(const std::string& module,
                                                              std::string_view function) const {
  const Result<TypeTable>& table = types(module);
  if (!table) return missing("its types are not known: " + table.error().message());
  auto found = kernel_prototype(*table, function, 0);
  if (found) return found;
  return missing(
      fmt::format("`{}` does not tell of `{}`", module.empty() ? kernel_file() : path_ + "/" + module, function));
}

}  // namespace kevt::target
