// CodeInstaller: looks probes up in one target and installs their code there, disarmed. Compiled code is cached, so
// that the next target or the same filter later need not compile it again.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "compiler/pipeline/code_store.h"
#include "compiler/target/fixed_target.h"
#include "runtime-user/engine/code/code_placer.h"
#include "runtime-user/engine/code/code_table.h"

namespace kevt::engine {

// The handles of one request's probes in one target; some of them are kDeferred.
struct DeferredProbes {
  const CodeRequest* request = nullptr;
  ProbeHandles* handles = nullptr;
};

class CodeInstaller {
 public:
  // `table`: what each target has had so far, and the static events that eprobes may stand on. `precompiled`: code that
  // need not be compiled, or nullptr. Both outlive this object.
  CodeInstaller(const CodeTable& table, const pipeline::CodeStore* precompiled);

  // Passes in the result of looking a probe up in a target, so that the next installation need not look it up again.
  // Ignored if the target's env_version() has changed by then.
  void expect(const TracedTarget& target, std::uint64_t serial, pipeline::CheckedEvent checked) {
    expected_[&target].insert_or_assign(serial, Expected{target.env_version(), std::move(checked)});
  }
  void expect_nothing() { expected_.clear(); }

  // Installs the probes of all requests, or none and returns the first refusal. Result: for each request one handle per
  // probe, placed or kDeferred.
  std::expected<std::vector<ProbeHandles>, CodeRefusal> install(std::span<const CodeRequest* const> requests,
                                                                TracedTarget& target);
  // As install(), but a probe that the target cannot have gets kRefused, and the reason is appended to `refusals`.
  std::vector<ProbeHandles> install_each(std::span<const CodeRequest* const> requests, TracedTarget& target,
                                         std::vector<CodeRefusal>& refusals);
  // Installs the kDeferred probes whose library is loaded by now; a probe that the target cannot have becomes kRefused,
  // and the reason is appended to `refusals`. One at an address that was there before does not come back. Returns the
  // new handles.
  ProbeHandles install_deferred(std::span<const DeferredProbes> deferred, TracedTarget& target,
                                std::vector<CodeRefusal>& refusals);

 private:
  struct LookedUp;
  CodePlacer placer(TracedTarget& target);
  std::optional<pipeline::CheckedEvent> take_expected(const TracedTarget& target, std::uint64_t serial);
  std::expected<std::optional<CheckedProbe>, CodeRefusal> check(const CodePlacer& placer, const TracedTarget& target,
                                                                const EventProbe& probe, const CodeRequest& request);
  std::expected<LookedUp, CodeRefusal> look_up(std::span<const CodeRequest* const> requests, TracedTarget& target,
                                               std::vector<CodeRefusal>* refusals);

  struct Expected {
    std::uint64_t env_version = 0;
    pipeline::CheckedEvent checked;
  };
  std::unordered_map<const TracedTarget*, std::unordered_map<std::uint64_t, Expected>> expected_;  // by serial
  const CodeTable& table_;
  const pipeline::CodeStore* precompiled_;
  pipeline::CodeStore kept_;
  target::FixedCatalog statics_;
};

}  // namespace kevt::engine
