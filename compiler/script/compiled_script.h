// Compiled scripts (*.kevo): an event script with the machine code of its events, for machines without LLVM.
//
// A .kevo is a program: its code runs inside the traced process, or in the kernel as far as the kernel allows. Its
// checksum finds damage, not malice.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"
#include "compiler/model/compiled_event.h"

namespace kevt::script {

inline constexpr std::uint32_t kNoCode = 0xffffffff;
// Code for the kernel is made for this many CPUs: it runs on machines with as many or fewer.
inline constexpr unsigned kStoredCpus = 64;

// One event: its code, and the texts that must be the same on the machine that runs it.
struct StoredEvent {
  std::string listing;                   // as dynamic_events lists it
  std::string format;                    // its `format` file, id 0
  std::string program;                   // key of the code: fetch IR as text; with open numbers its layout shape
  std::vector<model::SlotSource> slots;  // resolved at load: symbols and files; `address` is not kept
  std::uint32_t image = 0;               // this and the next as in CompiledEvent; kNoCode: no code for processes
  std::uint32_t entry = 0;
  std::uint32_t code_size = 0;
  std::uint32_t block = 0;
  std::uint32_t register_reads = 0;
  std::uint32_t bpf = kNoCode;  // index into CompiledScript::bpf; kNoCode: no code for the kernel
};

struct CompiledScript {
  std::string made_by;  // "kevtrace 0.1.0"
  std::string text;     // the script, with everything written out that types completed
  std::vector<StoredEvent> events;
  std::vector<model::NativeImage> images;
  std::vector<model::BpfCode> bpf;  // one for all events that are the same program
};

// Whether `bytes` begin as such a file does.
bool is_compiled_script(std::string_view bytes);

std::string write_compiled_script(const CompiledScript& script);
// Fails if the bytes are damaged, cut off, of another version or for another agent. In the result every offset lies
// inside its image.
Result<CompiledScript> read_compiled_script(std::string_view bytes);

}  // namespace kevt::script
