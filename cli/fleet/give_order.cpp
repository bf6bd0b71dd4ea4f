#include "cli/fleet/give_order.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/exit_status.h"
#include "common/clock.h"
#include "common/print.h"
#include "common/regular_file.h"
#include "runtime-user/session/interrupts.h"
#include "tracefs-compat/fleet/catalogue.h"
#include "tracefs-compat/fleet/libraries/signature.h"
#include "tracefs-compat/fleet/orders/order.h"
#include "tracefs-compat/fleet/orders/selector.h"
#include "tracefs-compat/fleet/orders/wanted.h"
#include "tracefs-compat/record/problems.h"

namespace kevt::cli {
namespace {

using fleet::Answer;
using fleet::AnswerState;
using record::words_of_file;

// A host that was seen so long ago, by its own clock, is there.
constexpr std::int64_t kPresentNs = 180'000'000'000 + fleet::kClocksApartNs;
constexpr std::uint64_t kLookEveryNs = 500'000'000;
constexpr std::uint64_t kToBeginNs = 60'000'000'000;  // a host that has not begun by then is not waited for
constexpr std::uint64_t kToEndNs = 60'000'000'000;    // behind the time that it traces
constexpr std::uint64_t kToStopNs = 20'000'000'000;
constexpr std::uint64_t kToShipNs = 30'000'000'000;
constexpr std::uint32_t kMostOfAnswerS = 60;

Result<std::string> random_id() {
  std::uint32_t bits = 0;
  if (getrandom(&bits, sizeof bits, 0) != sizeof bits) return std::unexpected(Error::from_errno("getrandom"));
  return fmt::format("{:08x}", bits);
}

// The labels as a host has shown them, which may be anything.
std::vector<fleet::Label> labels_of(const std::string& text) {
  std::vector<fleet::Label> out;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find(',', begin), text.size());
    if (auto label = fleet::parse_label(std::string_view(text).substr(begin, end - begin)))
      out.push_back(std::move(*label));
    begin = end + 1;
  }
  return out;
}

class Giving {
 public:
  Giving(Servers& servers, const fleet::Address& address, const FleetOptions& options, const Reporter& report)
      : servers_(servers), address_(address), options_(options), report_(report) {}

  Result<void> give();
  void wait();
  void wait_for_records();
  int show() const;

 private:
  struct Host {
    std::optional<Answer> answer;
    std::uint64_t records = 0;  // of its recording, that the servers have
    bool is_shipped = false;
  };

  std::int64_t begin_within_ns() const { return static_cast<std::int64_t>(options_.begin_within * 1e9); }
  Result<void> find_hosts(const fleet::Selector& selector);
  Result<fleet::SignedText> signed_by_us(const fleet::Order& order) const;
  void take_answers();
  bool is_over(std::uint64_t now) const;
  void stop();
  void tell_to_stop();
  void tell(const Error& error);
  static void pause();

  Servers& servers_;
  const fleet::Address& address_;
  const FleetOptions& options_;
  const Reporter& report_;
  std::string key_;
  fleet::Order order_;
  std::map<std::string, Host> hosts_;
  std::uint64_t begun_ = 0, stopped_ = 0;  // ns of now_ns(); 0: not yet
  fleet::Order stop_;
  fleet::SignedText signed_stop_;
  std::vector<fleet::Server*> untold_;  // those that do not have the stop yet
  std::string told_;
};

void Giving::pause() {
  const timespec step = {0, static_cast<long>(kLookEveryNs)};
  nanosleep(&step, nullptr);
}

void Giving::tell(const Error& error) {
  if (std::string words = error.message(); words != told_) report_.error(told_ = std::move(words));
}

Result<void> Giving::find_hosts(const fleet::Selector& selector) {
  std::string others;
  unsigned count = 0;
  const std::int64_t since = utc_ns() - kPresentNs;
  for (const auto& server : servers_) {
    KEVT_TRY(fleet::check_schema(*server));
    for (const fleet::Presence& one : KEVT_TRY(fleet::find_present(*server))) {
      if (one.seen < since) continue;
      ++count;
      if (selector.fits(one.host, labels_of(one.labels)))
        hosts_.try_emplace(one.host);
      else if (others.size() < 200)
        others += fmt::format("{}{} ({})", others.empty() ? "" : ", ", words_of_file(one.host),
                              one.labels.empty() ? "no labels" : words_of_file(one.labels));
    }
  }
  if (hosts_.empty())
    return std::unexpected(
        Error(count == 0
                  ? "no host obeys orders at the moment (`kevtrace fleet obey`)"
                  : fmt::format("`{}` is no host that obeys orders at the moment; there are {}", options_.on, others)));
  report_.status(fmt::format("{} of {} hosts", hosts_.size(), count));
  return {};
}

Result<fleet::SignedText> Giving::signed_by_us(const fleet::Order& order) const {
  fleet::SignedText signed_text{.text = text_of(order), .signature = {}};
  if (signed_text.text.size() > fleet::kMostOfOrder)
    return std::unexpected(Error("the script is too long for an order"));
  signed_text.signature = KEVT_TRY(fleet::sign(key_, signed_text.text));
  return signed_text;
}

Result<void> Giving::give() {
  const std::string& path = options_.files.front();
  const auto file = KEVT_TRY(open_regular(path));
  order_.script = KEVT_TRY(read_to_end(file.get(), path, fleet::kMostOfOrder));
  KEVT_TRY(fleet::check_script(order_.script, fleet::Compiled::Accepted));  // hosts may refuse one
  const auto selector = KEVT_TRY(fleet::Selector::parse(options_.on));
  const auto config = KEVT_TRY(fleet::read_config());
  key_ = KEVT_TRY(fleet::read_sign_key(config));
  KEVT_TRY(find_hosts(selector));
  order_.fleet = address_.database;
  order_.serial = utc_ns();
  order_.id = KEVT_TRY(random_id());
  order_.begin_before = order_.serial + begin_within_ns();
  order_.on = options_.on;
  order_.milliseconds = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(options_.seconds * 1000));
  const fleet::SignedText signed_text = KEVT_TRY(signed_by_us(order_));
  begun_ = now_ns();
  session::catch_interrupts();
  for (const auto& server : servers_) server->limit({.most_s = kMostOfAnswerS, .is_stopped = &session::is_interrupted});
  Result<void> done;
  for (const auto& server : servers_)
    if (done) done = fleet::put_order(*server, order_, signed_text);
  if (done) return {};
  // Nobody waits for those that have it already. Whether the last one has it is not known.
  session::forget_interrupt();
  for (stop(); !untold_.empty() && now_ns() - stopped_ < kToStopNs && !session::is_interrupted(); tell_to_stop())
    pause();
  return done;
}

// Ctrl-C: what was asked for ends, and hosts say what they have. A host that looks much later finds both orders.
void Giving::stop() {
  stopped_ = now_ns();
  stop_ = order_;
  stop_.script.clear();
  stop_.milliseconds = 0;
  stop_.stops = order_.serial;
  stop_.serial = utc_ns();
  stop_.begin_before = stop_.serial + fleet::kLongestToBeginNs;
  auto signed_stop = signed_by_us(stop_);
  if (!signed_stop) return tell(signed_stop.error());
  signed_stop_ = *std::move(signed_stop);
  for (const auto& server : servers_) untold_.push_back(server.get());
  tell_to_stop();
}

// Servers that do not answer are told again.
void Giving::tell_to_stop() {
  if (untold_.empty()) return;
  std::erase_if(untold_, [this](fleet::Server* server) {
    const auto told = fleet::put_order(*server, stop_, signed_stop_);
    if (!told) tell(told.error());
    return told.has_value();
  });
  if (untold_.empty()) report_.status("hosts are told to stop; Ctrl-C again ends without their answers");
}

void Giving::take_answers() {
  for (const auto& server : servers_) {
    const auto answers = fleet::find_answers(*server, order_.serial);
    if (!answers) {
      tell(answers.error());
      continue;
    }
    for (const Answer& one : *answers) {
      Host& host = hosts_[one.host];
      if (host.answer && host.answer->state == one.state) continue;
      host.answer = one;
      report_.status(fmt::format("{}: {}{}{}", words_of_file(one.host), name_of(one.state),
                                 one.words.empty() ? "" : ": ", words_of_file(one.words)));
    }
  }
}

bool Giving::is_over(std::uint64_t now) const {
  if (stopped_ && now - stopped_ > kToStopNs) return true;
  const std::uint64_t since = now - begun_;
  return std::ranges::all_of(hosts_, [&](const auto& one) {
    const auto& answer = one.second.answer;
    if (!answer) return since > kToBeginNs;
    return is_final(answer->state) || since > kToBeginNs + order_.milliseconds * 1'000'000 + kToEndNs;
  });
}

void Giving::wait() {
  for (take_answers(); !is_over(now_ns()); take_answers()) {
    if (session::is_interrupted()) {
      if (stopped_) return;
      session::forget_interrupt();
      stop();
    }
    tell_to_stop();
    pause();
  }
}

void Giving::wait_for_records() {
  const auto is_waited_for = [](const auto& one) {
    return one.second.answer && !one.second.answer->session.empty() && is_final(one.second.answer->state) &&
           !one.second.is_shipped;
  };
  fleet::Address where = address_;
  where.session = order_.id;
  for (const std::uint64_t end = now_ns() + kToShipNs; std::ranges::any_of(hosts_, is_waited_for); pause()) {
    for (const auto& server : servers_) {
      const auto sessions = fleet::find_sessions(*server, where);
      const auto counts = sessions ? fleet::find_counts(*server, where) : std::unexpected(sessions.error());
      if (!counts) {
        tell(counts.error());
        continue;
      }
      for (const fleet::Session& one : *sessions) {
        const auto known = hosts_.find(one.host);
        if (known == hosts_.end() || !is_waited_for(*known) || known->second.answer->session != one.id) continue;
        known->second.is_shipped = one.is_whole;
        known->second.records = 0;
        for (const fleet::EventCounts& event : *counts)
          if (event.session == one.id) known->second.records += event.shipped;
      }
    }
    if (session::is_interrupted() || now_ns() > end) return;
  }
}

int Giving::show() const {
  nlohmann::json all = nlohmann::json::array();
  bool is_well = true;
  for (const auto& [name, host] : hosts_) {
    const Answer* answer = host.answer ? &*host.answer : nullptr;
    is_well = is_well && answer != nullptr && answer->state == AnswerState::Ended;
    const record::EventTotals totals = answer ? answer->totals : record::EventTotals();
    all.push_back({{"host", name},
                   {"state", answer ? std::string(name_of(answer->state)) : "no answer"},
                   {"words", answer ? answer->words : ""},
                   {"recording", answer ? answer->session : ""},
                   {"hits", totals.attempts},
                   {"recorded", totals.recorded},
                   {"aggregated", totals.aggregated},
                   {"filtered", totals.filtered},
                   {"lost", totals.lost},
                   {"missed", totals.missed},
                   {"shipped", host.records},
                   {"all_shipped", host.is_shipped}});
    if (options_.format == "json") continue;
    std::string line = words_of_file(name) + ": " + (answer ? std::string(name_of(answer->state)) : "no answer");
    if (answer && !answer->words.empty()) line += ": " + words_of_file(answer->words);
    if (answer && !answer->session.empty() && is_final(answer->state))
      line +=
          fmt::format(": hits {} = recorded {} + aggregated {} + filtered {} + lost {} + missed {}; {}",
                      totals.attempts, totals.recorded, totals.aggregated, totals.filtered, totals.lost, totals.missed,
                      host.is_shipped ? fmt::format("{} records are shipped", host.records)
                                      : "not all of its records are shipped yet");
    print("{}\n", line);
  }
  if (options_.format == "json") print("{}\n", all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  report_.status(fmt::format("the records of this order: kevtrace report -i '{}/*/{}'", options_.address, order_.id));
  return is_well ? kOk : kFailed;
}

}  // namespace

int give_order(Servers& servers, const fleet::Address& address, const FleetOptions& options, const Reporter& report) {
  Giving giving(servers, address, options, report);
  if (auto given = giving.give(); !given) {
    report.error(given.error());
    return kFailed;
  }
  giving.wait();
  giving.wait_for_records();
  return giving.show();
}

}  // namespace kevt::cli
