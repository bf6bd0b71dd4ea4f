// TraceBuffer: the buffers of all CPUs of one instance, which are read merged by time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime-user/engine/instances/cpu_buffer.h"

namespace kevt::engine {

struct MergedEntry {
  std::uint32_t cpu = 0;
  BufferEntry entry;
};

class TraceBuffer {
 public:
  TraceBuffer(std::uint32_t cpus, std::uint32_t pages_per_cpu);

  std::uint32_t cpus() const { return static_cast<std::uint32_t>(cpus_.size()); }
  CpuBuffer& cpu(std::uint32_t index) { return cpus_[index]; }
  const CpuBuffer& cpu(std::uint32_t index) const { return cpus_[index]; }

  // The oldest unread entry of all CPUs, or of the CPU `only`.
  std::optional<MergedEntry> peek(std::optional<std::uint32_t> only);
  void consume(std::uint32_t cpu) { cpus_[cpu].consume(); }

  class Cursor {
   private:
    friend class TraceBuffer;
    struct One {
      CpuBuffer::Cursor cursor;
      CpuBuffer::Cursor before;  // `next`
      std::optional<BufferEntry> next;
    };
    std::vector<One> cpus_;
  };
  // The next unread entry behind the cursor; consumes nothing. Call pause() on the cursor before the buffer changes in
  // any way.
  std::optional<MergedEntry> next(Cursor& cursor, std::optional<std::uint32_t> only) const;
  static void pause(Cursor& cursor);

  void clear();
  BufferStats stats(std::optional<std::uint32_t> only) const;

 private:
  std::vector<CpuBuffer> cpus_;
};

}  // namespace kevt::engine
