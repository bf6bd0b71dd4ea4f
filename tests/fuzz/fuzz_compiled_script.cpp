// The problem: a .kevo comes from anywhere, and what it holds is executed.
//
// The idea: any bytes are read as a whole file, and as the payload behind a header that is right, so that a wrong
// checksum hides nothing. What is taken has every offset inside its image, and is written again as the same bytes.
#include <cstdlib>
#include <cstring>
#include <string>

#include "common/abi/bpf.h"
#include "common/abi/probe.h"
#include "compiler/script/compiled_script.h"
#include "tests/fuzz/fuzz_entry.h"

namespace {

using kevt::script::CompiledScript;

constexpr std::size_t kHeaderBytes = 32;

void require(bool promise) {
  if (!promise) std::abort();
}

std::string sealed(std::string_view payload) {
  std::string bytes = kevt::script::write_compiled_script({}).substr(0, kHeaderBytes);
  std::uint64_t sum = 0xcbf29ce484222325;
  for (const char byte : payload) sum = (sum ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  const std::uint64_t size = payload.size();
  std::memcpy(bytes.data() + 16, &size, sizeof size);
  std::memcpy(bytes.data() + 24, &sum, sizeof sum);
  return bytes + std::string(payload);
}

void check(const std::string& bytes) {
  const auto read = kevt::script::read_compiled_script(bytes);
  if (!read) return require(!read.error().message().empty());
  for (const auto& event : read->events) {
    if (event.bpf != kevt::script::kNoCode) {
      const auto& code = read->bpf.at(event.bpf);
      for (const auto& reference : code.references)
        require(std::uint64_t{reference.instruction} + 1 < code.instructions.size());
      for (const auto& number : code.numbers) require(std::uint64_t{number.instruction} + 1 < code.instructions.size());
    }
    if (event.image == kevt::script::kNoCode) continue;
    const std::uint64_t size = read->images.at(event.image).bytes.size();
    require(std::uint64_t{event.entry} + event.code_size <= size);
    require(std::uint64_t{event.block} + sizeof(kevt_event) + 8 * event.slots.size() <= size);
  }
  for (const auto& image : read->images)
    for (const auto& fault : image.faults)
      require(fault.fault < image.bytes.size() && fault.fixup < image.bytes.size());
  require(kevt::script::write_compiled_script(*read) == bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  check(bytes);
  check(sealed(bytes));
  if (size > kHeaderBytes) check(sealed(std::string_view(bytes).substr(kHeaderBytes)));
  return 0;
}

std::vector<std::string> kevt::fuzz::seeds() {
  CompiledScript script{.made_by = "kevtrace", .text = "p:a f x=%di\n", .events = {}, .images = {}, .bpf = {}};
  kevt::script::StoredEvent event{.listing = "p:kprobes/a f x=%di", .format = "name: a\n", .program = "entry\n"};
  event.slots = {{.kind = kevt::model::SlotKind::SymbolAddress, .name = "jiffies", .addend = 8}};
  event.code_size = 16;
  event.block = 64;
  script.events = {event, event};
  kevt::model::NativeImage image;
  image.bytes.assign(64 + sizeof(kevt_event) + 8, 0xc3);
  image.faults = {{1, 2}};
  script.images = {image, image};
  kevt::model::BpfCode bpf{.instructions = {0x18, 0, 0x95},
                           .references = {},
                           .numbers = {{.instruction = 0, .number = 1}},
                           .functions = {0}};
  bpf.cpus = 2;
  bpf.slots_offset = sizeof(kevt_bpf_event) + bpf.cpus * sizeof(kevt_bpf_counts);
  bpf.event_bytes = bpf.slots_offset;
  script.bpf = {bpf};
  script.events.push_back({.listing = "p:kprobes/b g", .format = "name: b\n", .program = "layout\n"});
  script.events.back().image = kevt::script::kNoCode;
  script.events.back().bpf = 0;
  require(kevt::script::read_compiled_script(kevt::script::write_compiled_script(script)).has_value());
  return {kevt::script::write_compiled_script(script), kevt::script::write_compiled_script({})};
}
