// The head of a trace.dat.
//
//   6: magic "6" endian long page | header_page header_event | ftrace formats | event formats | kallsyms | printk |
//      cmdlines | cpus | options | flyrecord: offset and size per CPU
//   7: magic "7" endian long page | compression | offset of the first options; options name sections, sections hold
//      the same pieces, compressed or not; a buffer option names each CPU's data
//
// Problem: such files come from anywhere. Idea: every number is checked against the file before anything is allocated
// or followed; no byte of the file belongs to two areas (head, sections, CPUs' data), so what is named twice is read
// once; what is unpacked, and what is kept of it, takes from a budget; what stands behind the first nonsense is left
// out and named, with its place. Not read: big-endian files, ASCII ("latency") traces.
// Mirrors trace-cmd.dat.v6(5), trace-cmd.dat.v7(5) of trace-cmd 3.1.6.
#include "tracefs-compat/record/dat/dat_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "common/error.h"
#include "tracefs-compat/record/dat/dat_ids.h"
#include "tracefs-compat/record/dat/file_areas.h"
#include "tracefs-compat/record/dat/zstd_bytes.h"
#include "tracefs-compat/record/metadata_text.h"

namespace kevt::record {
namespace {

constexpr std::size_t kMaxName = 4096;
constexpr std::uint64_t kMaxFormat = 1 << 20;
constexpr std::size_t kMaxFormats = 65536;
constexpr std::uint64_t kMaxOption = 64u << 20;
constexpr std::uint64_t kSectionHead = 16;
// What a line of names and a format may take in memory, beside the text and for each byte of it.
constexpr std::uint64_t kLineBytes = 160, kFormatBytes = 512, kFormatRatio = 6;

class DatHead {
 public:
  explicit DatHead(DatFile& out) : out_(out) {}
  Result<void> read();

 private:
  Result<void> read_six(Cursor& at);
  Result<void> read_seven(Cursor& at);
  void read_options(Cursor& at, std::uint64_t end);
  void read_section_chain(std::uint64_t first);
  void take_option(std::uint16_t id, const std::string& data);
  void take_section(std::uint16_t id, std::uint64_t offset);
  void take_buffer(const std::string& data);
  std::uint32_t instance_named(const std::string& name);
  bool read_table(Cursor& at, std::uint32_t instance);
  void take_clock(std::string_view text);

  bool header_info(Cursor& at);
  bool ftrace_formats(Cursor& at);
  bool event_formats(Cursor& at);
  bool sized_text(Cursor& at, std::string& text, int size_bytes);
  void add_format(std::string_view system, const std::string& text);
  void add_cpu(const DatCpu& cpu);
  bool take_area(std::uint64_t begin, std::uint64_t bytes, AreaOwner owner);
  std::optional<std::string> section_content(Cursor& at, std::uint16_t id, bool is_packed, std::uint64_t size);
  std::string_view affordable_lines(std::string_view text, std::string_view what);
  void problem(std::string_view text) { out_.problems.add(text); }

  DatFile& out_;
  bool is_compressed_ = false;
  std::unordered_map<std::string, std::uint32_t> instances_;  // as TypedRecord::instance, by name
  bool has_too_many_instances_ = false, has_clock_ = false;
  std::size_t cpus_of_instances_ = 0;  // whose data are read
  bool has_buffer_ = false;            // version 7: some option names trace data
  std::uint32_t cpus_ = 0;             // version 6: of each table
  std::uint64_t next_options_ = 0;
  std::size_t formats_ = 0;
  std::string kallsyms_;
  FileAreas areas_;
};

std::string_view text_until_nul(std::string_view text) { return text.substr(0, text.find('\0')); }

Error broken(const Cursor& at, std::string_view what) {
  return Error(fmt::format("byte {}: {} cannot be read, the file ends or a length makes no sense", at.at(), what));
}

Result<void> DatHead::read() {
  Cursor at(out_.file, dat::kMagic.size());
  const std::string version = at.string(16);
  const bool is_big = at.bytes(1, 1) != std::string(1, '\0');
  const std::string long_bytes = at.bytes(1, 1);
  out_.page_bytes = at.u32();
  if (!at.good()) return std::unexpected(broken(at, "the head"));
  if (is_big) return std::unexpected(Error("a recording of a big-endian machine: not read here"));
  if (long_bytes != std::string(1, '\x8'))
    return std::unexpected(Error("a recording of a 32-bit machine: not read here"));
  const bool usable = out_.page_bytes >= 256 && out_.page_bytes <= dat::kMaxPage && out_.page_bytes % 8 == 0;
  if (!usable) return std::unexpected(Error(fmt::format("pages of {} bytes make no sense", out_.page_bytes)));
  if (version == "6") return read_six(at);
  out_.version = 7;
  if (version == "7") return read_seven(at);
  return std::unexpected(
      Error(fmt::format("version `{}` of trace.dat: 6 and 7 are read", words_of_file(version.substr(0, 8)))));
}

bool DatHead::header_info(Cursor& at) {
  if (at.string(kMaxName) != "header_page") return false;
  at.bytes(at.u64(), kMaxFormat);
  if (at.string(kMaxName) != "header_event") return false;
  at.bytes(at.u64(), kMaxFormat);
  return at.good();
}

void DatHead::add_format(std::string_view system, const std::string& text) {
  if (++formats_ > kMaxFormats) {
    if (formats_ == kMaxFormats + 1) problem(fmt::format("only the first {} formats of events are read", kMaxFormats));
    return;
  }
  if (!out_.budget.keep(kFormatBytes + kFormatRatio * text.size())) return problem(out_.budget.keep_text());
  auto made = parse_format(system, text);
  if (made)
    out_.metadata.formats.add(std::move(*made));
  else
    problem(made.error().message());
}

bool DatHead::ftrace_formats(Cursor& at) {
  for (std::uint32_t left = at.u32(); left > 0 && at.good(); --left) {
    const std::string text = at.bytes(at.u64(), kMaxFormat);
    if (at.good()) add_format("ftrace", text);
  }
  return at.good();
}

bool DatHead::event_formats(Cursor& at) {
  for (std::uint32_t systems = at.u32(); systems > 0 && at.good(); --systems) {
    const std::string system = at.string(kMaxName);
    for (std::uint32_t left = at.u32(); left > 0 && at.good(); --left) {
      const std::string text = at.bytes(at.u64(), kMaxFormat);
      if (at.good()) add_format(system, text);
    }
  }
  return at.good();
}

bool DatHead::sized_text(Cursor& at, std::string& text, int size_bytes) {
  text = at.bytes(size_bytes == 4 ? at.u32() : at.u64(), dat::kMaxSection);
  return at.good();
}

void DatHead::add_cpu(const DatCpu& cpu) {
  if (cpu.size == 0) return;
  // Instances share one limit, the top one has its own: version 6 names its data last.
  const std::size_t known = cpu.instance ? cpus_of_instances_ : out_.cpus.size() - cpus_of_instances_;
  if (known >= dat::kMaxCpus)
    return problem(fmt::format("CPU {}: only the data of {} CPUs are read", cpu.cpu, dat::kMaxCpus));
  DatCpu kept = cpu;
  const std::uint64_t end = out_.file.size();
  if (kept.offset > end) {
    problem(fmt::format("CPU {}: its data begin at byte {}, the file ends at {}", cpu.cpu, cpu.offset, end));
    return;
  }
  if (kept.size > end - kept.offset) {
    problem(fmt::format("CPU {}: {} of its {} bytes are missing, the file ends at {}", cpu.cpu,
                        kept.size - (end - kept.offset), kept.size, end));
    kept.size = end - kept.offset;
  }
  if (!take_area(kept.offset, kept.size, {AreaOwner::Kind::Cpu, cpu.cpu})) return;
  out_.cpus.push_back(kept);
  if (kept.instance) ++cpus_of_instances_;
}

bool DatHead::take_area(std::uint64_t begin, std::uint64_t bytes, AreaOwner owner) {
  const auto overlap = areas_.take(begin, begin + bytes, owner);
  if (overlap) problem(*overlap + "; it is left out");
  return !overlap;
}

// Those of its lines that may become objects.
std::string_view DatHead::affordable_lines(std::string_view text, std::string_view what) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (end > at && !out_.budget.keep(kLineBytes + end - at)) {
      problem(fmt::format("{}: {}; {} bytes of them are left out", what, out_.budget.keep_text(), text.size() - at));
      return text.substr(0, at);
    }
    at = end + 1;
  }
  return text;
}

Result<void> DatHead::read_six(Cursor& at) {
  const auto failed = [&](std::string_view what) { return std::unexpected(broken(at, what)); };
  std::string printk, comms;
  if (!header_info(at)) return failed("the ring buffer's header");
  if (!ftrace_formats(at) || !event_formats(at)) return failed("the events' formats");
  if (!sized_text(at, kallsyms_, 4)) return failed("kallsyms");
  if (!sized_text(at, printk, 4)) return failed("the printk formats");
  if (!sized_text(at, comms, 8)) return failed("the tasks' names");
  out_.metadata.symbols.parse_printk_formats(affordable_lines(printk, "the printk formats"));
  read_comms_text(affordable_lines(comms, "the tasks' names"), out_.metadata);
  const std::uint32_t cpus = at.u32();
  out_.metadata.cpus = std::clamp(cpus, 1u, dat::kMaxCpus);
  cpus_ = std::min(cpus, dat::kMaxCpus);
  std::string kind = at.string(16);
  const std::uint64_t head_end = at.at();
  take_area(0, head_end, {});  // before an instance names it
  if (kind == "options  ") {
    read_options(at, out_.file.size());
    kind = at.string(16);
  }
  // Behind the options: symbols with sizes win.
  out_.metadata.symbols.parse_kallsyms(affordable_lines(kallsyms_, "kallsyms"));
  if (kind == "latency  ") return std::unexpected(Error("a recording of ASCII text (latency): not read here"));
  if (!at.good() || kind != "flyrecord") return failed("the table of CPUs");
  if (cpus > dat::kMaxCpus) return std::unexpected(Error(fmt::format("byte {}: {} CPUs make no sense", at.at(), cpus)));
  take_area(head_end, at.at() + cpus * 2 * sizeof(std::uint64_t) - head_end, {});
  if (!read_table(at, 0)) return failed("the table of CPUs");
  return {};
}

// Version 6: offset and size of each CPU's data.
bool DatHead::read_table(Cursor& at, std::uint32_t instance) {
  for (std::uint32_t i = 0; i < cpus_; ++i) {
    DatCpu cpu{.cpu = i, .offset = at.u64()};
    cpu.size = at.u64();
    cpu.page_bytes = out_.page_bytes;
    cpu.instance = instance;
    if (!at.good()) return false;
    add_cpu(cpu);
  }
  return true;
}

void DatHead::read_options(Cursor& at, std::uint64_t end) {
  next_options_ = 0;
  while (at.good() && at.at() < end) {
    const std::uint16_t id = at.u16();
    if (id == dat::kDone) {
      if (out_.version == 6) return;
      if (at.u32() == 8) next_options_ = at.u64();
      return;
    }
    const std::uint32_t size = at.u32();
    const std::string data = at.bytes(size, kMaxOption);
    if (at.good()) take_option(id, data);
  }
  if (!at.good()) problem(fmt::format("byte {}: an option cannot be read", at.at()));
}

Result<void> DatHead::read_seven(Cursor& at) {
  const std::string algorithm = at.string(32);
  at.string(64);
  const std::uint64_t first = at.u64();
  if (!at.good()) return std::unexpected(broken(at, "the head"));
  is_compressed_ = algorithm != "none" && !algorithm.empty();
  if (is_compressed_ && algorithm != "zstd")
    return std::unexpected(Error(fmt::format("compressed with `{}`: zstd is read here", words_of_file(algorithm))));
  take_area(0, at.at(), {});
  read_section_chain(first);
  if (!has_buffer_) problem(fmt::format("byte {}: no option names trace data", first));
  out_.metadata.symbols.parse_kallsyms(affordable_lines(kallsyms_, "kallsyms"));
  if (out_.metadata.formats.all().empty())
    return std::unexpected(
        Error(fmt::format("no event format is readable{}{}", out_.problems.texts().empty() ? "" : ": ",
                          out_.problems.texts().empty() ? "" : out_.problems.texts().front())));
  return {};
}

void DatHead::read_section_chain(std::uint64_t first) {
  for (std::uint64_t offset = first; offset != 0; offset = next_options_) take_section(dat::kDone, offset);
}

// What stands behind a section's head, unpacked. The section's area is taken before anything of it is read.
std::optional<std::string> DatHead::section_content(Cursor& at, std::uint16_t id, bool is_packed, std::uint64_t size) {
  const std::uint64_t offset = at.at() - kSectionHead;
  const std::uint32_t packed_size = is_packed ? at.u32() : 0, plain_size = is_packed ? at.u32() : 0;
  const std::uint64_t wanted = is_packed ? packed_size : size;
  const auto no = [&](std::string_view why) {
    problem(fmt::format("byte {}: section {} {}", offset, id, why));
    return std::nullopt;
  };
  if (!at.good() || wanted > out_.file.size() - at.at()) return no("is longer than the file");
  if (!take_area(offset, at.at() + wanted - offset, {AreaOwner::Kind::Section, id})) return std::nullopt;
  std::string content = at.bytes(wanted, dat::kMaxSection);
  if (!at.good()) return no("cannot be read: it is too long, or lies in a hole of the file");
  if (!is_packed) return content;
  if (plain_size > dat::kMaxSection) return no("cannot be unpacked: it is too long");
  if (!out_.budget.unpack(plain_size)) return no("is not unpacked: " + out_.budget.unpack_text());
  auto plain = unpack_zstd({reinterpret_cast<const std::uint8_t*>(content.data()), content.size()}, plain_size);
  if (!plain) return no("cannot be unpacked");
  return std::string(plain->begin(), plain->end());
}

void DatHead::take_section(std::uint16_t wanted, std::uint64_t offset) {
  next_options_ = 0;
  Cursor at(out_.file, offset);
  const std::uint16_t id = at.u16(), flags = at.u16();
  at.u32();
  const std::uint64_t size = at.u64();
  if (!at.good() || id != wanted) return problem(fmt::format("byte {}: section {} is not there", offset, wanted));
  const auto plain = section_content(at, id, (flags & dat::kSectionCompressed) != 0, size);
  if (!plain) return;
  Cursor in(std::span(reinterpret_cast<const std::uint8_t*>(plain->data()), plain->size()));
  std::string text;
  bool good = true;
  if (id == dat::kDone) read_options(in, plain->size());
  if (id == dat::kHeaderInfo) good = header_info(in);
  if (id == dat::kFtraceEvents) good = ftrace_formats(in);
  if (id == dat::kEventFormats) good = event_formats(in);
  if (id == dat::kKallsyms) good = sized_text(in, kallsyms_, 4);
  if (id == dat::kPrintk && (good = sized_text(in, text, 4)))
    out_.metadata.symbols.parse_printk_formats(affordable_lines(text, "the printk formats"));
  if (id == dat::kCmdlines && (good = sized_text(in, text, 8)))
    read_comms_text(affordable_lines(text, "the tasks' names"), out_.metadata);
  if (!good) problem(fmt::format("byte {}: section {} ends early", offset, id));
}

void DatHead::take_clock(std::string_view text) {
  const auto open = text.find('['), close = text.find(']');
  if (open != std::string_view::npos && close != std::string_view::npos && close > open)
    out_.metadata.clock = text.substr(open + 1, close - open - 1);
}

// 0 for the top one, which has no name, and for those that are too many.
std::uint32_t DatHead::instance_named(const std::string& name) {
  if (name.empty()) return 0;
  if (const auto known = instances_.find(name); known != instances_.end()) return known->second;
  std::vector<std::string>& names = out_.metadata.instances;
  if (names.size() >= kMostInstances || !out_.budget.keep(kLineBytes + 2 * name.size())) {
    if (!has_too_many_instances_)
      problem(fmt::format("instance `{}` and others are shown as the top one: only {} are told apart",
                          words_of_file(name), names.size()));
    has_too_many_instances_ = true;
    return 0;
  }
  names.push_back(name);
  return instances_[name] = static_cast<std::uint32_t>(names.size());
}

void DatHead::take_buffer(const std::string& data) {
  Cursor at(std::span(reinterpret_cast<const std::uint8_t*>(data.data()), data.size()));
  has_buffer_ = true;
  const std::uint64_t section = at.u64();
  const std::string name = at.string(kMaxName);
  if (out_.version == 6) {
    Cursor table(out_.file, section);
    const bool is_table = table.string(16) == "flyrecord" && table.good();
    if (!is_table)
      return problem(fmt::format("the instance `{}` at byte {} makes no sense", words_of_file(name), section));
    const std::uint64_t bytes = table.at() - section + cpus_ * 2 * sizeof(std::uint64_t);
    if (!take_area(section, bytes, {AreaOwner::Kind::Section, dat::kBuffer})) return;
    if (!read_table(table, instance_named(name)))
      problem(fmt::format("the instance `{}` names fewer CPUs than the file says", words_of_file(name)));
    return;
  }
  const std::string clock = at.string(kMaxName);
  if (name.empty() || !has_clock_) take_clock("[" + clock + "]");  // the top one's where there is one
  has_clock_ = true;
  const std::uint32_t page = at.u32(), cpus = at.u32();
  Cursor head(out_.file, section);
  const bool is_there = head.u16() == dat::kBuffer;
  const bool compressed = (head.u16() & dat::kSectionCompressed) != 0;
  if (!at.good() || !is_there || page < 256 || page > dat::kMaxPage || cpus > dat::kMaxCpus)
    return problem(fmt::format("the buffer `{}` at byte {} makes no sense", words_of_file(name), section));
  if (!take_area(section, kSectionHead, {AreaOwner::Kind::Section, dat::kBuffer})) return;
  const std::uint32_t instance = instance_named(name);
  for (std::uint32_t i = 0; i < cpus; ++i) {
    DatCpu cpu{.cpu = at.u32(), .offset = at.u64()};
    cpu.size = at.u64();
    cpu.is_compressed = compressed;
    cpu.page_bytes = page;
    cpu.instance = instance;
    if (!at.good()) return problem(fmt::format("the buffer `{}` names fewer CPUs than it says", words_of_file(name)));
    add_cpu(cpu);
  }
  if (at.at() < data.size())
    problem(fmt::format("the buffer `{}` names {} CPUs and goes on for {} bytes", words_of_file(name), cpus,
                        data.size() - at.at()));
}

void DatHead::take_option(std::uint16_t id, const std::string& data) {
  Cursor at(std::span(reinterpret_cast<const std::uint8_t*>(data.data()), data.size()));
  const std::string_view text = text_until_nul(data);
  switch (id) {
    case dat::kDate:
    case dat::kOffset: {
      const bool hex = text.starts_with("0x");
      std::int64_t value = 0;
      std::from_chars(text.data() + (hex ? 2 : 0), text.data() + text.size(), value, hex ? 16 : 10);
      out_.time_offset_ns = static_cast<std::int64_t>(static_cast<std::uint64_t>(out_.time_offset_ns) +
                                                      static_cast<std::uint64_t>(value));
      return;
    }
    case dat::kCpuStat:
      if (text.starts_with(kMetadataHead))
        read_metadata_text(affordable_lines(text.substr(kMetadataHead.size()), "what kevtrace noted"), out_.metadata);
      else if (out_.budget.keep(kLineBytes + text.size()))
        out_.metadata.cpu_statistics.emplace_back(text);
      else
        problem(out_.budget.keep_text());
      return;
    case dat::kBuffer:
      return take_buffer(data);
    case dat::kTraceClock:
      return take_clock(text);
    case dat::kUname:
      out_.metadata.host = text;
      return;
    case dat::kVersion:
      out_.metadata.maker = text;
      return;
    case dat::kCpuCount:
      out_.metadata.cpus = std::clamp(at.u32(), 1u, dat::kMaxCpus);
      return;
    case dat::kTscToNs:
      return problem("time stamps are raw ticks of the CPU (TSC2NSEC), not nanoseconds");
    case dat::kHeaderInfo:
    case dat::kFtraceEvents:
    case dat::kEventFormats:
    case dat::kKallsyms:
    case dat::kPrintk:
    case dat::kCmdlines: {
      const std::uint64_t next = next_options_;
      take_section(id, at.u64());
      next_options_ = next;
      return;
    }
    default:  // hooks, process maps, guests, strings: nothing that a record needs
      return;
  }
}

}  // namespace

bool is_dat(std::string_view first_bytes) { return first_bytes.starts_with(dat::kMagic); }

Result<DatFile> read_dat_file(const std::string& path) {
  auto file = KEVT_TRY(InputFile::open(path));
  const std::uint64_t data_bytes = file.data_bytes();
  DatFile made{.file = std::move(file), .budget = ReadBudget(data_bytes)};
  if (auto read = DatHead(made).read(); !read)
    return std::unexpected(std::move(read.error()).while_doing("reading " + path));
  made.budget.end_head();
  std::ranges::stable_sort(made.cpus, {}, &DatCpu::instance);  // version 6 names the top one's last
  return made;
}

}  // namespace kevt::record
