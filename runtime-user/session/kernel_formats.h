// Formats of the running kernel's static events, read from its tracefs. Nothing is written there.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "common/unique_fd.h"
#include "compiler/model/record_layout.h"
#include "compiler/target/event_catalog.h"
#include "tracefs-compat/record/event_format.h"

namespace kevt::session {

// A descriptor of the tracing directory; an empty one if there is no tracefs that we may read.
UniqueFd open_tracefs();
// The content of the file `path` below the directory `at`; empty if it cannot be read.
std::string text_in(int at, const std::string& path);
// Whether the word may name a folder of events/; a word that could lead out of events/ may not.
bool is_folder_of_events(std::string_view word);
// Whether the group holds probes that somebody defined in the kernel, or ftrace's own records: no BPF program can be
// attached to such events.
bool is_of_probes(std::string_view group);
model::RecordLayout layout_of(const record::EventFormat& format);

// Static events by name; the format of each is read when it is first asked for.
class KernelCatalog final : public target::EventCatalog {
 public:
  KernelCatalog();

  // Whether there is a tracefs that we may read.
  bool is_readable() const;
  const target::CatalogEntry* find(std::string_view group, std::string_view event) const override;
  // The event's common_type; nullopt: no such event.
  std::optional<std::uint32_t> id_of(const model::EventPlace& place) const;

 private:
  struct Found {
    std::uint32_t id = 0;
    target::CatalogEntry entry;
  };
  const Found* look_up(std::string_view group, std::string_view event) const;

  UniqueFd tracefs_;
  mutable std::map<std::string, std::optional<Found>> found_;  // GROUP/EVENT; nullopt: there is none
};

// The message for a definition that needs tracefs.
inline constexpr const char* kNoTracefs =
    "`e` probes need the formats of the kernel's events: no tracefs can be read here (root can)";

}  // namespace kevt::session
