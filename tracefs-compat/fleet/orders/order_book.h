// OrderBook: which orders this host has begun and ended, kept in a file so that none is carried out twice, also not
// after a restart:
//
//   kevtrace orders 1
//   forgotten 1764200000000000000                             the latest begin-before of what stands here no more
//   1764300000000000000 3f2a5b6c 1764300600000000000 done     serial, id, begin-before, begun or done
//
// What is done is forgotten a day after its `begin-before`: then it is too late to begin with it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"
#include "common/unique_fd.h"
#include "tracefs-compat/fleet/orders/order.h"

namespace kevt::fleet {

class OrderBook {
 public:
  // `folder` is there, and is believed (believed_path). One process at a time has a book open. A book that is damaged
  // is an error: what it forgot would be done again.
  static Result<OrderBook> open(const std::string& folder, std::int64_t now_ns);

  bool has(std::int64_t serial) const { return entries_.contains(serial); }
  // Whether the order may have been here: the clock was once so far that it was too late to begin with it.
  bool may_have_forgotten(const Order& order) const { return order.begin_before <= forgotten_; }
  const std::string& folder() const { return folder_; }  // its real path
  // Once begin() has returned well, the order is in the file. One that stops another is done, and so is the other where
  // it has not begun: it will not.
  Result<void> begin(const Order& order);
  Result<void> end(std::int64_t serial);

  struct Entry {
    std::int64_t serial = 0;
    std::string id;
  };
  std::vector<Entry> begun() const;  // and not done

 private:
  struct Known {
    std::string id;
    std::int64_t begin_before = 0;
    bool is_done = false;
  };
  Result<void> read(std::string_view text);
  Result<void> write() const;

  std::string folder_, path_;
  UniqueFd lock_;
  std::map<std::int64_t, Known> entries_;
  std::int64_t forgotten_ = 0;  // the latest `begin-before` of what was forgotten
};

}  // namespace kevt::fleet
