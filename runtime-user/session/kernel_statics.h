// KernelStatics: the running kernel's own events; formats are read from its tracefs, hits are recorded by perf. Nothing
// is written to tracefs.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <unordered_map>

#include "common/error.h"
#include "compiler/model/histogram.h"
#include "runtime-user/engine/static_events.h"
#include "runtime-user/runtime/bpf/tracepoint_reader.h"
#include "tracefs-compat/record/event_format.h"
#include "tracefs-compat/record/print/print_format.h"

namespace kevt::session {

class KernelStatics final : public engine::StaticEvents {
 public:
  // Reads the formats. If there is no tracefs that we may read there are no events; that is no error. `only`: reads
  // these events, as far as they exist; nullopt: all.
  static Result<std::unique_ptr<KernelStatics>> read(unsigned cpus, std::uint32_t ring_bytes,
                                                     const std::optional<std::set<model::EventName>>& only);

  const std::vector<engine::StaticEvent>& all() const override { return all_; }
  Result<void> change(std::span<const std::uint32_t> on, std::span<const std::uint32_t> off) override {
    return reader_.change(on, off);
  }
  Result<void> set_stacks(std::span<const std::uint32_t> ids, bool wanted) override {
    return reader_.set_stacks(ids, wanted);
  }
  void on_fork(std::function<void(std::int32_t, std::int32_t)> call) override { reader_.on_fork(std::move(call)); }
  runtime::EventCounts counts(std::uint32_t id) const override { return reader_.counts(id); }
  void append_text(std::uint32_t id, std::span<const std::uint8_t> record, std::string& out) const override;

  // The kernel's available_filter_functions, as it is now; empty where it has no function tracer.
  std::string functions() const;
  bpf::TracepointReader& reader() { return reader_; }

 private:
  explicit KernelStatics(bpf::TracepointReader reader) : reader_(std::move(reader)) {}
  void add_all();
  void add(const std::string& group, const std::string& name, std::string text);
  const record::Symbols& symbols(const record::EventFormat& format) const;

  struct Printer {
    record::EventFormat format;
    bool is_compiled = false;
    std::optional<record::PrintFormat> print;
  };
  bpf::TracepointReader reader_;
  UniqueFd tracefs_;
  std::vector<engine::StaticEvent> all_;
  mutable std::unordered_map<std::uint32_t, Printer> printers_;
  // Read when first needed for printing: the kernel's printk strings; those and the symbols of /proc/kallsyms.
  mutable std::optional<record::Symbols> strings_, symbols_;
};

}  // namespace kevt::session
