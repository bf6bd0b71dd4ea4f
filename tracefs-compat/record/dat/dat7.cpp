// magic "7" … "zstd" version, offset of the options | sections: header info, formats, kallsyms, cmdlines | buffer |
// options | strings. A section: u16 id, u16 flags, u32 its description in the strings, u64 size; packed ones u32
// packed, u32 plain, zstd. A CPU's data: u32 chunks, then each like a packed section's content. (trace-cmd.dat.v7(5))
#include "tracefs-compat/record/dat/dat7.h"

#include <unistd.h>

#include "common/page.h"
#include "compiler/layout/ring_page.h"
#include "tracefs-compat/record/dat/dat_ids.h"
#include "tracefs-compat/record/dat/zstd_bytes.h"
#include "tracefs-compat/record/metadata_text.h"

namespace kevt::record {
namespace {

constexpr std::uint64_t kChunk = 32 * kPage;
constexpr std::string_view kNoVersion = "1.5";

class Dat7 {
 public:
  Dat7(OutputFile& out, const Metadata& metadata) : out_(out), metadata_(metadata) {}

  Result<std::uint64_t> write(const OutputFile& pages, const std::vector<CpuExtent>& from, const FormatText& format) {
    std::string head = dat_magic('7') + "zstd" + '\0' + std::string(kNoVersion) + '\0';
    const std::uint64_t options_at = head.size();
    put64(head, 0);
    put(head);
    packed_section(dat::kHeaderInfo, "headers", header_info_bytes());
    packed_section(dat::kFtraceEvents, "ftrace events", ftrace_formats_bytes(metadata_));
    packed_section(dat::kEventFormats, "events format", event_formats_bytes(metadata_, format));
    std::string sized;
    const std::string kallsyms = kallsyms_text(metadata_), comms = comms_text(metadata_);
    const std::string printk = printk_formats_text(metadata_);
    put32(sized, static_cast<std::uint32_t>(kallsyms.size()));
    packed_section(dat::kKallsyms, "kallsyms", sized + kallsyms);
    sized.clear();
    put32(sized, static_cast<std::uint32_t>(printk.size()));
    packed_section(dat::kPrintk, "printk", sized + printk);
    sized.clear();
    put64(sized, comms.size());
    packed_section(dat::kCmdlines, "command lines", sized + comms);
    buffer(pages, from);
    const std::uint64_t options = at_;
    section(dat::kDone, 0, "options", options_bytes());
    section(dat::kStrings, 0, "strings", strings_ + "strings" + '\0');
    std::string offset;
    put64(offset, options);
    if (failed_) failed_ = out_.write_at(options_at, offset);
    if (!failed_) return std::unexpected(failed_.error());
    return at_;
  }

 private:
  void put(std::string_view bytes) {
    if (failed_) failed_ = out_.write_at(at_, bytes);
    at_ += bytes.size();
  }

  std::string section_head(std::uint16_t id, std::uint16_t flags, std::string_view name, std::uint64_t size) {
    std::string head;
    put16(head, id);
    put16(head, flags);
    put32(head, static_cast<std::uint32_t>(strings_.size()));
    put64(head, size);
    strings_ += name;
    strings_ += '\0';
    return head;
  }

  void section(std::uint16_t id, std::uint16_t flags, std::string_view name, const std::string& content) {
    if (id == dat::kStrings) {
      const std::size_t before = strings_.size();
      std::string head = section_head(id, flags, name, content.size());
      strings_.resize(before);
      return put(head + content);
    }
    sections_.push_back({id, at_});
    put(section_head(id, flags, name, content.size()) + content);
  }

  static std::string packed(std::string_view plain) {
    const auto bytes = pack_zstd({reinterpret_cast<const std::uint8_t*>(plain.data()), plain.size()});
    std::string out;
    put32(out, static_cast<std::uint32_t>(bytes.size()));
    put32(out, static_cast<std::uint32_t>(plain.size()));
    out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return out;
  }

  void packed_section(std::uint16_t id, std::string_view name, const std::string& plain) {
    section(id, dat::kSectionCompressed, name, packed(plain));
  }

  // The section's head is written first, its size when it is known.
  void buffer(const OutputFile& pages, const std::vector<CpuExtent>& from) {
    const std::uint64_t section_at = at_;
    const std::string head = section_head(dat::kBuffer, dat::kSectionCompressed, "buffer flyrecord", 0);
    put(head);
    std::string cpus;
    std::uint32_t count = 0;
    for (std::uint32_t cpu = 0; cpu < from.size(); ++cpu) {
      if (from[cpu].size == 0) continue;
      const std::uint64_t begin = at_;
      cpu_data(pages, from[cpu]);
      put32(cpus, cpu);
      put64(cpus, begin);
      put64(cpus, at_ - begin);
      ++count;
    }
    std::string size;
    put64(size, at_ - section_at - head.size());
    if (failed_) failed_ = out_.write_at(section_at + 8, size);
    put64(buffer_option_, section_at);
    buffer_option_ += '\0';
    buffer_option_ += metadata_.clock + '\0';
    put32(buffer_option_, kPage);
    put32(buffer_option_, count);
    buffer_option_ += cpus;
  }

  void cpu_data(const OutputFile& pages, const CpuExtent& from) {
    std::string chunks;
    put32(chunks, static_cast<std::uint32_t>((from.size + kChunk - 1) / kChunk));
    put(chunks);
    std::string plain;
    for (std::uint64_t done = 0; done < from.size && failed_; done += plain.size()) {
      plain.resize(std::min(kChunk, from.size - done));
      const ssize_t got = pread(pages.fd(), plain.data(), plain.size(), static_cast<off_t>(from.offset + done));
      if (got != static_cast<ssize_t>(plain.size())) {
        failed_ = std::unexpected(Error::from_errno("reading " + pages.path()));
        return;
      }
      put(packed(plain));
    }
  }

  std::string options_bytes() const {
    std::string out;
    for (const auto& [id, at] : sections_) {
      if (id == dat::kDone) continue;
      std::string offset;
      put64(offset, at);
      out += option_bytes({id, offset});
    }
    for (const DatOption& option : dat_options(metadata_, 0)) out += option_bytes(option);
    out += option_bytes({dat::kBuffer, buffer_option_});
    std::string none;
    put64(none, 0);
    return out + option_bytes({dat::kDone, none});
  }

  OutputFile& out_;
  const Metadata& metadata_;
  std::uint64_t at_ = 0;
  std::string strings_, buffer_option_;
  std::vector<std::pair<std::uint16_t, std::uint64_t>> sections_;
  Result<void> failed_;
};

}  // namespace

Result<std::uint64_t> write_dat7(OutputFile& out, const OutputFile& pages, const std::vector<CpuExtent>& from,
                                 const Metadata& metadata, const FormatText& format) {
  return Dat7(out, metadata).write(pages, from, format);
}

}  // namespace kevt::record
