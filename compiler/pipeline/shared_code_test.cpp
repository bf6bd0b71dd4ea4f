// Equal programs share a place, different ones never do; so many that several modules are made of them.
#include "compiler/pipeline/shared_code.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <span>

#include "compiler/ir/text.h"

namespace kevt::pipeline {
namespace {

using Place = std::pair<std::uint32_t, std::uint32_t>;

ir::Program program_with(int constant) {
  auto program =
      ir::parse("program entry fixed 24\nv0 = imm " + std::to_string(constant) + "\nstore int8 v0 @16\nsink 0\n");
  EXPECT_TRUE(program.has_value()) << program.error().message();
  return program.value_or(ir::Program{});
}

std::vector<Place> places_of(const std::vector<int>& constants, std::vector<std::size_t>& image_bytes) {
  std::vector<ir::Program> programs;
  std::vector<std::string> names;
  for (int constant : constants) {
    programs.push_back(program_with(constant));
    names.push_back("event" + std::to_string(names.size()));
  }
  auto code = compile_programs(programs, names, codegen::KeepIr::No);
  EXPECT_TRUE(code.has_value()) << code.error().message();
  if (!code) return {};
  for (const model::NativeImage& image : code->images) image_bytes.push_back(image.bytes.size());
  std::vector<Place> places;
  for (const SharedCode::Place& place : code->places) {
    EXPECT_LE(place.event.extractor.entry + place.event.extractor.size, image_bytes.at(place.image));
    places.emplace_back(place.image, place.event.block);
  }
  return places;
}

TEST(SharedCode, EqualProgramsHaveOnePlace) {
  std::vector<std::size_t> image_bytes;
  const auto places = places_of({1, 2, 1, 3, 2, 1}, image_bytes);
  ASSERT_EQ(places.size(), 6u);
  EXPECT_EQ(places[0], places[2]);
  EXPECT_EQ(places[0], places[5]);
  EXPECT_EQ(places[1], places[4]);
  EXPECT_EQ(std::set<Place>(places.begin(), places.end()).size(), 3u);
  EXPECT_NE(places[0].first, places[3].first) << "what is copied stands alone in its image";
}

TEST(SharedCode, DifferentProgramsHaveDifferentPlaces) {
  std::vector<int> constants;
  // Too large to be exchangeable: each is a shape of its own.
  while (constants.size() < 40) constants.push_back((1 << 30) + static_cast<int>(constants.size()));
  std::vector<std::size_t> image_bytes;
  const auto places = places_of(constants, image_bytes);
  EXPECT_EQ(std::set<Place>(places.begin(), places.end()).size(), constants.size());
  EXPECT_GT(image_bytes.size(), 1u);
  EXPECT_LT(image_bytes.size(), constants.size());
}

ir::Program load_program(const std::string& offset) {
  auto program =
      ir::parse("program entry fixed 24\nv0 = reg di\nv1 = load u8 v0" + offset + "\nstore int8 v1 @16\nsink 0\n");
  EXPECT_TRUE(program.has_value()) << program.error().message();
  return program.value_or(ir::Program{});
}

std::string code_text(const SharedCode& code, const SharedCode::Place& place) {
  const auto& bytes = code.images.at(place.image).bytes;
  return codegen::disassemble(std::span(bytes).subspan(place.event.extractor.entry, place.event.extractor.size));
}

TEST(SharedCode, ProgramsOfOneShapeDifferInTheirConstantsAlone) {
  const std::vector<ir::Program> programs = {load_program("+1000"), load_program("+20000"), load_program("-1000")};
  const std::vector<std::string> names = {"a", "b", "c"};
  const auto code = compile_programs(programs, names, codegen::KeepIr::No);
  ASSERT_TRUE(code.has_value()) << code.error().message();
  std::string text = code_text(*code, code->places[0]);
  const std::string other = code_text(*code, code->places[1]);
  ASSERT_NE(text.find(" 1000("), std::string::npos) << text;
  text.replace(text.find(" 1000("), 6, " 20000(");
  EXPECT_EQ(text, other);
  EXPECT_NE(code_text(*code, code->places[2]).find("-1000("), std::string::npos);
  EXPECT_EQ(std::set<std::uint32_t>({code->places[0].image, code->places[1].image, code->places[2].image}).size(), 3u);
}

// An instruction more for a hit would be the price of compiling faster.
TEST(SharedCode, CodeOfOneShapeIsAsLongAsItsOwn) {
  const std::vector<ir::Program> programs = {load_program("+1000"), load_program("+20000")};
  const std::vector<std::string> names = {"a", "b"};
  const auto family = compile_programs(programs, names, codegen::KeepIr::No);
  const auto alone = compile_programs(std::span(programs).first(1), std::span(names).first(1), codegen::KeepIr::No);
  ASSERT_TRUE(family.has_value() && alone.has_value());
  const auto lines = [](const std::string& text) { return std::ranges::count(text, '\n'); };
  EXPECT_EQ(lines(code_text(*family, family->places[0])), lines(code_text(*alone, alone->places[0])));
}

// LLVM's text has the names of what was compiled now.
TEST(SharedCode, WhatWasCompiledIsKeptForTheNextBatch) {
  CodeStore kept;
  const std::vector<ir::Program> programs = {program_with(1), load_program("+1000"), program_with(1)};
  const std::vector<std::string> names = {"a", "b", "c"};
  const auto first = compile_programs(programs, names, codegen::KeepIr::No, {.kept = &kept});
  ASSERT_TRUE(first.has_value()) << first.error().message();
  const std::size_t images = kept.images().size();
  EXPECT_GT(images, 0u);

  const std::vector<ir::Program> again = {load_program("+1000"), program_with(2), program_with(1)};
  const std::vector<std::string> new_names = {"known_load", "fresh", "known_constant"};
  const auto second = compile_programs(again, new_names, codegen::KeepIr::Yes, {.kept = &kept});
  ASSERT_TRUE(second.has_value()) << second.error().message();
  EXPECT_EQ(code_text(*second, second->places[0]), code_text(*first, first->places[1]));
  EXPECT_EQ(code_text(*second, second->places[2]), code_text(*first, first->places[0]));
  EXPECT_EQ(kept.images().size(), images + 1) << "the one that is new";
  EXPECT_EQ(second->llvm_ir.find("known_"), std::string::npos) << second->llvm_ir;
  EXPECT_NE(second->llvm_ir.find("fresh"), std::string::npos) << second->llvm_ir;
}

TEST(SharedCode, NothingIsAnEmptyBatch) {
  std::vector<std::size_t> image_bytes;
  EXPECT_TRUE(places_of({}, image_bytes).empty());
  EXPECT_TRUE(image_bytes.empty());
}

}  // namespace
}  // namespace kevt::pipeline
