// What the running kernel's tracefs says of its static events. It is only read.
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

// A descriptor of the directory; none: there is no tracefs for us.
UniqueFd open_tracefs();
// Of a file below the directory `at`; empty where it cannot be read.
std::string text_in(int at, const std::string& path);
// Whether it may be the name of a folder of events/: no path leads out of there.
bool is_folder_of_events(std::string_view word);
// Whether a group of the kernel's is one of probes that somebody has defined there: no program can be attached to them.
bool is_of_probes(std::string_view group);
model::RecordLayout layout_of(const record::EventFormat& format);

// Static events by name, each read when it is first asked for.
class KernelCatalog final : public target::EventCatalog {
 public:
  KernelCatalog();

  // Whether there is a tracefs that we may read.
  bool is_readable() const;
  const target::CatalogEntry* find(std::string_view group, std::string_view event) const override;
  // common_type.
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

// Said where a definition needs one.
inline constexpr const char* kNoTracefs =
    "`e` probes need the formats of the kernel's events: no tracefs can be read here (root can)";

}  // namespace kevt::session
