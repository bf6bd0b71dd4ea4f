// The types of a kernel and of its modules: a folder with one BTF file each (/sys/kernel/btf), or the kernel's file
// alone.
//
// Nothing is read before someone asks: the kernel's file holds some 100,000 types. Types that were read are kept, and
// so is the error of a file that could not be read. Thread safe.
#pragma once

#include <expected>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "common/error.h"
#include "compiler/target/target_env.h"
#include "compiler/target/types/type_table.h"

namespace kevt::target {

// The parameters of `function` in BTF, without its first `hidden` ones, which the kernel passes and not the caller.
std::expected<FunctionTypes, TypesError> kernel_prototype(const TypeTable& types, std::string_view function,
                                                          std::uint32_t hidden);

class KernelBtf {
 public:
  explicit KernelBtf(std::string path) : path_(std::move(path)) {}

  // The kernel's types, and behind them those of `module` unless it is empty. The result lives as long as this object.
  const Result<TypeTable>& types(const std::string& module) const;
  // Fails, with the reason, if the file cannot be read or does not describe the function.
  std::expected<FunctionTypes, TypesError> prototype(const std::string& module, std::string_view function) const;

 private:
  std::string kernel_file() const;

  std::string path_;
  mutable std::mutex mutex_;  // guards tables_
  mutable std::map<std::string, Result<TypeTable>> tables_;
};

}  // namespace kevt::target
