// The container: a header, and fields one after the other.
//
//   "\x89KEVO\r\n\x1a"  version  agent's ABI  payload bytes  FNV-1a of the payload  payload
//   text = length, bytes      list = count, items      numbers are 4 or 8 bytes, little endian
//
// Problem: the file decides what is executed, so nothing in it may be trusted before it is checked. Idea: the checksum
// first, then every length against the bytes that are left, every offset against its image. Lists grow as items are
// read, so a false count allocates nothing. Not here: whether the code fits the target (pipeline: it takes code only
// for exactly the same fetch program).
#include "compiler/script/compiled_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "common/abi/bpf.h"
#include "common/abi/probe.h"
#include "common/fnv.h"

namespace kevt::script {

namespace {

constexpr std::string_view kMagic = "\x89KEVO\r\n\x1a";
constexpr std::uint32_t kVersion = 6;
constexpr std::size_t kHeaderBytes = 8 + 4 + 4 + 8 + 8;

class CompiledWriter {
 public:
  template <class T>
  requires std::is_integral_v<T>
  void put(T value) { out_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void put(std::string_view text) {
    put(static_cast<std::uint64_t>(text.size()));
    out_.append(text);
  }
  void put(const StoredEvent& event) {
    for (const std::string* text : {&event.listing, &event.format, &event.program}) put(std::string_view(*text));
    put(static_cast<std::uint32_t>(event.slots.size()));
    for (const model::SlotSource& slot : event.slots) {
      put(static_cast<std::uint32_t>(slot.kind));
      put(std::string_view(slot.name));
      put(slot.addend);
    }
    for (const std::uint32_t number :
         {event.image, event.entry, event.code_size, event.block, event.register_reads, event.bpf})
      put(number);
  }
  void put(const model::BpfCode& code) {
    put(static_cast<std::uint32_t>(code.instructions.size()));
    for (const std::uint64_t instruction : code.instructions) put(instruction);
    put(static_cast<std::uint32_t>(code.references.size()));
    for (const model::BpfReference& reference : code.references) {
      put(reference.instruction);
      put(static_cast<std::uint32_t>(reference.map));
    }
    put(static_cast<std::uint32_t>(code.numbers.size()));
    for (const model::BpfNumber& number : code.numbers) {
      put(number.instruction);
      put(number.number);
    }
    put(static_cast<std::uint32_t>(code.functions.size()));
    for (const std::uint32_t first : code.functions) put(first);
    put(static_cast<std::uint32_t>(code.context));
    for (const std::uint32_t number : {code.cpus, code.event_bytes, code.slots_offset, code.scratch_bytes}) put(number);
  }
  void put(const model::NativeImage& image) {
    put(std::string_view(reinterpret_cast<const char*>(image.bytes.data()), image.bytes.size()));
    put(static_cast<std::uint32_t>(image.faults.size()));
    for (const model::FaultEntry& fault : image.faults) {
      put(fault.fault);
      put(fault.fixup);
    }
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

// After the first failed read, every further read gives an empty value.
class CompiledReader {
 public:
  explicit CompiledReader(std::string_view bytes) : left_(bytes) {}

  bool good() const { return good_; }
  bool at_end() const { return left_.empty(); }

  template <class T>
  T number() {
    T value = 0;
    if (left_.size() < sizeof value) return fail<T>();
    std::memcpy(&value, left_.data(), sizeof value);
    left_.remove_prefix(sizeof value);
    return value;
  }
  std::string text() {
    const auto length = number<std::uint64_t>();
    if (length > left_.size()) return fail<std::string>();
    std::string out(left_.substr(0, length));
    left_.remove_prefix(length);
    return out;
  }
  StoredEvent event() {
    StoredEvent event;
    for (std::string* field : {&event.listing, &event.format, &event.program}) *field = text();
    for (auto count = number<std::uint32_t>(); count > 0 && good_; --count) event.slots.push_back(slot());
    for (std::uint32_t* field :
         {&event.image, &event.entry, &event.code_size, &event.block, &event.register_reads, &event.bpf})
      *field = number<std::uint32_t>();
    return event;
  }
  model::BpfCode bpf() {
    model::BpfCode code;
    for (auto count = number<std::uint32_t>(); count > 0 && good_; --count)
      code.instructions.push_back(number<std::uint64_t>());
    for (auto count = number<std::uint32_t>(); count > 0 && good_; --count) {
      const auto instruction = number<std::uint32_t>();
      code.references.push_back({instruction, one_of(model::BpfMap::Kept)});
    }
    for (auto count = number<std::uint32_t>(); count > 0 && good_; --count) {
      const auto instruction = number<std::uint32_t>();
      code.numbers.push_back({instruction, number<std::uint32_t>()});
    }
    for (auto count = number<std::uint32_t>(); count > 0 && good_; --count)
      code.functions.push_back(number<std::uint32_t>());
    code.context = one_of(model::BpfContext::RawTracepoint);
    for (std::uint32_t* field : {&code.cpus, &code.event_bytes, &code.slots_offset, &code.scratch_bytes})
      *field = number<std::uint32_t>();
    return code;
  }
  model::NativeImage image() {
    model::NativeImage image;
    const std::string bytes = text();
    image.bytes.assign(bytes.begin(), bytes.end());
    for (auto count = number<std::uint32_t>(); count > 0 && good_; --count) {
      const auto fault = number<std::uint32_t>();
      image.faults.push_back({fault, number<std::uint32_t>()});
    }
    return image;
  }

 private:
  template <class T>
  T fail() {
    good_ = false;
    left_ = {};
    return T();
  }
  // An enumerator up to `last`.
  template <class Enum>
  Enum one_of(Enum last) {
    const auto value = number<std::uint32_t>();
    if (value > static_cast<std::uint32_t>(last)) return fail<Enum>();
    return static_cast<Enum>(value);
  }
  model::SlotSource slot() {
    model::SlotSource slot;
    slot.kind = one_of(model::SlotKind::ThreadLocal);
    slot.name = text();
    slot.addend = number<std::int64_t>();
    return slot;
  }

  std::string_view left_;
  bool good_ = true;
};

bool is_consistent(const StoredEvent& event, const model::NativeImage& image) {
  const std::uint64_t size = image.bytes.size();
  const bool code = event.entry < size && event.code_size <= size - event.entry && event.code_size != 0;
  const std::uint64_t block = sizeof(kevt_event) + sizeof(std::uint64_t) * event.slots.size();
  return code && event.block <= size && block <= size - event.block;
}

// The kernel checks the instructions, but the layout of the maps must be checked here. Each event has one sink.
bool is_consistent(const StoredEvent& event, const model::BpfCode& code) {
  constexpr std::uint64_t kLoad16 = 0x18;  // BPF_LD | BPF_IMM | BPF_DW
  constexpr std::uint32_t kMostCpus = 1024;
  constexpr std::uint32_t kMostTexts = 2 * 128 + 1;
  if (!std::has_single_bit(code.cpus) || code.cpus > kMostCpus || code.instructions.empty()) return false;
  const auto in_code = [&](std::uint32_t instruction) { return instruction < code.instructions.size(); };
  for (const model::BpfReference& reference : code.references)
    if (!in_code(reference.instruction) || !in_code(reference.instruction + 1)) return false;
  for (const model::BpfNumber& number : code.numbers)
    if (!in_code(number.instruction) || !in_code(number.instruction + 1) ||
        (code.instructions[number.instruction] & 0xff) != kLoad16)
      return false;
  if (code.functions.empty() || code.functions.front() != 0 || !std::ranges::all_of(code.functions, in_code))
    return false;
  const bool texts =
      code.scratch_bytes == 0 ||
      (code.scratch_bytes >= KEVT_BPF_TEXTS && code.scratch_bytes <= KEVT_BPF_TEXTS + kMostTexts * KEVT_BPF_TEXT_BYTES);
  return texts && code.slots_offset == sizeof(kevt_bpf_event) + code.cpus * sizeof(kevt_bpf_counts) &&
         code.event_bytes == code.slots_offset + sizeof(std::uint64_t) * event.slots.size();
}

// Offsets of an event lie in its image, and so do the addresses that may fault, in order.
bool is_consistent(const CompiledScript& script) {
  for (const model::NativeImage& image : script.images) {
    std::uint32_t before = 0;
    for (const model::FaultEntry& fault : image.faults) {
      if (fault.fault < before || fault.fault >= image.bytes.size() || fault.fixup >= image.bytes.size()) return false;
      before = fault.fault;
    }
  }
  for (const StoredEvent& event : script.events) {
    const bool native = event.image != kNoCode;
    if (native && (event.image >= script.images.size() || !is_consistent(event, script.images[event.image])))
      return false;
    const bool bpf = event.bpf != kNoCode;
    if (bpf && (event.bpf >= script.bpf.size() || !is_consistent(event, script.bpf[event.bpf]))) return false;
    if (!native && !bpf) return false;
  }
  return true;
}

std::unexpected<Error> refuse(std::string why) { return std::unexpected(Error(std::move(why))); }

}  // namespace

bool is_compiled_script(std::string_view bytes) { return bytes.starts_with(kMagic); }

std::string write_compiled_script(const CompiledScript& script) {
  CompiledWriter payload;
  payload.put(std::string_view(script.made_by));
  payload.put(std::string_view(script.text));
  payload.put(static_cast<std::uint32_t>(script.events.size()));
  for (const StoredEvent& event : script.events) payload.put(event);
  payload.put(static_cast<std::uint32_t>(script.images.size()));
  for (const model::NativeImage& image : script.images) payload.put(image);
  payload.put(static_cast<std::uint32_t>(script.bpf.size()));
  for (const model::BpfCode& code : script.bpf) payload.put(code);
  const std::string bytes = payload.take();
  CompiledWriter header;
  header.put(kVersion);
  header.put(std::uint32_t{KEVT_ABI_VERSION});
  header.put(static_cast<std::uint64_t>(bytes.size()));
  header.put(fnv1a(bytes));
  return std::string(kMagic) + header.take() + bytes;
}

Result<CompiledScript> read_compiled_script(std::string_view bytes) {
  if (!is_compiled_script(bytes)) return refuse("this is not a compiled script");
  if (bytes.size() < kHeaderBytes) return refuse("this compiled script is cut off");
  CompiledReader header(bytes.substr(kMagic.size()));
  const auto version = header.number<std::uint32_t>();
  const auto abi = header.number<std::uint32_t>();
  const auto size = header.number<std::uint64_t>();
  const auto sum = header.number<std::uint64_t>();
  if (version != kVersion || abi != KEVT_ABI_VERSION)
    return refuse(fmt::format("this compiled script is of version {}.{}, this kevtrace runs {}.{}; compile it anew",
                              version, abi, kVersion, KEVT_ABI_VERSION));
  const std::string_view payload = bytes.substr(kHeaderBytes);
  if (payload.size() != size) return refuse("this compiled script is cut off, or something follows it");
  if (fnv1a(payload) != sum) return refuse("this compiled script is damaged: its checksum is wrong");
  CompiledReader reader(payload);
  CompiledScript script{.made_by = reader.text(), .text = reader.text(), .events = {}, .images = {}, .bpf = {}};
  for (auto count = reader.number<std::uint32_t>(); count > 0 && reader.good(); --count)
    script.events.push_back(reader.event());
  for (auto count = reader.number<std::uint32_t>(); count > 0 && reader.good(); --count)
    script.images.push_back(reader.image());
  for (auto count = reader.number<std::uint32_t>(); count > 0 && reader.good(); --count)
    script.bpf.push_back(reader.bpf());
  if (!reader.good() || !reader.at_end() || !is_consistent(script))
    return refuse("this compiled script contradicts itself");
  return script;
}

}  // namespace kevt::script
