// The types of a kernel and of its modules: a folder with one BTF file each (/sys/kernel/btf), or the kernel's file
// alone.
//
// Nothing is read before someone asks: the kernel's file holds some 100,000 types. What was read stays, what could not
// be read stays an error. May be asked by several threads.
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

// What BTF says of `function`, whose first `hidden` arguments are not the caller's.
std::expected<FunctionTypes, TypesError> kernel_prototype(const TypeTable& types, std::string_view function,
                                                          std::uint32_t hidden);

class KernelBtf {
 public:
  explicit KernelBtf(std::string path) : path_(std::move(path)) {}

  // The kernel's types, and behind them those of `module` where it is not empty. Good as long as this is.
  const Result<TypeTable>& types(const std::string& module) const;
  // Fails, with the reason, where the file cannot be read or does not tell of the function.
  std::expected<FunctionTypes, TypesError> prototype(const std::string& module, std::string_view function) const;

 private:
  std::string kernel_file() const;

  std::string path_;
  mutable std::mutex mutex_;  // of tables_
  mutable std::map<std::string, Result<TypeTable>> tables_;
};

}  // namespace kevt::target
