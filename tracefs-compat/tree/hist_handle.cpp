// poll(2) says POLLIN where there are other hits than at the last reading, POLLPRI where there are other ones than at
// the last poll or reading. Mirrors event_hist_poll() of kernel/trace/trace_events_hist.c (6.14); kernels before it
// always say POLLIN.
#include "tracefs-compat/tree/hist_handle.h"

#include <chrono>
#include <utility>

namespace kevt::tree {

namespace {

using Clock = std::chrono::steady_clock;
// How often waiting polls look: that costs a look at the tables that hits count into.
constexpr auto kBetweenLooks = std::chrono::milliseconds(20);

class HistHandle final : public Handle {
 public:
  HistHandle(engine::Tracing* tracing, engine::Instance* instance, std::function<const engine::TracedEvent*()> event)
      : tracing_(tracing),
        instance_(instance),
        event_(std::move(event)),
        text_(read_only([this] { return make_text(); })) {
    if (const auto hits = hits_now()) told_ = *hits;
  }

  Result<std::size_t> read(std::uint64_t offset, std::span<char> out, Waiting waiting) override {
    return text_->read(offset, out, waiting);
  }
  Result<std::size_t> write(std::string_view, const Caller&) override { return fails(EINVAL); }

  PollState poll() override {
    const auto hits = hits_now();
    if (!hits) return {.is_readable = false, .is_writable = false, .is_gone = true};
    const bool has_news = std::exchange(told_, *hits) != *hits;
    was_readable_ = *hits != read_;
    return {.is_readable = was_readable_, .is_writable = false, .has_news = has_news};
  }

  bool wakes_poll() override {
    const auto now = Clock::now();
    if (now - looked_ < kBetweenLooks) return false;
    looked_ = now;
    const auto hits = hits_now();
    return !hits || *hits != told_ || (*hits != read_) != was_readable_;
  }

 private:
  std::optional<std::uint64_t> hits_now() {
    const engine::TracedEvent* const event = event_();
    if (!event) return std::nullopt;
    return tracing_->triggers().hist_hits(*instance_, *event);
  }

  Result<std::string> make_text() {
    tracing_->drain();  // earlier hits are counted
    const engine::TracedEvent* const event = event_();
    if (!event) return fails(ENODEV);
    std::string text = tracing_->triggers().hist_text(*instance_, *event);
    read_ = told_ = tracing_->triggers().hist_hits(*instance_, *event);
    return text;
  }

  engine::Tracing* tracing_;
  engine::Instance* instance_;
  std::function<const engine::TracedEvent*()> event_;
  std::unique_ptr<Handle> text_;
  std::uint64_t read_ = 0, told_ = 0;  // hits at the last reading; at the last reading or poll
  bool was_readable_ = false;          // at the last poll
  Clock::time_point looked_;
};

}  // namespace

std::unique_ptr<Handle> open_hist(engine::Tracing* tracing, engine::Instance* instance,
                                  std::function<const engine::TracedEvent*()> event) {
  return std::make_unique<HistHandle>(tracing, instance, std::move(event));
}

}  // namespace kevt::tree
