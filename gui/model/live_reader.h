// LiveReader: reads records of a running trace, from the raw pages of every CPU, into a store.
#pragma once

#include <QString>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/time_merger.h"
#include "compiler/target/process/process_env.h"
#include "tracefs-compat/record/recording.h"
#include "tracefs-compat/record/store/store.h"
#include "tracefs-compat/tree/tracing_dir.h"

namespace kevt::gui {

class LiveReader {
 public:
  // `pid`: the process whose functions name addresses; 0: none.
  explicit LiveReader(int pid, record::StoreRoom room = {}) : pid_(pid), builder_(std::move(room)) {}
  // Reads what the buffers have now, at most some megabytes; returns the number of records. Never waits.
  Result<std::size_t> poll(tree::TracingDir& directory);
  // Whether the last poll() found so much that a buffer would be full before the usual pause is over.
  bool isBusy() const { return is_busy_; }
  // What is to be said of the room for records; nullopt: nothing. When no more fit, poll() reads none from then on, and
  // the buffers keep what they can.
  std::optional<QString> roomText() const;
  record::StoreView view() { return builder_.view(); }
  std::shared_ptr<const record::Metadata> metadata();
  // To be called when an event may have been defined again under the same number: formats are read anew.
  void forgetFormats() { looked_for_.clear(), knows_clock_ = false; }

 private:
  struct Pending {
    const record::EventFormat* event;
    std::uint32_t cpu;
    std::uint64_t lost_before;
    std::size_t begin, size;  // of bytes_
  };
  void takePage(tree::TracingDir& directory, std::string_view page, std::uint32_t cpu);
  void learnClock(tree::TracingDir& directory);
  const record::EventFormat* formatOf(tree::TracingDir& directory, std::uint32_t id);
  void readFormat(tree::TracingDir& directory, const std::string& system, const std::string& event);
  void readEnabledFormats(tree::TracingDir& directory);
  void readAllFormats(tree::TracingDir& directory);
  void readComms(tree::TracingDir& directory);
  void learnSymbols(const record::EventFormat& event, std::span<const std::uint8_t> bytes);
  void learnSymbol(std::uint64_t address, std::unordered_map<std::uint64_t, bool>& seen);
  bool isOfTarget(std::int32_t thread);
  std::optional<record::Symbol> processSymbol(std::uint64_t address);
  std::optional<record::Symbol> kernelSymbol(std::uint64_t address);
  std::string_view commOf(tree::TracingDir& directory, std::int32_t pid);

  int pid_;
  std::vector<std::string> cpus_;
  record::StoreBuilder builder_;
  std::shared_ptr<record::Metadata> metadata_ = std::make_shared<record::Metadata>();
  std::shared_ptr<const record::Metadata> shared_;
  std::vector<std::unique_ptr<record::EventFormat>> formats_;
  std::unordered_map<std::uint32_t, const record::EventFormat*> by_id_;
  std::unordered_map<std::uint32_t, bool> looked_for_;
  std::unordered_map<std::int32_t, std::string> comms_;
  std::unordered_map<std::uint64_t, bool> symbols_, frames_;  // looked-up addresses: of probes, of stacks
  std::unordered_map<std::int32_t, bool> threads_;            // is it one of the target's?
  std::optional<target::ProcessEnv> env_;
  bool is_full_ = false, is_busy_ = false;
  bool env_failed_ = false;
  bool knows_clock_ = false;
  std::optional<std::int64_t> wall_offset_ns_;
  std::optional<record::Symbols> kernel_;  // empty: not looked at yet
  TimeMerger<Pending> pending_;
  std::vector<std::uint8_t> bytes_;
};

}  // namespace kevt::gui
