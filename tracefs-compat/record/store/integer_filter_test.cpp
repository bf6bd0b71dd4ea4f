#include "tracefs-compat/record/store/integer_filter.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/sema/filter.h"
#include "tracefs-compat/record/record_filter.h"

namespace kevt::record {
namespace {

TEST(IntegerFilters, AgreeWithThePlainWay) {
  std::string text = "name: e\nID: 1800\nformat:\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";
  std::uint32_t offset = 8;
  std::vector<std::string> fields = {"common_pid", "CPU"};
  for (const std::uint32_t bytes : {1u, 2u, 4u, 8u})
    for (const bool is_signed : {false, true}) {
      fields.push_back(fmt::format("{}{}", is_signed ? "s" : "u", 8 * bytes));
      text += fmt::format("\tfield:{0} {0};\toffset:{1};\tsize:{2};\tsigned:{3};\n", fields.back(), offset, bytes,
                          is_signed ? 1 : 0);
      offset += bytes;
    }
  const auto event = parse_format("test", text + "\nprint fmt: \"\"\n");
  ASSERT_TRUE(event) << event.error().message();
  std::mt19937_64 random(23);
  const auto interesting = [&]() -> std::int64_t {
    constexpr std::int64_t kEdges[] = {0,    1,     -1,    127,        128,        255,
                                       -128, 65535, 32768, 2147483647, 4294967295, -2147483648};
    return random() % 3 == 0 ? static_cast<std::int64_t>(random() % 20) : kEdges[random() % std::size(kEdges)];
  };
  const auto term = [&] {
    constexpr const char* kOps[] = {"==", "!=", "<", "<=", ">", ">=", "&"};
    const std::string& field = fields[random() % fields.size()];
    std::int64_t value = interesting();
    if (!field.starts_with("s") && field != "common_pid") value = std::abs(value);
    return fmt::format("{}{} {} {}", random() % 5 ? "" : "!", field, kOps[random() % std::size(kOps)], value);
  };
  int compared = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string expression = term();
    for (std::uint64_t more = random() % 4; more > 0; --more)
      expression = random() % 3 ? expression + (random() % 2 ? " && " : " || ") + term()
                                : "(" + expression + ") " + (random() % 2 ? "&& " : "|| ") + term();
    diag::Sink sink;
    const auto parsed = sema::compile_filter(expression, layout_of(*event), sink);
    if (!parsed) continue;  // a number that the field cannot have
    const BoundFilter filter(*parsed, *event);
    const auto fast = IntegerFilter::of(*parsed, *event);
    if (!fast) continue;
    ++compared;
    std::vector<std::uint8_t> payload;
    RecordBatch batch;
    const std::size_t records = random() % 200;
    for (std::size_t j = 0; j < records; ++j) {
      std::vector<std::uint8_t> bytes(i % 2 || random() % 4 ? offset : random() % (offset + 1));
      for (std::size_t at = 0; at + 8 <= bytes.size(); at += 1 + random() % 8) {
        const std::int64_t value = interesting();
        std::memcpy(bytes.data() + at, &value, 8);
      }
      batch.begins.push_back(static_cast<std::uint32_t>(payload.size()));
      batch.sizes.push_back(static_cast<std::uint16_t>(bytes.size()));
      batch.pids.push_back(static_cast<std::int32_t>(interesting()));
      batch.cpus.push_back(static_cast<std::uint32_t>(random() % 4));
      payload.insert(payload.end(), bytes.begin(), bytes.end());
    }
    batch.payload = payload;
    if (records > 0) batch.least_size = *std::ranges::min_element(batch.sizes);
    const RowBits kept = fast->holds(batch);
    std::size_t held = 0;
    for (std::uint32_t j = 0; j < records; ++j) {
      const TypedRecord record{.event = &*event,
                               .cpu = batch.cpus[j],
                               .pid = batch.pids[j],
                               .bytes = batch.payload.subspan(batch.begins[j], batch.sizes[j])};
      ASSERT_EQ(has_bit(kept, j), filter.holds(record)) << expression << ", " << record.bytes.size() << " bytes";
      held += filter.holds(record) ? 1 : 0;
    }
    ASSERT_EQ(count_bits(kept), held) << "bits behind the last record";
  }
  EXPECT_GT(compared, 1000);
}

TEST(IntegerFilters, AreOfIntegersAlone) {
  const auto event =
      parse_format("test",
                   "name: e\nID: 1800\nformat:\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
                   "\tfield:char comm_of[16];\toffset:8;\tsize:16;\tsigned:1;\n"
                   "\tfield:u32 n;\toffset:24;\tsize:4;\tsigned:0;\n\nprint fmt: \"\"\n");
  ASSERT_TRUE(event) << event.error().message();
  const auto made = [&](const char* expression) {
    diag::Sink sink;
    const auto parsed = sema::compile_filter(expression, layout_of(*event), sink);
    return parsed ? IntegerFilter::of(*parsed, *event) : std::nullopt;
  };
  EXPECT_FALSE(made("comm_of ~ \"a*\""));
  EXPECT_FALSE(made("n == 1 && COMM == \"cat\""));
  const auto of_pid = made("n == 1 || !(common_pid > 7)");
  ASSERT_TRUE(of_pid);
  EXPECT_TRUE(of_pid->asks_for(model::FilterOperand::CommonPid));
  EXPECT_FALSE(of_pid->asks_for(model::FilterOperand::Cpu));
  EXPECT_TRUE(of_pid->holds({}).empty());
}

}  // namespace
}  // namespace kevt::record
