// RemoteMapper: what a session has mapped into one target, and the system calls by which it is mapped, used and taken
// away. All need the target stopped.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "common/abi/probe.h"
#include "common/addresses.h"
#include "common/error.h"
#include "compiler/target/process/process_map.h"
#include "runtime-user/runtime/inproc/memory/shared_file.h"
#include "runtime-user/runtime/inproc/process/tracee.h"

namespace kevt::inproc {

// Where the agent's parts are in the target.
struct PlacedAgent {
  RemoteAddr base;
  RemoteAddr priv;    // kevt_private
  RemoteAddr selves;  // what fork wipes
  std::uint64_t max_threads = 0;
};

class RemoteMapper {
 public:
  explicit RemoteMapper(Tracee& tracee) : tracee_(tracee) {}
  // For a process whose session is known from its tables alone: a forked child, or one whose tracer is dead.
  static Result<RemoteMapper> of_session(Tracee& tracee, const kevt_tables& tables);

  Tracee& tracee() const { return tracee_; }
  const PlacedAgent& agent() const { return agent_; }
  void set_agent(const PlacedAgent& agent) { agent_ = agent; }

  // Makes a system call in the target. A failed call is an error that names `what` and carries errno.
  Result<std::int64_t> call(const char* what, std::int64_t number, std::array<std::uint64_t, 6> arguments) const;
  Result<RemoteAddr> map_anonymous(std::uint64_t bytes, int protection);
  // A page for what system calls read and write, kept until take_away(). Its first kScratchAt bytes note a pair of
  // sockets while one is open (fd_passing.h); any caller may use the bytes from kScratchAt on.
  static constexpr std::uint64_t kScratchAt = 64;
  Result<RemoteAddr> scratch_page();
  void set_scratch_page(RemoteAddr page) { scratch_ = page; }
  // Maps a piece of the code arena at a free place, readable and executable, and checks that the place shows `file`.
  Result<void> map_window(const SharedFile& file, RemoteAddr at, std::uint64_t bytes, std::uint64_t offset);
  // The inode of the file that is being sent, from before its socket is there until its descriptor is closed again.
  void note_sending(std::optional<std::uint64_t> inode) { sending_ = inode; }
  std::optional<std::uint64_t> sending() const { return sending_; }
  // Unmaps everything: only when no thread can ever come back to it.
  Result<void> take_away();

  // Whether an address lies in a window of the code arena.
  bool is_code(RemoteAddr at) const;
  // Adds a piece that another tracer has mapped; take_away() unmaps it, too.
  void note_anonymous(const kevt_mapping& mapped) { anonymous_.push_back(mapped); }
  // `note` gets the list of anonymous pieces before the newest of them is mapped.
  using Note = std::function<void(const std::vector<kevt_mapping>&)>;
  void note_in(Note note) { note_ = std::move(note); }

 private:
  Result<void> settle_unclear();

  Tracee& tracee_;
  PlacedAgent agent_;
  RemoteAddr scratch_;
  Note note_ = [](const std::vector<kevt_mapping>&) {};
  std::vector<kevt_mapping> anonymous_, files_, windows_;
  std::optional<std::uint64_t> sending_;
  struct Unclear {
    std::uint64_t at = 0, bytes = 0, inode = 0;
  };
  Unclear unclear_;
};

// What is about to be mapped into a process that has no tables yet: for whoever cleans up when we die just then.
struct PreparationNote {
  pid_t pid = 0;
  std::uint64_t at = 0, bytes = 0;
  bool has_failed_to_leave = false;  // our memory is still in some process
};
// From now on every preparation that this process makes is noted in `note`, in memory that outlives this process.
void note_preparations_in(PreparationNote* note);
void note_preparation(pid_t pid, RemoteAddr at, std::uint64_t bytes);
void note_failed_departure();

// Whether a noted piece is there: private and anonymous from end to end, but for our files mapped into it.
bool is_there(const std::vector<target::Mapping>& maps, const kevt_mapping& piece);

// Whether [at, at + bytes) shows the file from `offset` on, shared, with these rights, and nothing else.
bool shows_file(const std::vector<target::Mapping>& maps, const SharedFile& file, RemoteAddr at, std::uint64_t bytes,
                std::uint64_t offset, int protection);
// The error for a mapping that does not show what was asked for.
Error exchanged_file();

}  // namespace kevt::inproc
