// The only function that the library exports.
#include "compiler/codegen/backend.h"

extern "C" const kevt::codegen::Backend* kevt_codegen_backend() {
  using namespace kevt::codegen;
  static const Backend backend = {.version = kBackendVersion,
                                  .layout = kBackendLayout,
                                  .compile_modules = compile_modules,
                                  .compile_bpf = compile_bpf,
                                  .bpf_refusal = bpf_refusal,
                                  .registers_from_frame = registers_from_frame,
                                  .disassemble = disassemble};
  return &backend;
}
