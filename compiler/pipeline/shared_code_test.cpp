// Equal programs share a place, different ones never do; so many that several modules are made of them.
#include "compiler/pipeline/shared_code.h"

#include <gtest/gtest.h>

#include <set>

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
  while (constants.size() < 40) constants.push_back(static_cast<int>(constants.size()));
  std::vector<std::size_t> image_bytes;
  const auto places = places_of(constants, image_bytes);
  EXPECT_EQ(std::set<Place>(places.begin(), places.end()).size(), constants.size());
  EXPECT_GT(image_bytes.size(), 1u);
  EXPECT_LT(image_bytes.size(), constants.size());
}

TEST(SharedCode, NothingIsAnEmptyBatch) {
  std::vector<std::size_t> image_bytes;
  EXPECT_TRUE(places_of({}, image_bytes).empty());
  EXPECT_TRUE(image_bytes.empty());
}

}  // namespace
}  // namespace kevt::pipeline
