// LLVM is large and not everywhere: it is loaded when something is compiled, not when kevtrace starts.
//
//   kevtrace run FILE.kevo   never comes here          kevtrace run -e …   dlopen(…/lib/libkevt-llvm.so) →
//   libLLVM-19.so
//
// The functions of native.h and bpf.h exist twice: here, forwarding, and in the library, where its own version script
// hides them. The library is never unloaded: LLVM keeps state until the end.
#include "compiler/codegen/backend.h"

#include <dlfcn.h>

#include <cerrno>

#include "common/installed_file.h"

namespace kevt::codegen {

namespace {

constexpr const char* kLibrary = "libkevt-llvm.so";

Error cannot_load(const std::string& why) {
  return Error("LLVM cannot be loaded, so nothing can be compiled here (compiled scripts run): " + why, ELIBACC);
}

Result<const Backend*> load() {
  const auto path = find_backend();
  if (!path) return std::unexpected(path.error());
  void* library = ::dlopen(path->c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::unexpected(cannot_load(::dlerror()));
  const auto entry = reinterpret_cast<decltype(&kevt_codegen_backend)>(::dlsym(library, "kevt_codegen_backend"));
  const Backend* backend = entry == nullptr ? nullptr : entry();
  if (backend != nullptr && backend->version == kBackendVersion && backend->layout == kBackendLayout) return backend;
  return std::unexpected(cannot_load("`" + *path + "` belongs to another kevtrace"));
}

}  // namespace

Result<std::string> find_backend() {
  auto found = installed_file(kLibrary);
  if (found) return *std::move(found);
  if (found.error().empty()) return std::unexpected(cannot_load("the program's own folder is not known"));
  return std::unexpected(cannot_load("there is no `" + found.error() + "`"));
}

Result<const Backend*> load_backend() {
  static const Result<const Backend*> backend = load();
  return backend;
}

Result<std::vector<std::vector<NativeOutput>>> compile_modules(std::span<const NativeModule> modules, KeepIr keep_ir) {
  const auto backend = load_backend();
  if (!backend) return std::unexpected(backend.error());
  return (*backend)->compile_modules(modules, keep_ir);
}

Result<BpfOutput> compile_bpf(std::span<const BpfInput> inputs, unsigned possible_cpus, KeepIr keep_ir) {
  const auto backend = load_backend();
  if (!backend) return std::unexpected(backend.error());
  return (*backend)->compile_bpf(inputs, possible_cpus, keep_ir);
}

std::string bpf_refusal(const ir::Program& program) {
  const auto backend = load_backend();
  return backend ? (*backend)->bpf_refusal(program) : backend.error().message();
}

std::uint32_t registers_from_frame(const ir::Program& program) {
  const auto backend = load_backend();
  return backend ? (*backend)->registers_from_frame(program) : 0;
}

std::string disassemble(std::span<const std::uint8_t> code, std::uint64_t base, Machine machine) {
  const auto backend = load_backend();
  return backend ? (*backend)->disassemble(code, base, machine) : backend.error().message() + "\n";
}

}  // namespace kevt::codegen
