// Common Trace Format 1.8. Everything is aligned to bytes and little endian, so a packet is a plain concatenation:
//
//   head: u32 magic | u64 begin, u64 end, u64 content bits, u64 packet bits, u64 lost so far, u32 cpu
//   event: u32 id, u64 time | s32 tid, comm\0 | fields: numbers as they are, texts with a NUL, bytes with a u32 length
//
// A packet is a page, or as many as one long record needs: a writer that is killed in write() leaves whole pages
// (generic_perform_write() in mm/filemap.c of 6.1), so its trace can be read up to its last packet. Names get a '_' in
// front, which readers take away: a field may be called `string`.
#include "tracefs-compat/record/formats/ctf_writer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "common/error.h"
#include "tracefs-compat/record/dat/dat_head.h"
#include "tracefs-compat/record/recording_formats.h"

namespace kevt::record {
namespace {

constexpr std::size_t kStreamHead = 4 + 5 * 8 + 4;
constexpr std::size_t kPacketBytes = 4096;
constexpr std::uint32_t kMagic = 0xC1FC1FC1;

std::string as_ctf_text(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out + '"';
}

std::string integer(std::uint32_t bytes, bool is_signed, bool is_hex) {
  return fmt::format("integer {{ size = {}; align = 8; signed = {}; base = {}; }}", bytes * 8,
                     is_signed ? "true" : "false", is_hex ? 16 : 10);
}

// CTF 1.8, 4.1.7: the digits of the exponent and, with the hidden one, of the mantissa.
std::string number_class(const Field& field, bool is_hex) {
  if (!field.is_float) return integer(field.item_bytes, field.is_signed, is_hex);
  return fmt::format("floating_point {{ exp_dig = {}; mant_dig = {}; align = 8; }}", field.item_bytes == 4 ? 8 : 11,
                     field.item_bytes == 4 ? 24 : 53);
}

std::string declaration(const Field& field) {
  const bool is_hex = field.role != PlaceRole::None;
  switch (field.kind) {
    case FieldKind::Number:
      return fmt::format("{} _{};", number_class(field, is_hex), field.name);
    case FieldKind::Numbers:
      return fmt::format("{} _{}[{}];", number_class(field, false), field.name, field.items());
    case FieldKind::Text:
    case FieldKind::DynamicText:
      return fmt::format("string _{};", field.name);
    case FieldKind::DynamicTexts: {
      std::string all;
      for (std::uint32_t i = 0; i < field.items(); ++i) all += fmt::format("string _{}_{}; ", field.name, i);
      return all;
    }
    case FieldKind::DynamicNumbers:
      return fmt::format("u32 __{0}_length; {1} _{0}[__{0}_length];", field.name, number_class(field, false));
    case FieldKind::DynamicBytes:
      return fmt::format("u32 __{0}_length; u8 _{0}[__{0}_length];", field.name);
  }
  return "";
}

void append_text(const Value& value, std::string& out) {
  out += value.kind == Value::Kind::Text ? value.text : std::string_view("(fault)");
  out += '\0';
}

void append_bytes(std::span<const std::uint8_t> bytes, std::string& out) {
  out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

// As many bytes as the metadata says, whatever the record has.
void append_field(const Field& field, std::span<const std::uint8_t> record, std::string& out) {
  switch (field.kind) {
    case FieldKind::Number:
    case FieldKind::Numbers: {
      const std::uint32_t size = field.items() * field.item_bytes;
      const auto there = record.subspan(std::min<std::size_t>(field.offset, record.size()));
      const auto bytes = there.first(std::min<std::size_t>(size, there.size()));
      append_bytes(bytes, out);
      out.append(size - bytes.size(), '\0');
      return;
    }
    case FieldKind::Text:
    case FieldKind::DynamicText:
      return append_text(value_of(field, record), out);
    case FieldKind::DynamicTexts:
      for (std::uint32_t i = 0; i < field.items(); ++i) append_text(value_of(field, record, i), out);
      return;
    case FieldKind::DynamicBytes:
    case FieldKind::DynamicNumbers: {
      const std::size_t item = field.kind == FieldKind::DynamicNumbers ? field.item_bytes : 1;
      const auto bytes = dynamic_bytes(field, record);
      put32(out, static_cast<std::uint32_t>(bytes.size() / item));
      append_bytes(bytes.first(bytes.size() / item * item), out);
    }
  }
}

}  // namespace

std::string ctf_metadata(const Metadata& metadata) {
  const std::int64_t offset = metadata.wall_offset_ns.value_or(0);
  std::string out = fmt::format(
      "/* CTF 1.8 */\n\n"
      "typealias integer {{ size = 8; align = 8; signed = false; }} := u8;\n"
      "typealias integer {{ size = 32; align = 8; signed = false; }} := u32;\n"
      "typealias integer {{ size = 64; align = 8; signed = false; }} := u64;\n"
      "trace {{ major = 1; minor = 8; byte_order = le; packet.header := struct {{ u32 magic; }}; }};\n"
      "env {{ domain = \"kernel\"; tracer_name = \"kevtrace\"; hostname = {}; }};\n"
      "clock {{ name = monotonic; freq = 1000000000; offset_s = {}; offset = {}; }};\n"
      "typealias integer {{ size = 64; align = 8; signed = false; map = clock.monotonic.value; }} := moment;\n"
      "stream {{\n"
      "  packet.context := struct {{ moment timestamp_begin; moment timestamp_end; u64 content_size; u64 packet_size; "
      "u64 events_discarded; u32 cpu_id; }};\n"
      "  event.header := struct {{ u32 id; moment timestamp; }};\n"
      "  event.context := struct {{ integer {{ size = 32; align = 8; signed = true; }} _tid; string _comm; }};\n"
      "}};\n",
      as_ctf_text(metadata.host), offset / 1'000'000'000, offset % 1'000'000'000);
  for (const EventFormat& event : metadata.formats.all()) {
    out += fmt::format("event {{ name = {}; id = {}; fields := struct {{\n",
                       as_ctf_text(event.system + ":" + event.name), event.id);
    for (const Field& field : event.fields) out += "  " + declaration(field) + "\n";
    out += "}; };\n";
  }
  return out;
}

Result<std::unique_ptr<CtfWriter>> CtfWriter::create(const std::string& path, const Metadata& metadata) {
  if (path.empty() || path == "-") return std::unexpected(Error("a CTF trace is a folder; name it with -o"));
  auto folder = KEVT_TRY(open_output_folder(path));
  std::unique_ptr<CtfWriter> made(new CtfWriter(std::move(folder)));
  for (std::uint32_t cpu = 0; cpu < metadata.cpus; ++cpu)
    unlinkat(made->folder_.get(), fmt::format("stream_{}", cpu).c_str(), 0);
  auto file = KEVT_TRY(OutputFile::create_in(made->folder_, "metadata"));
  file.append(ctf_metadata(metadata));
  KEVT_TRY(file.flush());
  return made;
}

Result<CtfWriter::Stream*> CtfWriter::stream_of(std::uint32_t cpu) {
  if (streams_.size() <= cpu) streams_.resize(cpu + 1);
  std::unique_ptr<Stream>& stream = streams_[cpu];
  if (stream) return stream.get();
  auto file = KEVT_TRY(OutputFile::create_in(folder_, fmt::format("stream_{}", cpu)));
  stream = std::make_unique<Stream>(Stream{.file = std::move(file), .packet = {}});
  return stream.get();
}

Result<void> CtfWriter::end_packet(Stream& stream, std::uint32_t cpu) {
  if (stream.packet.empty()) return {};
  std::string head;
  put32(head, kMagic);
  put64(head, stream.begin_ns);
  put64(head, stream.end_ns);
  const std::size_t pages = (stream.packet.size() + kPacketBytes - 1) / kPacketBytes;
  put64(head, stream.packet.size() * 8);
  put64(head, pages * kPacketBytes * 8);
  put64(head, stream.lost);
  put32(head, cpu);
  stream.packet.replace(0, kStreamHead, head);
  stream.packet.resize(pages * kPacketBytes);
  stream.file.append(stream.packet);
  stream.packet.clear();
  return stream.file.flush_if_long();
}

Result<void> CtfWriter::add(const TypedRecord& record) {
  auto found = KEVT_TRY(stream_of(record.cpu));
  Stream& stream = *found;
  if (record.lost_before) {
    KEVT_TRY(end_packet(stream, record.cpu));
    stream.lost += record.lost_before == ~0ull ? 1 : record.lost_before;
  }
  const std::uint64_t time = std::max(record.time_ns, stream.end_ns);
  std::string& event = event_;
  event.clear();
  put32(event, record.event->id);
  put64(event, time);
  put32(event, static_cast<std::uint32_t>(record.pid));
  event += record.comm;
  event += '\0';
  for (const Field& field : record.event->fields) append_field(field, record.bytes, event);
  if (stream.packet.size() + event.size() > kPacketBytes) KEVT_TRY(end_packet(stream, record.cpu));
  if (stream.packet.empty()) {
    stream.packet.assign(kStreamHead, '\0');
    stream.begin_ns = time;
  }
  stream.end_ns = time;
  stream.packet += event;
  return {};
}

Result<void> CtfWriter::flush() {
  for (std::uint32_t cpu = 0; cpu < streams_.size(); ++cpu) {
    if (!streams_[cpu]) continue;
    KEVT_TRY(end_packet(*streams_[cpu], cpu));
    KEVT_TRY(streams_[cpu]->file.flush());
  }
  return {};
}

std::uint64_t CtfWriter::bytes() const {
  std::uint64_t sum = 0;
  for (const auto& stream : streams_) sum += stream ? stream->file.written() : 0;
  return sum;
}

Result<std::unique_ptr<RecordWriter>> create_ctf(const std::string& path, const Metadata& metadata) {
  return CtfWriter::create(path, metadata);
}

}  // namespace kevt::record
