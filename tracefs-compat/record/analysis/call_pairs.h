// CallPairs: entries and returns of functions, put together per thread.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "tracefs-compat/record/recording.h"

namespace kevt::record {

// A call that has returned.
struct Call {
  const EventFormat* entry = nullptr;
  const EventFormat* exit = nullptr;
  std::uint64_t function = 0;  // address
  std::uint64_t begin_ns = 0, end_ns = 0;
  std::uint64_t inside_ns = 0;         // of it, in calls that it made and that were seen
  std::vector<std::uint64_t> callers;  // functions of the calls around it, outermost first
};

class CallPairs {
 public:
  // The call that this record ends, if it is the return of an entry seen before on the same thread.
  std::optional<Call> add(const TypedRecord& record);
  std::uint64_t unmatched() const { return unmatched_; }  // returns without an entry, and entries passed over
  // Whether the function was entered more than a few times and has not returned yet: nobody probes its return. At the
  // end of a recording its entries are no calls, though they stand among `callers`.
  bool never_returns(std::uint64_t function) const;

 private:
  struct Open {
    const EventFormat* entry;
    std::uint64_t function, begin_ns, inside_ns;
  };
  // The fields that tell the function of an event; null: it does not.
  struct Roles {
    bool is_known = false;
    const Field* entry = nullptr;
    const Field* exit = nullptr;
  };
  const Roles& roles_of(const EventFormat& event);
  // What is known of a function.
  struct Function {
    std::uint32_t entries = 0;
    std::uint32_t passed_over = 0;  // how often a caller returned before it
    bool has_returned = false;
  };
  Function* known(std::uint64_t function);
  void pass_over(std::uint64_t function);

  std::vector<Roles> by_id_;
  std::unordered_map<std::uint64_t, std::vector<Open>> threads_;  // by TypedRecord::thread()
  std::size_t open_ = 0;                                          // of all threads
  std::unordered_map<std::uint64_t, Function> functions_;
  std::uint64_t unmatched_ = 0;
};

}  // namespace kevt::record
