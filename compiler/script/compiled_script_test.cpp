#include "compiler/script/compiled_script.h"

#include <gmock/gmock.h>

#include <cstring>

#include "common/abi/probe.h"

namespace kevt::script {
namespace {

using testing::HasSubstr;

CompiledScript sample() {
  CompiledScript script{.made_by = "kevtrace 0", .text = "p:a f x=%di\n", .events = {}, .images = {}};
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
  ASSERT_EQ(read->events.size(), 1u);
  EXPECT_EQ(read->events[0].slots, sample().events[0].slots);
  EXPECT_EQ(read->events[0].register_reads, 5u);
  EXPECT_EQ(read->images[0].bytes, sample().images[0].bytes);
  EXPECT_EQ(read->images[0].faults.size(), 2u);
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

TEST(CompiledScript, AnotherVersionSaysSo) {
  std::string bytes = write_compiled_script(sample());
  bytes[8] = 9;
  EXPECT_THAT(message(bytes), HasSubstr("compile it anew"));
  EXPECT_THAT(message("#!/bin/sh\n"), HasSubstr("not a compiled script"));
}

}  // namespace
}  // namespace kevt::script
