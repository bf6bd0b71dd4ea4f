// Rows of a table, as RowBinary, into a server and out of it.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "common/error.h"
#include "tracefs-compat/fleet/row_binary.h"
#include "tracefs-compat/fleet/server.h"

namespace kevt::fleet {

inline constexpr std::size_t kMostRows = 1 << 20;  // of an answer

inline Error no_sense(const Server& server) { return Error("the answer of " + server.url() + " makes no sense"); }

inline Result<void> put_rows(Server& server, const char* table, const char* columns,
                             const std::vector<std::uint8_t>& rows) {
  if (rows.empty()) return {};
  const std::string sql = fmt::format("INSERT INTO {}.{} ({}) FORMAT RowBinary", server.database(), table, columns);
  return server.insert(sql, "", rows);
}

// The answer of a query that ends in FORMAT RowBinary; `read` takes a row from it.
template <class Row>
Result<std::vector<Row>> rows_of(Server& server, const std::string& sql, Row (*read)(RowReader&)) {
  const std::string answer = KEVT_TRY(server.ask(sql));
  RowReader rows(answer);
  std::vector<Row> out;
  while (!rows.at_end()) {
    if (out.size() == kMostRows)
      return std::unexpected(Error(
          fmt::format("{} has more than {} rows of that; name hosts behind the database", server.url(), kMostRows)));
    out.push_back(read(rows));
  }
  if (!rows.good()) return std::unexpected(no_sense(server));
  return out;
}

}  // namespace kevt::fleet
