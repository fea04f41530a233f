// What the joined instances of a run add up to, by rank: fed with one after the other, whatever was asked for. Pure.
// Units: ns, bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "analysis/metrics/fleet/fleet.h"

namespace lockstep {

// The communication of one rank, of what was matched confidently on one clock.
struct CommunicationWork {
  int64_t instances = 0;
  int64_t total_ns = 0;  // durations
  int64_t own_ns = 0;    // the same without waiting
  int64_t bytes = 0;     // of those of known size
  bool all_sized = true;
  int64_t longest_ns = 0;
  int64_t longest_wait_ns = 0;  // ... the waiting in it
  int64_t uneven_own_ns = 0;    // of own_ns: in exchanges in which each member moves bytes of its own
};

// Why it cannot be told of a time in communication whether the rank waited or transferred.
enum class Unresolved : uint8_t {
  kMissingRecord = 0,  // after the last arrival that is recorded: a member of the group has no record
  kUnknownRole,        // the root or the peer is not told
  kUnmatched,          // it was not found with whom the rank communicated
  kClocks,             // the clocks are less certain than the wait is long
  kUnknownKernel,      // it lies in a kernel that is not known to communicate: never counted here
};
inline constexpr size_t kUnresolvedReasons = 5;

struct JoinedRank {
  CommunicationWork work;
  int64_t confident_ns = 0;  // durations in confident instances, comparable or not
  int64_t lowest = 0;        // usable instances whose lowest rank it is
  int64_t open_ns = 0;       // time in which it may have waited for a member without a record
  int64_t caused_ns = -1;    // waiting in usable instances that was certainly for it; -1: there is none
};

struct JoinedTotals {
  std::vector<JoinedRank> ranks;  // by rank index
  int64_t wait_ns = 0;            // in all usable instances
  int64_t pairwise_wait_ns = 0;   // ... of it in sends and receives
  // Time of all ranks in communication, whatever ran beside it.
  std::array<int64_t, kUnresolvedReasons> unresolved_ns{};

  explicit JoinedTotals(size_t ranks_count = 0) : ranks(ranks_count) {}
  void Add(const MatchedInstance& instance);

 private:
  void AddUnresolved(const MatchedInstance& instance);
};

// For whom each member waited in its slow steps (slow_rows.h), by when the instances started.
//
// While a run grows it is fed with collectives of steps that are not told yet: they wait until their step is, at most
// `most_waiting` a member, and which steps are slow is what the steps until then say.
class SlowStepWaits {
 public:
  using ByRank = std::map<int32_t, int64_t>;  // rank index that was waited for -> ns

  // Borrows the fleet. `most_waiting` > 0: of a run that grows.
  explicit SlowStepWaits(const Fleet& fleet, size_t most_waiting = 0);
  // Goes on for itself from what the other one has, of the same fleet.
  SlowStepWaits(const SlowStepWaits& other, const Fleet& fleet);
  void Add(const MatchedInstance& instance);
  // The sources of the fleet have more steps.
  void Grow();
  // Nothing more comes: what waits is taken.
  void Close();
  // Of a member, by row of its steps.
  [[nodiscard]] const std::map<size_t, ByRank>& Of(size_t member) const { return members_[member].waits; }

 private:
  struct Window {
    int64_t start_ns = 0;  // of the rank's own clock
    size_t row = 0;
    friend auto operator<=>(const Window&, const Window&) = default;
  };
  struct Wait {
    int64_t at_ns = 0;  // of the rank's own clock
    int32_t awaits = -1;
    int64_t wait_ns = 0;
  };
  struct OfMember {
    std::vector<Window> slow;     // ascending
    int64_t told_ns = INT64_MIN;  // steps are known until then
    std::deque<Wait> waiting;
    std::map<size_t, ByRank> waits;
  };
  void FindSlow(size_t member);
  void Take(size_t member, const Wait& wait);

  const Fleet& fleet_;
  size_t most_waiting_ = 0;
  std::vector<int64_t> member_of_;  // by rank index; -1: not selected
  std::vector<OfMember> members_;
};

}  // namespace lockstep
