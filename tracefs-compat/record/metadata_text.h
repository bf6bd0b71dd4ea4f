// What kevtrace adds to a trace.dat, as lines of text in an option that other tools show or ignore.
#pragma once

#include <string>
#include <string_view>

#include "tracefs-compat/record/recording.h"

namespace kevt::record {

inline constexpr std::string_view kMetadataHead = "kevtrace 1\n";
// Of a recording that is being made, by a writer that holds the file's lock: Metadata::has_writer_lock.
inline constexpr std::string_view kWriterLockLine = "writer-lock 1\n";

// Definitions, filters, totals, symbols with their sizes, the offset to wall-clock time.
std::string metadata_text(const Metadata& metadata);
// The same with another identity than the metadata's new one.
std::string metadata_text(const Metadata& metadata, const Identity& own);
// Takes over what it understands of such text; lines it does not know are left out.
void read_metadata_text(std::string_view text, Metadata& metadata);
// Whether it may be the id of a recording.
bool is_identity(std::string_view text);
// "PID NAME" lines, as saved_cmdlines has them.
std::string comms_text(const Metadata& metadata);
void read_comms_text(std::string_view text, Metadata& metadata);
// The PROCMAPS option: which code lay where in each process, in hexadecimal numbers.
std::string process_maps_text(const Metadata& metadata);
// kallsyms lines of the recording's symbols.
std::string kallsyms_text(const Metadata& metadata);
// printk_formats lines of the kernel's strings that are known.
std::string printk_formats_text(const Metadata& metadata);

}  // namespace kevt::record
