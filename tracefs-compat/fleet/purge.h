// Purge: days that nobody wants any more are given back, and stay in the balance.
//
// A table's day is a partition, which goes at once. Before it goes, kevt_purged gets a row for each recording: how many
// different records it has there. A row says nothing while the day is still there (a purge that was killed), or when a
// shipper has brought its records back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"
#include "tracefs-compat/fleet/server.h"

namespace kevt::fleet {

// "2026-11-01", UTC → 20261101; nullopt: no such day.
std::optional<std::uint32_t> parse_day(std::string_view text);
// The day that was so many days before the server's present one, UTC.
Result<std::uint32_t> days_ago(Server& server, std::uint32_t days);

struct Purged {
  std::uint64_t records = 0;
  std::uint32_t partitions = 0;
};
// Of all hosts, the days before this one. Records that are shipped into such a day meanwhile, or later, are not told
// from those that were purged.
Result<Purged> purge_before(Server& server, std::uint32_t day);

struct PurgedRows {
  std::string session, table;
  std::uint32_t day = 0;
  std::uint64_t rows = 0;
};
Result<std::vector<PurgedRows>> find_purged(Server& server);

}  // namespace kevt::fleet
