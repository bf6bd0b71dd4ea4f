// EventWording: records in the words of libtraceevent's plugins, or where our own evaluator does not understand a print
// fmt, printed by libtraceevent. It works in a process of its own (printer_main.cpp), which is started when it is
// needed.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "common/unique_fd.h"
#include "tracefs-compat/record/recording.h"
#include "tracefs-compat/record/traceevent/wire.h"

namespace kevt::record {

class EventWording {
 public:
  // `metadata` outlives it; its symbols are those of the time when the process is started. Without plugins no event has
  // words but those of its print fmt.
  explicit EventWording(const Metadata& metadata, bool has_plugins = true)
      : metadata_(&metadata), has_plugins_(has_plugins) {}
  EventWording(const EventWording&) = delete;
  EventWording& operator=(const EventWording&) = delete;
  ~EventWording() { stop(); }

  // What it can do with records of an event. Nothing: that is left to the print fmt.
  enum class Can : std::uint8_t { Nothing, Print, PrintInWords };
  Can can(const EventFormat& event);

  // Records to be printed together, in their order. Those that are no whole record of their event are left out.
  void queue(const TypedRecord& record);
  std::size_t queued() const { return queued_.size(); }
  // What stands behind the name of each event that was queued; nullopt: it cannot be said. The texts are as hostile as
  // the file.
  std::vector<std::optional<std::string>> take();

  // What became known of the same trace, whose formats stay where they are.
  void set_metadata(const Metadata& metadata) { metadata_ = &metadata; }
  // For how long texts are waited for; a process that gives none by then is taken for one that has ended. Whether it
  // can print an event it may think over for some seconds: it starts then, and reads symbols.
  void set_patience(std::chrono::milliseconds patience) { patience_ = patience; }

  // What went wrong since it was asked last.
  std::optional<std::string> take_problem();

 private:
  struct Queued {
    const EventFormat* event = nullptr;  // nullptr: it is not sent
    std::size_t at = 0, bytes = 0;       // in asked_
  };
  using Texts = std::vector<std::optional<std::string>>;

  bool start();
  void stop();
  void fail(const std::string& why);
  // It has ended over records or the format of this event: it sees none of them again.
  void ban(const EventFormat& event);
  bool tell(wire::Ask what, const std::string& text);
  bool ask(wire::Ask what, std::string_view bytes);
  std::optional<std::string> answer(std::chrono::milliseconds patience);
  std::optional<std::uint32_t> ask_format(const EventFormat& event);
  std::optional<std::uint32_t> add_format(const EventFormat& event);
  // Puts in texts[i] for each of `queued` that is sent. False: the process has ended.
  bool print(std::string_view asked, std::span<const Queued> queued, std::span<std::optional<std::string>> texts);

  const Metadata* metadata_;
  bool has_plugins_;
  std::chrono::milliseconds patience_{10'000};
  pid_t process_ = -1;
  UniqueFd socket_;
  bool is_hopeless_ = false;
  bool has_symbols_ = false;               // the process
  std::vector<const EventFormat*> known_;  // of which it has the formats
  std::unordered_set<const EventFormat*> banned_;
  std::string asked_;  // records, as they are sent
  std::vector<Queued> queued_;
  std::vector<std::string> news_;  // events that were banned
  std::string problem_;
};

}  // namespace kevt::record
