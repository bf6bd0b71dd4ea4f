// libtraceevent as the oracle of formats and of how records are printed: what our evaluator prints of an event, it
// prints, too. KEVT_SEED repeats a run; KEVT_FORMATS names a folder SYSTEM/EVENT/format of a kernel's own events
// (guest_formats: 6.1).
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "tests/differential/test_seed.h"
#include "tests/golden/definition_world.h"
#include "tests/support/random_pick.h"
#include "tracefs-compat/record/print/print_format.h"
#include "tracefs-compat/record/traceevent/event_wording.h"

namespace kevt::record {
namespace {

using test::below;
using test::one_in;
using test::pick;
using test::Random;

// Of a record that is as its format says; strings are printable.
std::vector<std::uint8_t> random_record(Random& random, const EventFormat& event) {
  std::vector<std::uint8_t> bytes(event.fixed_size());
  const auto number = [&] {
    const std::uint64_t word = random();
    return one_in(random, 3) ? word : word >> (8 * below(random, 8));
  };
  const auto text = [&](std::size_t most) {
    std::string made;
    for (std::size_t left = most ? below(random, most) : 0; left > 0; --left)
      made += static_cast<char>('a' + below(random, 26));
    return made;
  };
  for (const Field& field : event.fields) {
    if (field.offset + field.size > bytes.size()) continue;
    std::uint8_t* const to = bytes.data() + field.offset;
    if (field.kind == FieldKind::Text) {
      const std::string made = text(field.size);
      std::memcpy(to, made.data(), made.size());
      continue;
    }
    const bool is_dynamic = field.kind == FieldKind::DynamicText || field.kind == FieldKind::DynamicTexts ||
                            field.kind == FieldKind::DynamicBytes;
    if (!is_dynamic) {
      for (std::uint32_t at = 0; at < field.size; at += 8) {
        const std::uint64_t word = number();
        std::memcpy(to + at, &word, std::min<std::size_t>(8, field.size - at));
      }
      if (field.is_signed && field.size < 8) to[field.size - 1] &= 0x7f;  // WhatItPrintsOtherwise
      continue;
    }
    for (std::uint32_t at = 0; at + 4 <= field.size; at += 4) {
      std::string made = text(30);
      made += '\0';
      if (field.kind == FieldKind::DynamicBytes) made.resize((made.size() + 7) / 8 * 8);
      const std::size_t behind = field.is_relative ? field.offset + at + 4 : 0;
      const auto word = static_cast<std::uint32_t>((bytes.size() - behind) | made.size() << 16);
      std::memcpy(bytes.data() + field.offset + at, &word, sizeof word);
      bytes.insert(bytes.end(), made.begin(), made.end());
    }
  }
  const auto id = static_cast<std::uint16_t>(event.id);
  std::memcpy(bytes.data(), &id, sizeof id);
  return bytes;
}

// Without the place and with one blank where there are several (it leaves out the width of names): print fmt has both
// addresses of a return probe in another order than the kernel's own trace, and without 0x.
std::string behind_place(std::string text) {
  for (std::size_t at; (at = text.find("(nil)")) != std::string::npos;) text.replace(at, 5, "0x0");  // glibc's word
  const auto end = text.starts_with('(') ? text.find(')') : std::string::npos;
  std::string out;
  for (const char c : end == std::string::npos ? text : text.substr(end + 1))
    if (c != ' ' || !out.ends_with(' ')) out += c;
  return out.substr(0, out.find_last_not_of(" \n") + 1);
}

struct Oracle {
  Metadata metadata;
  EventWording wording{metadata};
  std::map<std::string, std::string> different;  // by event: one example
  std::set<std::string> died, of_plugins, not_theirs, not_ours;
  std::size_t compared = 0;

  // Of so many random records.
  void compare(const EventFormat& event, Random& random, std::size_t records) {
    const std::string name = event.system + ":" + event.name;
    const auto print = PrintFormat::compile(event);
    const auto can = wording.can(event);
    if (!print) not_ours.insert(name);
    if (can == EventWording::Can::Nothing) not_theirs.insert(name);
    if (can == EventWording::Can::PrintInWords) of_plugins.insert(name);
    if (!print || can != EventWording::Can::Print) return;
    ++compared;
    for (std::size_t i = 0; i < records; ++i) {
      const auto bytes = random_record(random, event);
      wording.queue({.event = &event, .time_ns = 1, .cpu = 0, .pid = 0, .comm = "", .bytes = bytes});
      const auto theirs = wording.take();
      std::string ours;
      print->print(bytes, metadata.symbols, PlaceStyle::Addresses, ours);
      if (!theirs.at(0)) {  // it has died: of a division, of a length
        died.insert(name);
        return;
      }
      const std::string& expected = *theirs.at(0);
      if (behind_place(ours) != behind_place(expected))
        different.try_emplace(name, "\n  ours   " + ours + "\n  theirs " + expected);
    }
  }
};

// Not s8, s16 and arrays of numbers: WhatItPrintsOtherwise.
const std::vector<std::string_view> kTypes = {"u8", "u16", "u32", "u64", "s32",     "s64",
                                              "x8", "x16", "x32", "x64", "b4@3/32", "b17@2/64"};
const std::vector<std::string_view> kTexts = {"string", "ustring"};  // it parses no arrays of strings

std::string random_definition(Random& random, std::size_t number) {
  std::string line = fmt::format("{}:ev{} vfs_read", one_in(random, 4) ? 'r' : 'p', number);
  for (std::size_t i = 0, count = below(random, 6); i < count; ++i) {
    const bool is_text = one_in(random, 3);
    const std::string_view type = is_text ? pick(random, kTexts) : pick(random, kTypes);
    const bool in_memory = is_text || type.find('[') != std::string_view::npos || one_in(random, 2);
    line += fmt::format(" a{}={}{}{}:{}", i, in_memory ? "+8(" : "", pick(random, std::vector{"%di", "%si", "%ax"}),
                        in_memory ? ")" : "", type);
  }
  return line;
}

std::string listed(const std::map<std::string, std::string>& different) {
  std::string text;
  for (const auto& [name, example] : different) text += name + example + "\n";
  return text;
}

TEST(Traceevent, PrintsRecordsOfOurEventsAsWeDo) {
  Random random(test::test_seed());
  golden::DefinitionWorld world;
  Oracle oracle;
  for (std::size_t i = 0; i < 500; ++i) {
    const std::string line = random_definition(random, i);
    const auto done = world.write(grammar::EventsFile::Dynamic, line);
    ASSERT_EQ(done.errno_value, 0) << line;
    for (const auto& [name, text] : done.format) {
      auto format = parse_format(name.substr(0, name.find('/')), text);
      ASSERT_TRUE(format) << line << "\n" << text;
      format->id = static_cast<std::uint32_t>(2000 + i);
      const auto id = format->text.find("ID: ");
      format->text.replace(id, format->text.find('\n', id) - id, fmt::format("ID: {}", format->id));
      oracle.compare(oracle.metadata.formats.add(std::move(*format)), random, 4);
    }
  }
  EXPECT_TRUE(oracle.different.empty()) << listed(oracle.different);
  EXPECT_THAT(oracle.not_ours, testing::IsEmpty());
  EXPECT_THAT(oracle.not_theirs, testing::IsEmpty());
  EXPECT_THAT(oracle.died, testing::IsEmpty());
  EXPECT_EQ(oracle.compared, 500u);
  EXPECT_FALSE(oracle.wording.take_problem());
}

// What it prints otherwise, of definitions like these. The kernel's own trace has our values.
TEST(Traceevent, WhatItPrintsOtherwise) {
  golden::DefinitionWorld world;
  Oracle oracle;
  const auto done = world.write(grammar::EventsFile::Dynamic, "p:odd vfs_read a=%di:s8 b=%di:s16 c=+0(%di):u32[2]");
  auto format = parse_format("kprobes", done.format.begin()->second);
  ASSERT_TRUE(format);
  const EventFormat& event = oracle.metadata.formats.add(std::move(*format));
  std::vector<std::uint8_t> bytes(event.fixed_size());
  const auto id = static_cast<std::uint16_t>(event.id);
  std::memcpy(bytes.data(), &id, sizeof id);
  bytes[event.find("a")->offset] = 0xff;
  bytes[event.find("b")->offset] = bytes[event.find("b")->offset + 1] = 0xff;
  bytes[event.find("c")->offset] = 7;
  std::string ours;
  PrintFormat::compile(event)->print(bytes, oracle.metadata.symbols, PlaceStyle::Addresses, ours);
  ASSERT_EQ(oracle.wording.can(event), EventWording::Can::Print);
  oracle.wording.queue({.event = &event, .time_ns = 1, .cpu = 0, .pid = 0, .comm = "", .bytes = bytes});
  EXPECT_EQ(behind_place(ours), " a=-1 b=-1 c={7,0}");
  EXPECT_EQ(behind_place(oracle.wording.take().at(0).value_or("")), " a=255 b=65535 c={0,0}")
      << "numbers of 1 and 2 bytes lose their sign, items of arrays are 0";
}

// Who is right where they differ.
const std::map<std::string_view, std::string_view> kKnown = {
    {"spi:spi_setup", "we: it takes one bit of a mask too many"},
    {"fs_dax:dax_pmd_insert_mapping", "we: it knows no flag of bit 63"},
    {"ras:aer_event", "we: __print_array() has braces, and these numbers are hexadecimal"},
    {"regmap:regmap_bulk_read", "we: it reads behind the record"},
    {"regmap:regmap_bulk_write", "the same"},
    {"thermal_power_allocator:thermal_power_allocator", "the same"},
    {"timer:itimer_state", "we: a long keeps its sign when it is divided"},
    {"timer:timer_start", "we: flags that are not set are none"},
    {"dev:devres_log", "neither: a string of which there is the address alone; ours is marked by 0x"},
    {"power:suspend_resume", "the same"},
    {"rcu:rcu_stall_warning", "the same"},
    {"rcu:rcu_utilization", "the same"},
    {"ftrace:bputs", "the same"},
    {"ftrace:bprint", "the same"},
    {"wbt:wbt_step", "the same"},
};

TEST(Traceevent, PrintsRecordsOfTheKernelsEventsAsWeDo) {
  const char* const folder = std::getenv("KEVT_FORMATS");
  if (!folder) GTEST_SKIP() << "KEVT_FORMATS names no folder";
  // Random records find ever more of what it does its own way: another seed is for who looks for that.
  Random random(test::number_from_environment("KEVT_SEED", 1));
  Oracle oracle;
  std::size_t events = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().filename() != "format") continue;
    std::ifstream file(entry.path());
    const std::string text(std::istreambuf_iterator<char>(file), {});
    auto format = parse_format(entry.path().parent_path().parent_path().filename().string(), text);
    ASSERT_TRUE(format) << entry.path();
    ++events;
    oracle.compare(oracle.metadata.formats.add(std::move(*format)), random, 8);
  }
  std::printf(
      "%zu events: %zu compared, %zu of plugins, %zu that libtraceevent alone understands, %zu that it does not\n",
      events, oracle.compared, oracle.of_plugins.size(), oracle.not_ours.size(), oracle.not_theirs.size());
  EXPECT_LE(oracle.died.size(), 5u) << "after eight it is asked no more";
  std::erase_if(oracle.different, [](const auto& one) { return kKnown.contains(one.first); });
  EXPECT_TRUE(oracle.different.empty()) << listed(oracle.different);
  EXPECT_GT(oracle.compared, 1000u);
}

}  // namespace
}  // namespace kevt::record
