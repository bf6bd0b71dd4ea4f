// The head of a trace.dat version 6, and the pieces that version 7 shares with it, as bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tracefs-compat/record/recording.h"

namespace kevt::record {

struct CpuExtent {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

// How an event's format file is written: its own text, or one with names for addresses (symbolic_format.h).
using FormatText = std::function<std::string(const EventFormat&)>;

// Room for what grows while a recording is made: each text is filled up with '\n' to this size; 0: no room is left.
struct DatRoom {
  std::uint64_t kallsyms = 0, comms = 0, metadata = 0;
};

struct DatHeadBytes {
  std::string bytes;
  std::uint64_t kallsyms_at = 0, comms_at = 0, metadata_at = 0;  // of the texts
  std::uint64_t table_at = 0;                                    // of the CPUs' offsets and sizes
};
// Version 6 whole, up to and with the table.
DatHeadBytes dat6_head(const Metadata& metadata, const FormatText& format, const DatRoom& room,
                       const std::vector<CpuExtent>& cpus);

// Pieces, without sections around them.
std::string dat_magic(char version);  // up to the page size
std::string header_info_bytes();
std::string event_formats_bytes(const Metadata& metadata, const FormatText& format);
std::string ftrace_formats_bytes(const Metadata& metadata);
struct DatOption {
  std::uint16_t id = 0;
  std::string data;
};
std::vector<DatOption> dat_options(const Metadata& metadata, std::uint64_t metadata_room);
std::string option_bytes(const DatOption& option);

void put16(std::string& out, std::uint16_t value);
void put32(std::string& out, std::uint32_t value);
void put64(std::string& out, std::uint64_t value);

}  // namespace kevt::record
