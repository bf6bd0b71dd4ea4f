#include "tracefs-compat/fleet/orders/order_book.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ranges>
#include <sstream>
#include <utility>

#include "common/regular_file.h"
#include "tracefs-compat/fleet/believed.h"

namespace kevt::fleet {
namespace {

constexpr std::string_view kFirstLineOfBook = "kevtrace orders 1", kForgotten = "forgotten ";
constexpr std::int64_t kKeptNs = 86'400'000'000'000;
constexpr std::size_t kMostOfBook = 64u << 20;

}  // namespace

Result<OrderBook> OrderBook::open(const std::string& folder, std::int64_t now_ns) {
  OrderBook book;
  book.folder_ = KEVT_TRY(believed_path(folder, "holds the book of orders"));
  book.path_ = book.folder_ + "/orders";
  const std::string lock = book.folder_ + "/orders.lock";
  book.lock_ = UniqueFd(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!book.lock_) return std::unexpected(Error::from_errno(lock));
  if (::flock(book.lock_.get(), LOCK_EX | LOCK_NB) < 0)
    return std::unexpected(Error(folder + ": another process obeys orders there", EBUSY));
  const UniqueFd file(::open(book.path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file && errno != ENOENT) return std::unexpected(Error::from_errno(book.path_));
  if (file) {
    const std::string text = KEVT_TRY(read_to_end(file.get(), book.path_, kMostOfBook));
    KEVT_TRY(book.read(text));
  }
  std::erase_if(book.entries_, [&](const auto& one) {
    const bool goes = one.second.is_done && now_ns - one.second.begin_before > kKeptNs;
    if (goes) book.forgotten_ = std::max(book.forgotten_, one.second.begin_before);
    return goes;
  });
  return book;
}

Result<void> OrderBook::read(std::string_view text) {
  const auto damaged = [this] {
    return std::unexpected(Error(
        path_ +
            " is damaged: which orders were carried out is not known; when it is removed, those that are open begin "
            "again",
        EBADMSG));
  };
  if (!text.ends_with('\n')) return damaged();
  text.remove_suffix(1);
  bool is_first = true;
  for (const auto part : std::views::split(text, '\n')) {
    const std::string_view line(part);
    if (is_first && line != kFirstLineOfBook) return damaged();
    if (std::exchange(is_first, false)) continue;
    std::istringstream words{std::string(line)};
    std::int64_t serial = 0;
    if (line.starts_with(kForgotten)) {
      std::string word, more;
      if (!(words >> word >> forgotten_) || (words >> more)) return damaged();
      continue;
    }
    Known known;
    std::string state, more;
    if (!(words >> serial >> known.id >> known.begin_before >> state) || (words >> more) ||
        (state != "begun" && state != "done"))
      return damaged();
    known.is_done = state == "done";
    entries_[serial] = known;
  }
  return {};
}

Result<void> OrderBook::write() const {
  std::string text = fmt::format("{}\n{}{}\n", kFirstLineOfBook, kForgotten, forgotten_);
  for (const auto& [serial, one] : entries_)
    text += fmt::format("{} {} {} {}\n", serial, one.id, one.begin_before, one.is_done ? "done" : "begun");
  const std::string fresh = path_ + ".new";
  const UniqueFd file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return std::unexpected(Error::from_errno(fresh));
  for (std::string_view rest = text; !rest.empty();) {
    const ssize_t written = ::write(file.get(), rest.data(), rest.size());
    if (written < 0) return std::unexpected(Error::from_errno("writing " + fresh));
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fsync(file.get()) < 0 || ::rename(fresh.c_str(), path_.c_str()) < 0)
    return std::unexpected(Error::from_errno("writing " + path_));
  const UniqueFd folder(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder || ::fsync(folder.get()) < 0) return std::unexpected(Error::from_errno("writing " + folder_));
  return {};
}

Result<void> OrderBook::begin(const Order& order) {
  entries_[order.serial] = {.id = order.id, .begin_before = order.begin_before, .is_done = order.stops != 0};
  if (order.stops != 0)
    entries_.try_emplace(order.stops, Known{.id = order.id, .begin_before = order.begin_before, .is_done = true});
  return write();
}

Result<void> OrderBook::end(std::int64_t serial) {
  entries_[serial].is_done = true;
  return write();
}

std::vector<OrderBook::Entry> OrderBook::begun() const {
  std::vector<Entry> out;
  for (const auto& [serial, one] : entries_)
    if (!one.is_done) out.push_back({serial, one.id});
  return out;
}

}  // namespace kevt::fleet
