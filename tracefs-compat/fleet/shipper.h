// Shipper: a recording's records into a fleet's database, each once.
//
//   recording ─► a batch for each event's table ─► INSERT ─► the server
//
// One batch is on its way while the next ones are made.
//
// The records of a CPU (of an instance) are numbered. A batch holds records of one table and one day, in their order; a
// server takes it whole, or takes the first part of it, or nothing. After an error nobody knows which, so the server is
// asked for the highest number that it has of each CPU, and the shipper goes on behind it. The same question begins the
// work on a recording: the server's answer is the only note of what was shipped.
//
// The recording may still be written: ship() again takes what has come since. Where the look before went well, pages
// whose records the server has are not read again, and the server is asked nothing.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/error.h"
#include "common/unique_fd.h"
#include "tracefs-compat/fleet/catalogue.h"
#include "tracefs-compat/fleet/server.h"
#include "tracefs-compat/fleet/shape.h"
#include "tracefs-compat/record/recording.h"

namespace kevt::fleet {

struct Shipped {
  std::uint64_t in_recording = 0;     // records that could be read
  std::uint64_t rows = 0;             // of these, those that the server has
  std::uint64_t sent_now = 0;         // by this call
  bool is_held_back = false;          // its newest records come with the next call
  bool is_whole = false;              // the recording was finished, and the server has all of it
  bool has_writer = false;            // the recording holds its writer's lock (common/writer_lock.h)
  std::vector<std::string> problems;  // of the recording
};

class Shipper {
 public:
  // `host`: what the records are filed under; empty: the recording's own. `shards` outlive this object.
  Shipper(std::span<const std::unique_ptr<Server>> shards, std::string path, std::string host);

  // Brings the server up to date with the file. Counts of what could not be shipped stand in the database when the
  // server can still be reached. One process at a time may ship a file. `is_stopped` ends it early: error ECANCELED.
  Result<Shipped> ship(const std::function<bool()>& is_stopped);
  const std::string& host() const { return session_.host; }
  const std::string& id() const { return session_.id; }  // of the recording

 private:
  // The records of one CPU of one instance.
  struct Stream {
    std::string instance;
    std::uint32_t cpu = 0;
    auto operator<=>(const Stream&) const = default;
  };
  struct Batch {
    std::vector<std::uint8_t> rows;
    struct Row {
      std::uint32_t stream = 0;  // index of streams_
      std::uint64_t number = 0;
      std::size_t end = 0;  // in `rows`
    };
    std::vector<Row> index;
    std::int64_t day = 0;
    std::string token;  // the same as long as the rows are the same; empty: it was not sent yet
  };
  struct Table {
    std::string name, insert;  // INSERT INTO … (…)
    bool is_made = false;
    std::vector<std::uint64_t> highest;  // number that the server has, of each stream
    std::vector<std::uint64_t> seen;     // records that were read, of each stream
    Batch batch;
    std::uint64_t in_recording = 0, shipped = 0;
    std::int64_t not_rolled_up_ns = kLatestNs;  // the earliest record that was sent since its steps were counted
  };
  using TableKey = std::pair<std::string, std::string>;  // event, as "kprobes/open", and the table's name
  // Where the page of a stream begins that was read last, and what had been read before it.
  struct Mark {
    record::PagePlace place;
    std::uint64_t number = 0;
    std::map<TableKey, std::uint64_t> seen;
  };
  // What is known of the recording after a look that went well.
  using Inode = std::pair<dev_t, ino_t>;
  struct Known {
    Inode inode;
    std::map<std::uint32_t, Mark> marks;  // by stream
  };

  Result<void> open();
  Result<void> open_reader();
  void forget();
  bool go_on();
  void mark_page(std::uint32_t stream);
  Table& table_of_event(const record::EventFormat& event);
  Result<void> look_for_others();
  Result<void> begin_session();
  bool is_held_back(std::uint32_t stream, std::int64_t time_ns);
  Result<void> make(Table& table, const record::EventFormat& event);
  std::uint32_t stream_of(const record::TypedRecord& record);
  std::uint32_t stream_named(Stream stream);
  Result<void> learn_highest(Table& table);
  Result<void> add(const record::TypedRecord& record);
  // Sends the table's batch, when the one before has arrived.
  Result<void> send(Table& table);
  Result<void> arrive();
  Result<void> insert_again(Table& table, Batch& batch);
  Result<void> learn_fate(Table& table, Batch& batch);
  void give_up();
  std::unexpected<Error> stop();
  static void drop_known(Table& table, Batch& batch);
  // Once more, too. `batch` may be sent by another thread.
  std::string insert_of(const Table& table, Batch& batch);
  std::string next_query_id();
  Result<void> note_progress(bool is_whole);
  Result<void> note_clocks();
  Result<void> roll_up_news(bool is_whole);
  bool are_rollups_due() const;

  std::span<const std::unique_ptr<Server>> shards_;
  Server* server_ = nullptr;      // the host's
  std::optional<Server> sender_;  // the same, for the batch on its way
  Tokens tokens_ = Tokens::Unknown;
  std::string own_token_;  // of this process, at random
  std::uint64_t tokens_given_ = 0;
  struct OnItsWay {
    Table* table = nullptr;
    Batch batch;
    std::future<Result<void>> done;
  };
  std::unique_ptr<OnItsWay> on_its_way_;
  std::string path_, wanted_host_;
  UniqueFd lock_;
  std::unique_ptr<record::RecordReader> reader_;
  Session session_;
  std::map<TableKey, Table> tables_;
  std::map<const record::EventFormat*, Table*> by_format_;  // of this look
  std::map<Stream, std::uint32_t> streams_;                 // their indexes
  std::vector<std::uint32_t> stream_by_place_;              // 1 + its index, by instance and CPU
  std::vector<std::uint64_t> numbers_;                      // of the last record of each stream
  std::map<std::uint32_t, Mark> marks_;                     // of this look, by stream
  std::vector<std::uint64_t> pages_;                        // at which they are, by stream
  Inode inode_;                                             // the file's
  std::optional<Known> known_;                              // nullopt: everything is read and asked
  std::vector<bool> held_back_;                             // by stream
  std::int64_t newest_ns_ = 0;                              // that is not held back, since 1970
  bool is_finished_ = false;                                // the recording
  bool is_known_ = false;                                   // it has been shipped before, or some of it
  std::uint64_t next_clocks_ = 0, next_rollups_ = 0;        // ns of now_ns()
  std::size_t waiting_ = 0;                                 // bytes in all batches
  std::uint64_t sent_ = 0, batches_ = 0;
};

}  // namespace kevt::fleet
