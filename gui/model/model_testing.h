// What tests of models share: an application without windows, and a small trace.
#pragma once

#include <gtest/gtest.h>

#include <QCoreApplication>
#include <cstring>

#include "tracefs-compat/record/event_format.h"
#include "tracefs-compat/record/store/store.h"

namespace kevt::gui {

class ModelTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    static int argc = 1;
    static char name[] = "test";
    static char* argv[] = {name, nullptr};
    if (!QCoreApplication::instance()) new QCoreApplication(argc, argv);
  }
};

// An event `open` with one field `count`. Record i: count 10 i, pid 7 + i % 3, CPU i % 2, 100 ns behind the one before.
inline constexpr char kFormat[] =
    "name: open\nID: 1700\nformat:\n"
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
    "\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n"
    "\tfield:s32 count;\toffset:16;\tsize:4;\tsigned:1;\n\n"
    "print fmt: \"(%lx) count=%d\", REC->__probe_ip, REC->count\n";

inline record::StoreView trace(int records, const record::EventFormat& format) {
  record::StoreBuilder builder;
  for (int i = 0; i < records; ++i) {
    std::vector<std::uint8_t> bytes(20);
    const std::uint16_t id = 1700;
    const std::int32_t pid = 7 + i % 3, count = i * 10;
    std::memcpy(bytes.data(), &id, 2);
    std::memcpy(bytes.data() + 4, &pid, 4);
    std::memcpy(bytes.data() + 16, &count, 4);
    builder.add({.event = &format,
                 .time_ns = 1000u + static_cast<std::uint64_t>(i) * 100,
                 .cpu = static_cast<std::uint32_t>(i % 2),
                 .pid = pid,
                 .comm = "prog",
                 .bytes = bytes});
  }
  return builder.view();
}

}  // namespace kevt::gui
