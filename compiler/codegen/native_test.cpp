// Native code against the interpreter on hand-picked programs is in tests/differential.
#include <gtest/gtest.h>

#include "compiler/codegen/native.h"

namespace kevt::codegen {
namespace {

ir::Program one_register() {
  ir::Program program;
  program.values = {{.op = ir::Op::Register, .imm = 14 * 8}};
  program.stores = {{.value = 0, .offset = 16, .bytes = 8}};
  program.sinks = {{}};
  program.fixed_size = 24;
  return program;
}

TEST(Native, OneFunctionPerInput) {
  const ir::Program a = one_register(), b = one_register();
  const NativeModule modules[] = {{.inputs = {{"a", &a}, {"b", &b}}}};
  auto outputs = compile_modules(modules, KeepIr::Yes);
  ASSERT_TRUE(outputs) << outputs.error().message();
  const NativeOutput& out = outputs->at(0).at(0);
  ASSERT_EQ(out.events.size(), 2u);
  EXPECT_GT(out.events[0].extractor.size, 0u);
  EXPECT_NE(out.events[0].extractor.entry, out.events[1].extractor.entry);
  EXPECT_NE(out.llvm_ir.find("define"), std::string::npos);
}

// Whichever thread compiles them.
TEST(Native, ModulesAreCompiledTogetherAsAlone) {
  std::vector<ir::Program> programs(40, one_register());
  for (std::size_t i = 0; i < programs.size(); ++i) programs[i].values[0].imm = static_cast<std::int64_t>(8 * (i % 15));
  std::vector<NativeModule> modules;
  for (std::size_t i = 0; i < programs.size(); ++i)
    modules.push_back({.inputs = {{"event" + std::to_string(i), &programs[i]}}});
  auto together = compile_modules(modules, KeepIr::No);
  ASSERT_TRUE(together) << together.error().message();
  for (std::size_t i = 0; i < modules.size(); ++i) {
    auto alone = compile_modules(std::span(modules).subspan(i, 1), KeepIr::No);
    ASSERT_TRUE(alone) << alone.error().message();
    EXPECT_EQ(together->at(i).at(0).image.bytes, alone->at(0).at(0).image.bytes) << i;
  }
}

// Two that want the same name: neither has an image.
TEST(Native, WhatLlvmRefusesIsAnError) {
  const ir::Program program = one_register();
  const NativeModule modules[] = {{.inputs = {{"same", &program}}}, {.inputs = {{"same", &program}}}};
  EXPECT_FALSE(compile_modules(modules, KeepIr::No));
}

TEST(Native, FaultEntriesPointIntoTheCode) {
  ir::Program program = one_register();
  program.values.push_back({.op = ir::Op::Load, .a = 0, .imm = 8, .bytes = 4});
  program.stores[0].value = 1;
  const NativeModule modules[] = {{.inputs = {{"load", &program}}}};
  auto outputs = compile_modules(modules, KeepIr::No);
  ASSERT_TRUE(outputs) << outputs.error().message();
  const NativeOutput* out = &outputs->at(0).at(0);
  ASSERT_EQ(out->image.faults.size(), 4u) << "the thread's %fs and %gs, the load, and rdtsc";
  for (const model::FaultEntry& fault : out->image.faults) {
    EXPECT_LT(fault.fault, out->image.bytes.size());
    EXPECT_LT(fault.fixup, out->image.bytes.size());
    EXPECT_NE(fault.fault, fault.fixup);
  }
}

TEST(Disassemble, BranchesShowTheirTargets) {
  const std::uint8_t code[] = {0x75, 0x01, 0x90, 0xe8, 0xfb, 0xff, 0xff, 0xff};  // jne +3; nop; call itself
  const std::string text = disassemble(code, 0x1000);
  EXPECT_NE(text.find("jne 0x1003"), std::string::npos) << text;
  EXPECT_NE(text.find("callq 0x1003"), std::string::npos) << text;
}

TEST(Disassemble, BpfProgramsAreReadToo) {
  const std::uint8_t code[] = {0xb7, 0, 0, 0, 1, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0};  // r0 = 1; exit
  const std::string text = disassemble(code, 0, Machine::Bpf);
  EXPECT_NE(text.find("r0 = 1"), std::string::npos) << text;
  EXPECT_NE(text.find("exit"), std::string::npos) << text;
}

TEST(Native, ReadsTheRegistersOfItsProgram) {
  ir::Program program = one_register();  // di: handed over in place at an entry, not after a return
  EXPECT_EQ(registers_from_frame(program), 0u);
  program.probe_kind = model::ProbeKind::Return;
  EXPECT_EQ(registers_from_frame(program), 1u << 14);
}

}  // namespace
}  // namespace kevt::codegen
