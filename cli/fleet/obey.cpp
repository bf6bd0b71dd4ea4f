#include "cli/fleet/obey.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/exit_status.h"
#include "common/clock.h"
#include "common/kevtrace_child.h"
#include "compiler/script/compiled_script.h"
#include "runtime-user/session/interrupts.h"
#include "tracefs-compat/fleet/catalogue.h"
#include "tracefs-compat/fleet/libraries/signature.h"
#include "tracefs-compat/fleet/orders/order.h"
#include "tracefs-compat/fleet/orders/order_book.h"
#include "tracefs-compat/fleet/orders/selector.h"
#include "tracefs-compat/fleet/orders/wanted.h"
#include "tracefs-compat/record/problems.h"
#include "tracefs-compat/record/recording.h"

namespace kevt::cli {
namespace {

using fleet::Answer;
using fleet::AnswerState;

constexpr std::size_t kMostAtOnce = 4;      // orders
constexpr std::size_t kMostSeen = 1 << 16;  // orders that are not ours, in memory
constexpr std::size_t kMostWords = 2048;    // bytes of an answer
constexpr unsigned kMostUnsigned = 16;      // orders without a good signature that are answered in a look
constexpr std::size_t kMostUnsent = 1024;   // answers to these that wait
constexpr std::uint32_t kMostOfRequestS = 30;
constexpr std::int64_t kPresenceNs = 60'000'000'000;
constexpr std::int64_t kStepNs = 100'000'000;
constexpr std::int64_t kPatienceNs = 15'000'000'000;  // with recordings that are to end

std::string own_host() {
  utsname name = {};
  uname(&name);
  return fleet::plain_host(name.nodename);
}

// What kevtrace said last, for an answer: a table's column, so of any length and without control characters.
std::string last_words(std::string_view messages) {
  constexpr std::string_view kOwn = "kevtrace: ";
  while (messages.ends_with('\n')) messages.remove_suffix(1);
  if (messages.size() > kMostWords) messages.remove_prefix(messages.size() - kMostWords);
  std::string out;
  while (!messages.empty()) {
    const auto end = messages.find('\n');
    std::string_view line = messages.substr(0, end);
    messages.remove_prefix(end == messages.npos ? messages.size() : end + 1);
    if (line.starts_with(kOwn)) line.remove_prefix(kOwn.size());
    if (!line.empty()) out += (out.empty() ? "" : "; ") + record::words_of_file(line);
  }
  return out;
}

// The sums of a finished recording; nullopt: it is not finished, or there is none.
struct Outcome {
  std::string id;
  std::optional<record::EventTotals> totals;
};
std::optional<Outcome> outcome_of(const std::string& path) {
  if (::access(path.c_str(), R_OK) != 0) return std::nullopt;
  const auto reader = record::open_recording(path);
  if (!reader) return std::nullopt;
  const record::Metadata& metadata = (*reader)->metadata();
  if (metadata.identity.id.empty()) return std::nullopt;
  Outcome out{.id = metadata.identity.id, .totals = std::nullopt};
  if (metadata.totals.empty()) return out;
  record::EventTotals& sums = out.totals.emplace();
  for (const record::EventTotals& one : metadata.totals) {
    sums.attempts += one.attempts;
    sums.recorded += one.recorded;
    sums.aggregated += one.aggregated;
    sums.filtered += one.filtered;
    sums.lost += one.lost;
    sums.missed += one.missed;
  }
  return out;
}

Result<void> write_new(const std::string& path, std::string_view text) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return std::unexpected(Error::from_errno(path));
  while (!text.empty()) {
    const ssize_t written = ::write(file.get(), text.data(), text.size());
    if (written < 0) return std::unexpected(Error::from_errno("writing " + path));
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

class Obeying {
 public:
  Obeying(fleet::Server& server, fleet::Config config, fleet::OrderBook book, const FleetOptions& options,
          const Reporter& report)
      : server_(server),
        config_(std::move(config)),
        book_(std::move(book)),
        options_(options),
        report_(report),
        folder_(book_.folder()),
        host_(options.host.empty() ? own_host() : fleet::plain_host(options.host)) {}

  void go();

 private:
  struct Running {
    KevtraceChild child;
    std::string id;
    bool is_stopped = false, is_running = false;
  };

  // What another process of kevtrace began that ended before it.
  struct Adopted {
    std::string id;
    std::uint64_t end = 0;  // ns of now_ns(): no longer is waited for
  };

  std::uint64_t every_ns() const { return static_cast<std::uint64_t>(options_.every * 1e9); }
  std::string recording(const std::string& id) const { return folder_ + "/" + id + ".dat"; }
  Result<void> look();
  void take(std::uint64_t which, const fleet::SignedText& signed_text, const std::string& keys);
  static Result<fleet::Order> judge(const fleet::SignedText& signed_text, const std::string& keys, std::string& signer);
  Result<void> check_room() const;
  void begin(const fleet::Order& order);
  void stop(std::int64_t serial);
  void watch();
  void watch_adopted();
  void conclude(std::int64_t serial, const std::string& id, std::string_view words, bool is_well);
  void answer(std::int64_t serial, AnswerState state, std::string words, const Outcome* outcome);
  void refuse(std::int64_t serial, const std::string& why) { answer(serial, AnswerState::Refused, why, nullptr); }
  void post();
  void show_presence();
  void tell(const Error& error);

  fleet::Server& server_;
  fleet::Config config_;
  fleet::OrderBook book_;
  const FleetOptions& options_;
  const Reporter& report_;
  std::string folder_, host_;
  std::set<std::uint64_t> seen_;                     // orders that were looked at
  std::map<std::int64_t, Running> running_;          // by serial
  std::map<std::int64_t, Adopted> adopted_;          // by serial
  std::map<std::int64_t, Answer> unsent_;            // by serial; the latest of each
  std::string told_;                                 // the last trouble with the server
  std::uint64_t next_presence_ = 0, next_post_ = 0;  // ns of now_ns()
  unsigned unsigned_told_ = 0;                       // in this look
};

void Obeying::answer(std::int64_t serial, AnswerState state, std::string words, const Outcome* outcome) {
  Answer one{.serial = serial,
             .host = host_,
             .state = state,
             .words = std::move(words),
             .session = {},
             .totals = {},
             .at = utc_ns()};
  if (outcome != nullptr) one.session = outcome->id;
  if (outcome != nullptr && outcome->totals) one.totals = *outcome->totals;
  report_.status(fmt::format("order {}: {}{}{}", serial, name_of(state), one.words.empty() ? "" : ": ", one.words));
  unsent_[serial] = std::move(one);
}

// Nothing that an order says is done before its signature is found good. The keys are those of now: who is not trusted
// any more is not obeyed.
Result<fleet::Order> Obeying::judge(const fleet::SignedText& signed_text, const std::string& keys,
                                    std::string& signer) {
  signer = KEVT_TRY(fleet::find_signer(keys, signed_text.text, signed_text.signature));
  return fleet::parse_order(signed_text.text);
}

void Obeying::take(std::uint64_t which, const fleet::SignedText& signed_text, const std::string& keys) {
  if (seen_.size() >= kMostSeen) seen_.clear();
  seen_.insert(which);
  std::string signer;
  const auto order = judge(signed_text, keys, signer);
  if (!order) {
    if (unsigned_told_++ >= kMostUnsigned) return;
    report_.error("an order is refused: " + order.error().message());
    // The serial of a text that is not signed tells whose question it answers, and nothing else.
    const auto claimed = fleet::parse_order(signed_text.text);
    if (claimed && claimed->fleet == server_.database() && !book_.has(claimed->serial) && unsent_.size() < kMostUnsent)
      refuse(claimed->serial, order.error().message());
    return;
  }
  const auto selector = fleet::Selector::parse(order->on);
  if (order->fleet != server_.database() || book_.has(order->serial) || !selector ||
      !selector->fits(host_, config_.labels))
    return;
  auto fits = fleet::is_timely(*order, utc_ns());
  const auto compiled = config_.accepts_compiled ? fleet::Compiled::Accepted : fleet::Compiled::Refused;
  if (fits && order->stops == 0) fits = fleet::check_script(order->script, compiled);
  if (fits && book_.may_have_forgotten(*order))
    fits = std::unexpected(Error("it is too late to begin with it: the clock was set back", ETIME));
  if (fits && order->stops == 0 && running_.size() >= kMostAtOnce)
    fits = std::unexpected(Error(fmt::format("{} orders are carried out here at the moment", kMostAtOnce), EBUSY));
  if (fits && order->stops == 0) fits = check_room();
  // What is refused is in the book, too: a host that has said no to a good signature does not change its mind.
  const bool is_news = !book_.has(order->stops);
  if (auto noted = book_.begin(*order); !noted) fits = noted;
  unsent_.erase(order->serial);  // what was to be said of a text without a signature that has its number
  if (fits && order->stops != 0 && is_news) return refuse(order->stops, "it was stopped before it began");
  if (fits && order->stops != 0) return stop(order->stops);
  if (!fits) {
    refuse(order->serial, fits.error().message());
    return;
  }
  report_.status(fmt::format("order {} by key {}: {}, {} ms", order->serial, signer, order->id, order->milliseconds));
  begin(*order);
}

// For this order and those that are under way, each as long as it may become.
Result<void> Obeying::check_room() const {
  struct statvfs room = {};
  if (::statvfs(folder_.c_str(), &room) < 0) return std::unexpected(Error::from_errno(folder_));
  const double left = static_cast<double>(room.f_bavail) * static_cast<double>(room.f_frsize);
  const double needed = static_cast<double>(options_.max_bytes) * static_cast<double>(running_.size() + 1);
  if (left >= needed) return {};
  constexpr double kGib = 1 << 30;
  return std::unexpected(Error(fmt::format("{} has {:.1f}G left, and {} order{} may take {:.1f}G", folder_, left / kGib,
                                           running_.size() + 1, running_.empty() ? "" : "s", needed / kGib),
                               ENOSPC));
}

void Obeying::begin(const fleet::Order& order) {
  const bool is_compiled = script::is_compiled_script(order.script);
  const std::string path = folder_ + "/" + order.id + (is_compiled ? ".kevo" : ".kev"), to = recording(order.id);
  if (::access(to.c_str(), F_OK) == 0) return refuse(order.serial, to + " is there already");
  if (auto written = write_new(path, order.script); !written) return refuse(order.serial, written.error().message());
  const std::string seconds = fmt::format("{}.{:03}", order.milliseconds / 1000, order.milliseconds % 1000);
  std::vector<std::string> words = {"run", "-p", path, "-o", to, "--id", order.id, "-d", seconds};
  words.insert(words.end(), {"--max-bytes", fmt::format("{}", options_.max_bytes)});
  auto child = KevtraceChild::start("/proc/self/exe", std::move(words), "", false);
  if (!child) return refuse(order.serial, child.error().message());
  running_.emplace(order.serial, Running{.child = std::move(*child), .id = order.id});
}

void Obeying::stop(std::int64_t serial) {
  const auto it = running_.find(serial);
  if (it == running_.end()) return;
  it->second.is_stopped = true;
  it->second.child.stop();
}

void Obeying::conclude(std::int64_t serial, const std::string& id, std::string_view words, bool is_well) {
  for (const char* ending : {".kev", ".kevo"}) ::unlink((folder_ + "/" + id + ending).c_str());
  const auto outcome = outcome_of(recording(id));
  const bool has_totals = outcome && outcome->totals;
  answer(serial, is_well && has_totals ? AnswerState::Ended : AnswerState::Failed, std::string(words),
         outcome ? &*outcome : nullptr);
}

void Obeying::watch() {
  for (auto it = running_.begin(); it != running_.end();) {
    auto& [serial, one] = *it;
    std::string output;
    one.child.wait(0);
    one.child.read(output);
    if (!one.child.has_ended()) {
      if (!one.is_running)
        if (const auto outcome = outcome_of(recording(one.id))) {
          one.is_running = true;
          answer(serial, AnswerState::Running, "", &*outcome);
        }
      ++it;
      continue;
    }
    const bool is_well = one.child.status() == 0;
    conclude(serial, one.id,
             is_well && !one.is_stopped ? ""
             : is_well                  ? "stopped"
                                        : last_words(one.child.messages()),
             is_well);
    it = running_.erase(it);
  }
}

// A run ends by itself when the process that has started it is gone.
void Obeying::watch_adopted() {
  for (auto it = adopted_.begin(); it != adopted_.end();) {
    const auto& [serial, one] = *it;
    const auto outcome = outcome_of(recording(one.id));
    if ((!outcome || !outcome->totals) && now_ns() < one.end) {
      ++it;
      continue;
    }
    conclude(serial, one.id, "kevtrace fleet obey was ended meanwhile", true);
    it = adopted_.erase(it);
  }
}

Result<void> Obeying::look() {
  unsigned_told_ = 0;
  std::string keys;
  for (const std::uint64_t which : KEVT_TRY(fleet::open_orders(server_, utc_ns()))) {
    if (session::is_interrupted()) break;
    if (seen_.contains(which)) continue;
    if (keys.empty()) {
      config_ = KEVT_TRY(fleet::read_config());
      keys = KEVT_TRY(fleet::read_trusted_keys(config_));
    }
    if (const auto signed_text = KEVT_TRY(fleet::find_order(server_, which))) take(which, *signed_text, keys);
  }
  return {};
}

// What could not be sent is sent with the next look. Where the book cannot be written, the next `fleet obey` answers
// once more.
void Obeying::post() {
  if (now_ns() < next_post_) return;
  for (auto it = unsent_.begin(); it != unsent_.end(); it = unsent_.erase(it)) {
    if (const auto sent = fleet::put_answer(server_, it->second); !sent) {
      next_post_ = now_ns() + every_ns();
      return tell(sent.error());
    }
    if (is_final(it->second.state) && book_.has(it->first))
      if (const auto noted = book_.end(it->first); !noted) tell(noted.error());
  }
}

void Obeying::show_presence() {
  if (now_ns() < next_presence_) return;
  const auto shown = fleet::put_presence(
      server_, {.host = host_, .labels = text_of(config_.labels), .maker = "kevtrace " KEVT_VERSION, .seen = utc_ns()});
  if (!shown) return tell(shown.error());
  next_presence_ = now_ns() + kPresenceNs;
}

void Obeying::tell(const Error& error) {
  if (std::string words = error.message(); words != told_) report_.error(told_ = std::move(words));
}

void Obeying::go() {
  for (const fleet::OrderBook::Entry& one : book_.begun())
    adopted_[one.serial] = {.id = one.id, .end = now_ns() + kPatienceNs};
  std::uint64_t next = 0;
  while (!session::is_interrupted()) {
    watch();
    watch_adopted();
    if (now_ns() >= next) {
      show_presence();
      if (auto looked = look(); !looked)
        tell(looked.error());
      else
        told_.clear();
      next = now_ns() + every_ns();
    }
    post();
    const timespec step = {0, kStepNs};
    nanosleep(&step, nullptr);
  }
  server_.limit({.most_s = kMostOfRequestS, .is_stopped = nullptr});  // what is left is said quickly, or not
  for (auto& [serial, one] : running_) {
    one.is_stopped = true;
    one.child.stop();
  }
  for (const std::uint64_t end = now_ns() + kPatienceNs; !running_.empty() && now_ns() < end;) {
    watch();
    const timespec step = {0, kStepNs};
    nanosleep(&step, nullptr);
  }
  next_post_ = 0;
  post();
}

}  // namespace

int obey(Servers& servers, const FleetOptions& options, const Reporter& report) {
  const auto fail = [&](const Error& error) {
    report.error(error);
    return kFailed;
  };
  const std::string host = options.host.empty() ? own_host() : fleet::plain_host(options.host);
  fleet::Server& server = *servers[fleet::shard_of(host, servers.size())];
  auto config = fleet::read_config();
  if (!config) return fail(config.error());
  if (const auto keys = fleet::read_trusted_keys(*config); !keys) return fail(keys.error());
  auto book = fleet::OrderBook::open(options.files.front(), utc_ns());
  if (!book) return fail(book.error());
  if (auto schema = fleet::check_schema(server); !schema) return fail(schema.error());
  session::catch_interrupts();
  server.limit({.most_s = kMostOfRequestS, .is_stopped = &session::is_interrupted});
  report.status(fmt::format("{} obeys orders of {}{}{}", host, server.database(), config->labels.empty() ? "" : " for ",
                            text_of(config->labels)));
  Obeying(server, std::move(*config), std::move(*book), options, report).go();
  return kOk;
}

}  // namespace kevt::cli
