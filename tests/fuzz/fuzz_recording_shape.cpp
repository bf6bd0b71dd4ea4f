// The problem: what is packed cannot be mutated by changing bytes: a flipped bit fails the packer's check, and nothing
// behind it is ever tried.
//
// The idea: the bytes are choices. Each says what is put next into a trace.dat of version 7: a section, packed or not,
// right or not; a CPU's data of packed pieces, which may lie about their sizes; the name of a section that is there
// already, or of a place inside it; a buffer with up to 300 CPUs on data that are there, shifted, or named by others;
// options that name other options. Everything is well packed, so the reader gets to see it.
//
//   02 00 | 03 01 | 04 02 …     formats, a CPU of two pages, a buffer that names it three times
//
// Promises: recording_reads.h.
#include <algorithm>

#include "tests/fuzz/fuzz_entry.h"
#include "tests/fuzz/recording_reads.h"
#include "tracefs-compat/record/dat/dat_head.h"
#include "tracefs-compat/record/dat/dat_ids.h"
#include "tracefs-compat/record/dat/zstd_bytes.h"
#include "tracefs-compat/record/metadata_text.h"
#include "tracefs-compat/record/record_testing.h"

namespace {

using namespace kevt::record;

class Choices {
 public:
  explicit Choices(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  bool any() const { return !bytes_.empty(); }
  std::uint32_t next(std::uint32_t count) {
    if (bytes_.empty()) return 0;
    const std::uint32_t value = bytes_[0] % count;
    bytes_ = bytes_.subspan(1);
    return value;
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

// A page with records of one event every `step` ns.
std::string page(std::uint64_t time_ns, std::uint32_t records, std::uint32_t step) {
  std::string events, out;
  for (std::uint32_t i = 0; i < records; ++i) {
    const Bytes record = i % 3 ? closed(7, i) : opened(8, "/x", static_cast<int>(i));
    const auto padded = static_cast<std::uint32_t>((record.size() + 3) / 4 * 4);
    put32(events, padded / 4 | (i ? step : 0) << 5);
    events.append(record.begin(), record.end());
    events.append(padded - record.size(), '\0');
  }
  put64(out, time_ns);
  put64(out, events.size());
  out += events;
  out.resize(4096);
  return out;
}

class Shape {
 public:
  explicit Shape(std::span<const std::uint8_t> bytes) : choices_(bytes) { fill(metadata_); }

  std::string build() {
    out_ = dat_magic('7') + "zstd" + '\0' + "1.5" + '\0';
    const std::size_t options_at = out_.size();
    put64(out_, 0);
    for (int steps = 0; choices_.any() && steps < kMostSteps; ++steps) step();
    std::string offset;
    put64(offset, options(0));
    out_.replace(options_at, offset.size(), offset);
    return std::move(out_);
  }

 private:
  static constexpr int kMostSteps = 64;
  struct Area {
    std::uint16_t id;
    std::uint64_t begin, size;
  };

  void step() {
    switch (choices_.next(8)) {
      case 0:
      case 1: {
        const std::uint16_t as = id();
        const std::string plain = content(choices_.next(5));
        return areas_.push_back(section(as, plain, choices_.next(2)));
      }
      case 2:
        return areas_.push_back(section(dat::kEventFormats, content(0), 1));
      case 3:
        return areas_.push_back(cpu_data());
      case 4:
        return buffer();
      case 5:
        return name(choices_.next(2) ? id() : ~0u);
      case 6: {
        const auto as = static_cast<std::uint16_t>(choices_.next(24));
        options_.push_back({as, content(choices_.next(5)).substr(0, 64)});
        return;
      }
      default:
        options(areas_.empty() || choices_.next(2) ? 0 : pick().begin);
    }
  }

  std::uint16_t id() {
    static constexpr std::uint16_t kIds[] = {dat::kHeaderInfo, dat::kFtraceEvents, dat::kEventFormats,
                                             dat::kKallsyms,   dat::kCmdlines,     dat::kDone};
    return kIds[choices_.next(std::size(kIds))];
  }
  Area pick() {
    if (areas_.empty()) return {0, choices_.next(64), choices_.next(64)};
    return areas_[choices_.next(static_cast<std::uint32_t>(std::min<std::size_t>(areas_.size(), 256)))];
  }

  std::string content(std::uint32_t kind) {
    std::string out;
    const std::string names = kind == 1 ? kallsyms_text(metadata_) : comms_text(metadata_);
    switch (kind) {
      case 0:
        return event_formats_bytes(metadata_, [](const EventFormat& event) { return event.text; });
      case 1:
        put32(out, static_cast<std::uint32_t>(names.size()));
        return out + names;
      case 2:
        put64(out, names.size());
        return out + names;
      case 3:
        return header_info_bytes();
      default:
        return std::string(choices_.next(256) * 64, '\1');
    }
  }

  // Sizes that are right, or said to be others.
  std::string packed(const std::string& plain) {
    const auto bytes = pack_zstd({reinterpret_cast<const std::uint8_t*>(plain.data()), plain.size()});
    const std::uint32_t lie = choices_.next(16);
    std::string out;
    put32(out, static_cast<std::uint32_t>(lie == 1 ? ~0u : lie == 2 ? bytes.size() + 8 : bytes.size()));
    put32(out, static_cast<std::uint32_t>(lie == 3 ? ~0u : lie == 4 ? 16u << 20 : lie == 5 ? 0 : plain.size()));
    return out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }

  Area section(std::uint16_t id, const std::string& plain, std::uint32_t is_packed) {
    const std::uint64_t begin = out_.size();
    const std::string bytes = is_packed ? packed(plain) : plain;
    put16(out_, id);
    put16(out_, is_packed ? dat::kSectionCompressed : 0);
    put32(out_, 0);
    put64(out_, bytes.size());
    out_ += bytes;
    return {id, begin, out_.size() - begin};
  }

  Area cpu_data() {
    const std::uint64_t begin = out_.size();
    const std::uint32_t chunks = choices_.next(5);
    put32(out_, choices_.next(8) ? chunks : ~0u);
    for (std::uint32_t i = 0; i < chunks; ++i) {
      const std::uint64_t time_ns = 1000 * (i + choices_.next(4));
      const std::uint32_t records = choices_.next(80);
      const std::string one = page(time_ns, records, choices_.next(50));
      std::string pages;
      for (std::uint32_t copies = choices_.next(8); copies <= 8; ++copies) pages += one;
      if (choices_.next(16) == 1) pages.assign(1 << 20, '\0');
      out_ += packed(pages);
    }
    return {dat::kBuffer, begin, out_.size() - begin};
  }

  void buffer() {
    std::string data;
    const bool is_new = areas_.empty() || choices_.next(8);
    put64(data, is_new ? section(dat::kBuffer, "", choices_.next(4) ? 1 : 0).begin : pick().begin);
    data += '\0';
    data += std::string("mono") + '\0';
    put32(data, choices_.next(16) ? 4096 : 256 << choices_.next(14));
    static constexpr std::uint32_t kCounts[] = {1, 2, 3, 8, 64, 300};
    const std::uint32_t count = kCounts[choices_.next(std::size(kCounts))];
    put32(data, choices_.next(16) ? count : ~0u);
    for (std::uint32_t cpu = 0; cpu < count; ++cpu) {
      Area area = pick();
      if (choices_.next(4) == 1) area.begin += choices_.next(64);
      if (choices_.next(4) == 1) area.size = choices_.next(2) ? ~0ull - choices_.next(64) : choices_.next(64);
      put32(data, cpu);
      put64(data, area.begin);
      put64(data, area.size);
    }
    options_.push_back({dat::kBuffer, data});
  }

  // An option that names an area as what it is, or as `as`.
  void name(std::uint32_t as) {
    const Area area = pick();
    std::string offset;
    put64(offset, area.begin + (choices_.next(4) == 1 ? choices_.next(64) : 0));
    const auto id = static_cast<std::uint16_t>(as == ~0u ? area.id : as);
    const std::uint32_t many = choices_.next(3);
    for (std::uint32_t times = 1 + many * choices_.next(100); times > 0; --times) options_.push_back({id, offset});
  }

  // A section of the options so far, which goes on at `next`.
  std::uint64_t options(std::uint64_t next) {
    std::string bytes, last;
    for (const DatOption& option : options_) bytes += option_bytes(option);
    if (next == 0 && has_options_) next = last_options_;
    put64(last, next);
    bytes += option_bytes({dat::kDone, last});
    areas_.push_back(section(dat::kDone, bytes, choices_.next(2)));
    has_options_ = true;
    options_.clear();
    return last_options_ = areas_.back().begin;
  }

  Choices choices_;
  Metadata metadata_;
  std::string out_;
  std::vector<Area> areas_;
  std::vector<DatOption> options_;
  bool has_options_ = false;
  std::uint64_t last_options_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  kevt::fuzz::read_recording(Shape({data, size}).build());
  return 0;
}

// A right recording by these choices, CPUs on one area, sections named again, options in circles.
std::vector<std::string> kevt::fuzz::seeds() {
  using namespace std::string_literals;
  const std::string formats = "\2\0"s, pages = "\3\2\1\0\50\12\0\0\0\1\50\12\0\0\0"s;
  const std::string named = "\5\0\0\0\0\0"s, one_cpu = "\4\1\1\0\1\0\1\1\0\0"s;
  std::vector<std::string> out = {formats + pages + named + one_cpu};
  out.push_back(formats + pages + named + "\4\1\1\0\1\5\1"s + std::string(600, '\1'));
  out.push_back(formats + pages + "\5\0\0\0\2\143"s + one_cpu);
  out.push_back(formats + pages + named + one_cpu + "\7\0\1"s + "\7\0\2"s);
  require(read_recording(Shape({reinterpret_cast<const std::uint8_t*>(out[0].data()), out[0].size()}).build()) > 0);
  out.push_back("\0\3\1\1\0"s + "\0\4\2\1\0"s + formats + pages + named + named + one_cpu);
  return out;
}
