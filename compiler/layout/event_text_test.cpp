#include <gtest/gtest.h>

#include <cstring>

#include "compiler/layout/layout.h"
#include "compiler/target/fixed_target.h"

namespace kevt::layout {
namespace {

// A record, grown field by field.
class Record {
 public:
  Record() : bytes_(8) {}
  template <class T>
  Record& put(T value) {
    const auto* raw = reinterpret_cast<const std::uint8_t*>(&value);
    bytes_.insert(bytes_.end(), raw, raw + sizeof value);
    return *this;
  }
  Record& put_text(std::string_view text) {
    bytes_.insert(bytes_.end(), text.begin(), text.end());
    bytes_.push_back(0);
    return *this;
  }
  std::span<const std::uint8_t> bytes() const { return bytes_; }

 private:
  std::vector<std::uint8_t> bytes_;
};

std::uint32_t data_loc(std::uint32_t offset, std::uint32_t length) { return length << 16 | offset; }

target::FixedTargetEnv world() {
  target::FixedTargetEnv env;
  env.add_function({.name = "openat64", .module = "libc.so.6", .address = 0x1000, .size = 0xf0});
  env.add_function({.name = "vfs_read", .module = "", .address = 0x2000, .size = 0x140});
  return env;
}

model::Definition event(model::EventKind kind, model::ProbeKind point) {
  model::Definition definition{.kind = kind, .probe_kind = point, .group = "g", .event = "ev"};
  if (kind == model::EventKind::Eprobe) definition.place = model::EventPlace{.system = "sched", .event = "x"};
  return definition;
}

void add(model::Definition& definition, std::string name, model::TypeKind kind, std::uint8_t bytes,
         std::uint32_t items = 0) {
  model::FetchArg arg{.name = std::move(name)};
  arg.type.kind = kind;
  arg.type.bytes = bytes;
  arg.type.array_count = items;
  definition.args.push_back(std::move(arg));
}

std::string text_of(const model::Definition& definition, const Record& record) {
  diag::Sink sink;
  return event_text(definition, *layout_record(definition, sink), record.bytes(), world());
}

TEST(EventText, KprobesShowSymbols) {
  const auto entry = event(model::EventKind::Kprobe, model::ProbeKind::Entry);
  EXPECT_EQ(text_of(entry, Record().put<std::uint64_t>(0x1000)), "ev: (openat64+0x0/0xf0 [libc.so.6])");
  EXPECT_EQ(text_of(entry, Record().put<std::uint64_t>(0x2010)), "ev: (vfs_read+0x10/0x140)");
  EXPECT_EQ(text_of(entry, Record().put<std::uint64_t>(0x99)), "ev: (0x00000099)");
  EXPECT_EQ(text_of(entry, Record().put<std::uint64_t>(0)), "ev: (0)");
  const auto back = event(model::EventKind::Kprobe, model::ProbeKind::Return);
  EXPECT_EQ(text_of(back, Record().put<std::uint64_t>(0x1000).put<std::uint64_t>(0x2010)),
            "ev: (vfs_read+0x10/0x140 <- openat64 [libc.so.6])");
}

TEST(EventText, UprobesShowAddresses) {
  EXPECT_EQ(text_of(event(model::EventKind::Uprobe, model::ProbeKind::Entry), Record().put<std::uint64_t>(0x1000)),
            "ev: (0x1000)");
  EXPECT_EQ(text_of(event(model::EventKind::Uprobe, model::ProbeKind::Return),
                    Record().put<std::uint64_t>(0x401036).put<std::uint64_t>(0x40126a)),
            "ev: (0x40126a <- 0x401036)");
}

TEST(EventText, EventProbesShowTheEvent) {
  auto definition = event(model::EventKind::Eprobe, model::ProbeKind::Entry);
  add(definition, "a", model::TypeKind::Unsigned, 4);
  EXPECT_EQ(text_of(definition, Record().put<std::uint32_t>(7)), "ev: (sched.x) a=7");
}

TEST(EventText, PrintsEveryType) {
  auto definition = event(model::EventKind::Uprobe, model::ProbeKind::Entry);
  add(definition, "u", model::TypeKind::Unsigned, 1);
  add(definition, "s", model::TypeKind::Signed, 2);
  add(definition, "x", model::TypeKind::Hex, 4);
  add(definition, "b", model::TypeKind::Bitfield, 1);
  add(definition, "sym", model::TypeKind::Symbol, 8);
  add(definition, "nosym", model::TypeKind::Symbol, 8);
  add(definition, "arr", model::TypeKind::Signed, 1, 2);
  add(definition, "str", model::TypeKind::String, 4);
  add(definition, "strs", model::TypeKind::String, 4, 2);
  const auto record = Record()
                          .put<std::uint64_t>(0x10)
                          .put<std::uint8_t>(255)
                          .put<std::int16_t>(-2)
                          .put<std::uint32_t>(0xab)
                          .put<std::uint8_t>(3)
                          .put<std::uint64_t>(0x2001)
                          .put<std::uint64_t>(0x42)
                          .put<std::int8_t>(-1)
                          .put<std::int8_t>(1)
                          .put(data_loc(54, 3))
                          .put(data_loc(57, 2))
                          .put<std::uint32_t>(0)
                          .put_text("hi")
                          .put_text("x");
  EXPECT_EQ(text_of(definition, record),
            "ev: (0x10) u=255 s=-2 x=0xab b=3 sym=vfs_read+0x1/0x140 nosym=0x42 arr={-1,1} str=\"hi\" "
            "strs={\"x\",(fault)}");
}

TEST(EventText, HostileRecordsPrintFaults) {
  auto definition = event(model::EventKind::Uprobe, model::ProbeKind::Entry);
  add(definition, "s", model::TypeKind::String, 4);
  EXPECT_EQ(text_of(definition, Record().put<std::uint64_t>(1).put(data_loc(20, 200))), "ev: (0x1) s=(fault)");
  EXPECT_EQ(text_of(definition, Record().put<std::uint64_t>(1).put(data_loc(0xffff, 0xffff))), "ev: (0x1) s=(fault)");
  EXPECT_EQ(text_of(definition, Record()), "ev: (0x0) s=(fault)");
}

TEST(EventText, SyntheticEvents) {
  model::Definition definition{.kind = model::EventKind::Synthetic, .group = "synthetic", .event = "lat"};
  definition.fields = {{.type = "s32", .name = "id"},
                       {.type = "s8", .name = "small"},
                       {.type = "char[]", .name = "text", .is_array = true},
                       {.type = "char[4]", .name = "fixed", .is_array = true, .array_count = 4}};
  Record record;
  record.put<std::int64_t>(-4).put<std::int64_t>(-1).put<std::uint64_t>(data_loc(288, 3)).put_text("abc");
  for (int i = 0; i < 252; ++i) record.put<std::uint8_t>(0);
  record.put_text("hi");
  EXPECT_EQ(text_of(definition, record), "lat: id=-4 small=255 text=hi fixed=abc");
}

}  // namespace
}  // namespace kevt::layout
