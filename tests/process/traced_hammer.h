// The hammer (programs/hammer.c) under an InprocRuntime, driven from here: its shared page, its events
// made anew at will, what was drained per event, and its text compared with the files it came from.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "compiler/target/process/process_env.h"
#include "runtime-user/runtime/inproc/inproc_runtime.h"
#include "tests/process/programs/hammer_page.h"

namespace kevt::tests {

// One installed event and what was seen of it. Records are counted, and each is checked when it is drained.
struct HammerEvent {
  runtime::ProbeHandle probe = 0;
  bool is_return = false;
  bool is_short = false;  // on touch_short, an int3 site
  bool armed = false;
  bool retired = false;
  std::uint64_t drained = 0;
  std::uint64_t bad = 0;  // records whose values or thread are not what the hammer passes
};

class TracedHammer {
 public:
  // Starts it, held. limit: turns per thread, 0: until stop().
  static std::unique_ptr<TracedHammer> launch(std::uint64_t limit);
  ~TracedHammer();

  inproc::InprocRuntime& runtime() { return *runtime_; }
  hammer_page& page() { return *page_; }
  std::vector<HammerEvent>& events() { return events_; }

  // Installs an entry and a return probe on touch and on touch_short: four events, off.
  void install_four();
  void drain();
  void stop();
  // After the end: settles and drains what is left; the wait status.
  int wait_for_end();

  // Names of mapped files whose text in memory differs from the file.
  std::vector<std::string> changed_text() const;
  std::uint64_t calls() const;

 private:
  TracedHammer() = default;
  void check(HammerEvent& event, const runtime::Record& record);

  std::string file_;
  hammer_page* page_ = nullptr;
  std::unique_ptr<inproc::InprocRuntime> runtime_;
  std::unique_ptr<target::ProcessEnv> env_;
  model::CompiledBatch batch_;
  std::vector<HammerEvent> events_;
  std::map<runtime::ProbeHandle, std::size_t> by_probe_;
  std::uint32_t next_id_ = 20000;
};

}  // namespace kevt::tests
