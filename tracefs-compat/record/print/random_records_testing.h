// For tests: records whose lines have much in common, and texts that stand in them or nearly do.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <random>

#include "tests/support/random_pick.h"
#include "tracefs-compat/record/record_testing.h"

namespace kevt::record {

class RandomRecords : public testing::Test {
 protected:
  struct Made {
    TypedRecord record;
    std::string comm;
    Bytes bytes;
    std::uint32_t task = 0;
  };

  RandomRecords() {
    for (const std::string_view text : {kOpenedFormat, kClosedFormat, std::string_view(kMixed)})
      metadata_.formats.add(*parse_format("kprobes", text));
    metadata_.symbols.add({.address = 0x1000, .size = 0x100, .name = "openat64", .module = "libc.so.6"});
    metadata_.symbols.add({.address = 0x2000, .size = 0x100, .name = "main", .module = ""});
    metadata_.process_of[3001] = 3001;  // with names of its own for the same addresses
    metadata_.processes[3001].symbols.add({.address = 0x1000, .size = 0x100, .name = "elsewhere", .module = "a-b"});
  }

  static std::uint64_t seed() {
    const char* const given = std::getenv("KEVT_SEED");
    return given ? std::strtoull(given, nullptr, 10) : std::random_device()();
  }
  static std::string small(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
  }
  // A text that may stand in lines: a part of one of them, or nearly one.
  static std::string text_near(const std::string& line, test::Random& random) {
    std::string text =
        line.substr(test::below(random, line.size()), 1 + test::below(random, test::one_in(random, 4) ? 40 : 8));
    if (test::one_in(random, 4))
      text[test::below(random, text.size())] = static_cast<char>(32 + test::below(random, 95));
    return test::one_in(random, 3) ? small(text) : text;
  }

  // Of one of the events, with few different values, so that texts of one line stand in others.
  Made record(test::Random& random) {
    static constexpr std::string_view kTexts[] = {"/etc/passwd",     "",     "x",    "fd=3",
                                                  "/Etc/\"quoted\"", "main", "kilo", "\xe2\x84\xaailo"};
    static constexpr const char* kComms[] = {"bash", "openat", "a-b", "sixteen-letters"};
    const EventFormat& event = metadata_.formats.all()[test::below(random, 3)];
    Made made;
    made.bytes.resize(event.fixed_size());
    store<std::uint16_t>(made.bytes, 0, static_cast<std::uint16_t>(event.id));
    if (test::one_in(random, 4)) made.bytes[2] = static_cast<std::uint8_t>(test::below(random, 256));  // flags
    if (test::one_in(random, 8)) made.bytes[3] = static_cast<std::uint8_t>(test::below(random, 256));  // depths
    for (const Field& field : event.fields) {
      if (field.kind == FieldKind::DynamicText) {
        const std::string_view text = kTexts[test::below(random, std::size(kTexts))];
        if (test::one_in(random, 6)) continue;  // could not be read
        store<std::uint32_t>(made.bytes, field.offset,
                             static_cast<std::uint32_t>((text.size() + 1) << 16 | made.bytes.size()));
        made.bytes.insert(made.bytes.end(), text.begin(), text.end());
        made.bytes.push_back(0);
      } else if (field.role != PlaceRole::None) {
        store<std::uint64_t>(made.bytes, field.offset, 0x1000 * test::below(random, 4) + test::below(random, 3));
      } else {
        const std::uint64_t value = test::one_in(random, 3) ? ~test::below(random, 5) : test::below(random, 400);
        std::memcpy(made.bytes.data() + field.offset, &value, field.size);
      }
    }
    if (test::one_in(random, 12)) made.bytes.resize(test::below(random, made.bytes.size()));  // damaged
    made.task = static_cast<std::uint32_t>(test::below(random, std::size(kComms)));
    made.comm = kComms[made.task];
    made.record = {.event = &event,
                   .time_ns = 5'000'000'000 + test::below(random, 3'000'000'000),
                   .cpu = static_cast<std::uint32_t>(test::below(random, 12)),
                   .pid = static_cast<std::int32_t>(3000 + made.task)};
    return made;
  }

  // Of the same id as `opened`, as two programs' recordings beside one another may have it.
  static constexpr const char* kMixed =
      "name: mixed\nID: 20000\nformat:\n\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n"
      "\tfield:u32 flags;\toffset:16;\tsize:4;\tsigned:0;\n\tfield:s16 small;\toffset:20;\tsize:2;\tsigned:1;\n"
      "\tfield:u8 mode;\toffset:22;\tsize:1;\tsigned:0;\n\tfield:__data_loc char[] "
      "name;\toffset:23;\tsize:4;\tsigned:1;\n"
      "\nprint fmt: \"(%lx) flags=0x%x small=%5d mode=%s name=%s end\", REC->__probe_ip, REC->flags, REC->small, "
      "__print_symbolic(REC->mode, { 0, \"off\" }, { 1, \"on\" }), __get_str(name)\n";
  Metadata metadata_;
};

}  // namespace kevt::record
