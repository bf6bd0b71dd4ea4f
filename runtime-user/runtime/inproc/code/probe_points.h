// Probe points: one per probed address, whatever number of events stand there.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/error.h"
#include "compiler/target/process/perf_map.h"
#include "compiler/target/process/process_map.h"
#include "runtime-user/runtime/inproc/code/detour.h"
#include "runtime-user/runtime/inproc/code/patcher.h"
#include "runtime-user/runtime/inproc/code/probed_files.h"
#include "runtime-user/runtime/inproc/process/placement.h"
#include "runtime-user/runtime/inproc/process/stopped_text.h"
#include "runtime-user/runtime/inproc/x86/site_plan.h"

namespace kevt::inproc {

// A loaded file of the target; opened once.
struct ProbedObject {
  target::LoadedObject loaded;
  std::shared_ptr<ProbedFile> file;
  const target::ElfImage* image = nullptr;  // of the file
  std::uint64_t bias = 0;
  bool is_mapped = true;  // when maps were last read
  bool stays = false;     // the program has it from its start to its end

  bool is_jit() const { return image->is_jit(); }
};

struct ProbePoint {
  RemoteAddr site;
  ProbedObject* object = nullptr;
  x86::SitePlan plan;
  std::vector<std::uint8_t> live;   // the target's own bytes that the patch may cover
  std::vector<std::uint8_t> patch;  // our bytes that stand there now; empty: none
  std::vector<std::uint8_t> tail;   // of JIT code: what follows `live`, and tells that the code is still there
  bool gone = false;                // its library was unloaded
  bool is_other = false;            // planned for other bytes than before, which children may still have
  bool renamed = false;             // of JIT code: the function is not there any more
  std::string function;             // of JIT code: target::jit_identity() of what the point was planned for
  std::uint32_t plans = 0;          // how often it was planned: detours belong to one plan
  bool had_breakpoint = false;      // was armed by an int3 at some time
  RemoteAddr way;                   // what the address map says of the site
  std::map<std::uint32_t, RemoteAddr> older;  // the same for children forked earlier, by needs: KEVT_MAP_OLDER
  bool crowded = false;  // another point lies inside what a jump would displace: int3, one instruction
  // Detours already made for a set of events (in order): arming the same set again costs no code.
  struct Made {
    PlacedCode code;
    std::vector<x86::MovedOffset> moved;  // relocated offsets count from where the code is
    bool is_called = false;               // the signal handler calls it, instead of going on in it
    std::uint32_t needs = 0;              // windows and hit tables that it needs: KEVT_MAP_NEEDS

    // Where an int3 at the site leads, for the address map.
    RemoteAddr way() const {
      return RemoteAddr{code.at.value | KEVT_MAP_SITE | (is_called ? KEVT_MAP_CALLED : 0) |
                        std::uint64_t{needs} << KEVT_MAP_NEEDS_SHIFT};
    }
  };
  std::map<std::vector<std::uint32_t>, Made> made;

  // Whether other code stands there now, or none.
  bool is_over() const { return patch.empty() && (gone || renamed); }
};

class ProbePoints {
 public:
  ProbePoints(Tracee& tracee, Placement& placement, CodeArena& arena, ProbedFiles& files)
      : tracee_(tracee), placement_(placement), arena_(arena), files_(files) {}

  // The file that covers an address now. Maps are read again when no known file does.
  Result<ProbedObject*> object_at(RemoteAddr address);
  Result<std::vector<ProbedObject*>> objects();

  // The point at `site`, planned; an error when nothing may be put there.
  Result<ProbePoint*> at(RemoteAddr site) {
    StoppedText text(tracee_);
    return at(site, text);
  }
  Result<ProbePoint*> at(RemoteAddr site, StoppedText& text);  // for many sites in one stop

  // The same for a new event: a point that is gone is planned for the code that is there now.
  Result<ProbePoint*> at_anew(RemoteAddr site, StoppedText& text);

  // The detour of `point` for these events, made now or earlier. `key` names the set.
  Result<ProbePoint::Made*> detour_for(ProbePoint& point, std::vector<std::uint32_t> key, DetourSpec spec);

  std::map<RemoteAddr, ProbePoint>& all() { return points_; }
  const std::map<RemoteAddr, ProbePoint>& all() const { return points_; }

  // The patches that arm the point with this detour, or disarm it. Both functions note in the point what will stand
  // there.
  TextPatch arm_patch(ProbePoint& point, const ProbePoint::Made& made) const;
  TextPatch disarm_patch(ProbePoint& point) const;
  // What stands at the point now, unless its code is gone.
  std::vector<std::uint8_t> expected_at(const ProbePoint& point) const;
  // Puts the target's own bytes into a copy of its text.
  void restore(RemoteAddr at, std::span<std::uint8_t> text) const;
  bool has_jit() const;  // whether code of a JIT compiler is probed
  // Reads the code of the JIT compiler anew where its perf map has changed, and notes the points whose functions are
  // not there any more.
  Result<void> look_at_jit();
  // Where the function was compiled to that begins at `site`, all places; empty: none begins there.
  std::vector<RemoteAddr> versions_of(RemoteAddr site) const;
  // Points that are patched over more than their first byte and have become crowded since.
  std::vector<ProbePoint*> to_narrow();
  // Whether points are armed by a jump where one fits; int3 everywhere otherwise. For points armed from now on.
  void use_jumps(bool wanted) { uses_jumps_ = wanted; }
  bool uses_jumps() const { return uses_jumps_; }
  // A patch found other bytes at the point than it expected: the point's library was unloaded.
  void mark_gone(RemoteAddr site);
  struct Unloaded {
    std::vector<RemoteAddr> unarmed;  // points that are gone from now on
    bool is_any_armed = false;        // armed points may be gone, too: what stands there tells
  };
  // Looks which files are not mapped any more.
  Result<Unloaded> look_for_unloaded();
  // The other unarmed points of the file of a point that is gone.
  std::vector<RemoteAddr> unarmed_beside(RemoteAddr site);
  // Whether the target may unload the file of one of these points (startup_files.h).
  Result<bool> may_be_unloaded(std::span<const RemoteAddr> sites);
  // Forgets a point that is gone and has no detour.
  void forget(RemoteAddr site);

 private:
  Result<void> refresh();
  Result<void> note_staying();
  void refresh_jit(const std::vector<target::Mapping>& maps);
  ProbedObject* known_at(RemoteAddr address) const;
  Result<void> plan(ProbePoint& point, StoppedText& text);
  Result<std::vector<std::uint8_t>> unpatched(RemoteAddr at, std::size_t size, StoppedText& text) const;
  void note_crowding(ProbePoint& point);
  Result<ProbePoint::Made> make_detour(const ProbePoint& point, const DetourSpec& spec);
  Result<ProbePoint::Made> write_detour(const ProbePoint& point, const DetourSpec& spec, PlacedCode& code);

  Tracee& tracee_;
  Placement& placement_;
  CodeArena& arena_;
  ProbedFiles& files_;
  struct Unreadable {
    target::LoadedObject loaded;
    std::string why;
  };

  std::vector<std::unique_ptr<ProbedObject>> objects_;
  std::unique_ptr<ProbedObject> jit_;  // of the newest perf map
  target::FileVersion jit_version_;
  std::vector<Unreadable> unreadable_;  // files of the target without an image, when maps were last read
  std::map<RemoteAddr, ProbePoint> points_;
  bool uses_jumps_ = true;
  bool knows_staying_ = false;  // ProbedObject::stays
};

}  // namespace kevt::inproc
