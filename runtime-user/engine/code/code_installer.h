// CodeInstaller: looks probes up in one target, and installs their code there, disarmed. What was compiled is kept for
// the next target, and for what comes back.
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
#include "runtime-user/engine/code/sampled_types.h"

namespace kevt::engine {

// What a request has in one target, some of it kDeferred.
struct DeferredProbes {
  const CodeRequest* request = nullptr;
  ProbeHandles* handles = nullptr;
};

class CodeInstaller {
 public:
  // `statics`: what eprobes may stand on, or nullptr. `precompiled`: code that need not be compiled, or nullptr; it
  // outlives this.
  CodeInstaller(const StaticEvents* statics, const pipeline::CodeStore* precompiled);

  // A probe as it was just looked up in a target: the next installation need not do it again, unless the target has
  // changed.
  void expect(const TracedTarget& target, std::uint64_t serial, pipeline::CheckedEvent checked) {
    expected_[&target].insert_or_assign(serial, Expected{target.env_version(), std::move(checked)});
  }
  void expect_nothing() { expected_.clear(); }

  // The handles of each request, one per probe: placed, or kDeferred. All of them, or none and the first refusal.
  std::expected<std::vector<ProbeHandles>, CodeRefusal> install(std::span<const CodeRequest* const> requests,
                                                                TracedTarget& target);
  // As install(). What the target cannot have is kRefused; why is appended to `refusals`.
  std::vector<ProbeHandles> install_each(std::span<const CodeRequest* const> requests, TracedTarget& target,
                                         std::vector<CodeRefusal>& refusals);
  // Installs what is kDeferred and whose library has come; what the target cannot have is kRefused then. Returns what
  // was placed.
  ProbeHandles install_deferred(std::span<const DeferredProbes> deferred, TracedTarget& target,
                                std::vector<CodeRefusal>& refusals);

  const SampledTypes& sampled() const { return sampled_; }
  void forget(std::uint32_t event) { sampled_.forget(event); }

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
  const pipeline::CodeStore* precompiled_;
  pipeline::CodeStore kept_;
  target::FixedCatalog statics_;
  SampledTypes sampled_;
};

}  // namespace kevt::engine
