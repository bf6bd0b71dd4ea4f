#include "compiler/script/compiled_script.h"

#include <gmock/gmock.h>

#include <cstring>

#include "common/abi/bpf.h"
#include "common/abi/probe.h"

namespace kevt::script {
namespace {

using testing::HasSubstr;

model::BpfCode sample_bpf() {
  model::BpfCode code{.instructions = {0x18, 0, 0x95}, .references = {{0, model::BpfMap::Rings}}, .functions = {0, 2}};
  code.numbers = {{.instruction = 0, .number = 7}};
  code.context = model::BpfContext::Uprobe;
  code.cpus = 4;
  code.slots_offset = sizeof(kevt_bpf_event) + code.cpus * sizeof(kevt_bpf_counts);
  code.event_bytes = code.slots_offset;
  code.scratch_bytes = KEVT_BPF_TEXTS + KEVT_BPF_TEXT_BYTES;
  return code;
}

CompiledScript sample() {
  CompiledScript script{.made_by = "kevtrace 0", .text = "p:a f x=%di\n", .events = {}, .images = {}, .bpf = {}};
  StoredEvent event{.listing = "p:kprobes/a f x=%di", .format = "name: a\n", .program = "entry\n"};
  event.slots = {{.kind = model::SlotKind::FileAddress, .name = "/bin/x", .addend = -8}};
  event.block = 64;
  event.code_size = 32;
  event.register_reads = 5;
  script.events = {event};
  model::NativeImage image;
  image.bytes.assign(64 + sizeof(kevt_event) + 8, 0x90);
  image.faults = {{4, 8}, {9, 2}};
  script.images = {image};
  script.events.push_back({.listing = "p:kprobes/b g", .format = "name: b\n", .program = "entry\n", .image = kNoCode});
  script.events.back().bpf = 0;
  script.bpf = {sample_bpf()};
  return script;
}

std::string message(std::string_view bytes) {
  const auto read = read_compiled_script(bytes);
  return read ? "taken" : read.error().message();
}

// With a right checksum over what was changed.
std::string sealed(std::string bytes) {
  std::uint64_t sum = 0xcbf29ce484222325;
  for (const char byte : bytes.substr(32)) sum = (sum ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  std::memcpy(bytes.data() + 24, &sum, sizeof sum);
  return bytes;
}

TEST(CompiledScript, IsReadAsItWasWritten) {
  const auto read = read_compiled_script(write_compiled_script(sample()));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->text, sample().text);
  ASSERT_EQ(read->events.size(), 2u);
  EXPECT_EQ(read->events[0].slots, sample().events[0].slots);
  EXPECT_EQ(read->events[0].register_reads, 5u);
  EXPECT_EQ(read->images[0].bytes, sample().images[0].bytes);
  EXPECT_EQ(read->images[0].faults.size(), 2u);
  ASSERT_EQ(read->bpf.size(), 1u);
  EXPECT_EQ(read->events[1].bpf, 0u);
  EXPECT_EQ(read->bpf[0].instructions, sample_bpf().instructions);
  EXPECT_EQ(read->bpf[0].references[0].map, model::BpfMap::Rings);
  ASSERT_EQ(read->bpf[0].numbers.size(), 1u);
  EXPECT_EQ(read->bpf[0].numbers[0].instruction, 0u);
  EXPECT_EQ(read->bpf[0].numbers[0].number, 7u);
  EXPECT_EQ(read->bpf[0].functions, sample_bpf().functions);
  EXPECT_EQ(read->bpf[0].context, model::BpfContext::Uprobe);
  EXPECT_EQ(read->bpf[0].scratch_bytes, sample_bpf().scratch_bytes);
}

TEST(CompiledScript, EveryDamagedByteIsNoticed) {
  const std::string whole = write_compiled_script(sample());
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string bytes = whole;
    bytes[at] ^= 0x10;
    EXPECT_NE(message(bytes), "taken") << at;
  }
}

TEST(CompiledScript, CutOffAnywhereIsRefused) {
  const std::string whole = write_compiled_script(sample());
  for (std::size_t length = 0; length < whole.size(); ++length) EXPECT_NE(message(whole.substr(0, length)), "taken");
  EXPECT_THAT(message(whole + "x"), HasSubstr("follows"));
}

void expect_usable(const model::BpfCode& code) {
  for (const model::BpfReference& reference : code.references)
    EXPECT_LT(std::uint64_t{reference.instruction} + 1, code.instructions.size());
  EXPECT_GE(code.event_bytes, sizeof(kevt_bpf_event) + code.cpus * sizeof(kevt_bpf_counts));
}

// Damage with a right checksum: somebody meant it.
TEST(CompiledScript, LiesAreSurvived) {
  const std::string whole = write_compiled_script(sample());
  for (std::size_t at = 32; at < whole.size(); ++at) {
    for (const unsigned flip : {0x01u, 0x80u, 0xffu}) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ static_cast<char>(flip));
      const auto read = read_compiled_script(sealed(bytes));
      if (!read) continue;
      for (const StoredEvent& event : read->events) {
        if (event.bpf != kNoCode) expect_usable(read->bpf.at(event.bpf));
        if (event.image == kNoCode) continue;
        const std::uint64_t size = read->images.at(event.image).bytes.size();
        EXPECT_LE(std::uint64_t{event.entry} + event.code_size, size);
        EXPECT_LE(std::uint64_t{event.block} + sizeof(kevt_event), size);
      }
    }
  }
}

TEST(CompiledScript, OffsetsOutsideAnImageAreRefused) {
  CompiledScript script = sample();
  script.events[0].entry = 64 + sizeof(kevt_event) + 8;
  EXPECT_THAT(message(write_compiled_script(script)), HasSubstr("contradicts"));
  script = sample();
  script.events[0].image = 1;
  EXPECT_THAT(message(write_compiled_script(script)), HasSubstr("contradicts"));
  script = sample();
  std::swap(script.images[0].faults[0], script.images[0].faults[1]);
  EXPECT_THAT(message(write_compiled_script(script)), HasSubstr("contradicts"));
}

TEST(CompiledScript, KernelCodeThatDoesNotFitItsMapsIsRefused) {
  const auto with = [](auto change) {
    CompiledScript script = sample();
    change(script.bpf[0]);
    return message(write_compiled_script(script));
  };
  EXPECT_THAT(with([](model::BpfCode& code) { code.cpus = 3; }), HasSubstr("contradicts"));
  EXPECT_THAT(with([](model::BpfCode& code) { code.cpus = 8; }), HasSubstr("contradicts"));
  EXPECT_THAT(with([](model::BpfCode& code) { code.event_bytes = 8; }), HasSubstr("contradicts"));
  EXPECT_THAT(with([](model::BpfCode& code) { code.scratch_bytes = 64; }), HasSubstr("contradicts"));
  EXPECT_THAT(with([](model::BpfCode& code) { code.references[0].instruction = 2; }), HasSubstr("contradicts"));
  EXPECT_THAT(with([](model::BpfCode& code) { code.references[0].instruction = 0xffffffff; }),
              HasSubstr("contradicts"));
  EXPECT_THAT(with([](model::BpfCode& code) { code.numbers[0].instruction = 2; }), HasSubstr("contradicts"));
  EXPECT_THAT(with([](model::BpfCode& code) { code.numbers[0].instruction = 1; }), HasSubstr("contradicts"))
      << "that is no 16-byte load";
  EXPECT_THAT(with([](model::BpfCode& code) { code.functions = {}; }), HasSubstr("contradicts"));
}

TEST(CompiledScript, AnotherVersionSaysSo) {
  std::string bytes = write_compiled_script(sample());
  bytes[8] = 9;
  EXPECT_THAT(message(bytes), HasSubstr("compile it anew"));
  EXPECT_THAT(message("#!/bin/sh\n"), HasSubstr("not a compiled script"));
}

}  // namespace
}  // namespace kevt::script
