#include "analysis/metrics/match/blocking_sends.h"

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

constexpr int64_t kLeastTelling = 3;  // pairs of a class that show that they block, before it is believed

using PairClass = std::tuple<int32_t, int32_t, int64_t>;  // sender, receiver, bytes

struct Pair {
  const MatchedMember* sender = nullptr;
  const MatchedMember* receiver = nullptr;
};

std::optional<Pair> PairOf(const JoinedInstance& joined) {
  if (joined.receiver < 0 || !joined.instance.usable() || joined.instance.lacking) return std::nullopt;
  Pair pair;
  for (const MatchedMember& m : joined.instance.members) {
    if (m.rank_index == joined.sender) pair.sender = &m;
    if (m.rank_index == joined.receiver) pair.receiver = &m;
  }
  if (pair.sender == nullptr || pair.receiver == nullptr) return std::nullopt;
  return pair;
}

PairClass ClassOf(const JoinedInstance& joined) { return {joined.sender, joined.receiver, joined.instance.bytes}; }

struct Shown {
  std::vector<int64_t> transfers_ns;  // by themselves
  int64_t takes_ns = 0;               // as nearly all of them: one that was slow says nothing of the others
  int64_t blocked = 0;
  int64_t done_before = 0;
};

void AddTransfer(const Pair& pair, Shown& shown) {
  const MatchedMember& last = pair.sender->start_ns > pair.receiver->start_ns ? *pair.sender : *pair.receiver;
  shown.transfers_ns.push_back(last.end_ns - last.start_ns);
}

void SetTakes(Shown& shown) {
  constexpr size_t kNearlyAll = 9;  // of ten
  const size_t place = shown.transfers_ns.size() * kNearlyAll / 10;
  shown.takes_ns = OrderStatistic(std::move(shown.transfers_ns), place);
}

SendEnd EndOf(const Shown& shown) {
  if (shown.done_before > 0) return SendEnd::kWhenStored;
  return shown.blocked >= kLeastTelling ? SendEnd::kAfterReceiver : SendEnd::kUnknown;
}

void AddWhatItShows(const ClockModel& clock, const Pair& pair, Shown& shown) {
  const auto uncertainty =
      clock.PairUncertainty(pair.sender->rank_index, pair.receiver->rank_index, AlignedTime{pair.receiver->start_ns});
  if (!uncertainty) return;
  const int64_t later_ns = pair.receiver->start_ns - pair.sender->start_ns;
  if (later_ns <= shown.takes_ns + uncertainty->ns) return;
  if (pair.sender->end_ns + uncertainty->ns < pair.receiver->start_ns) ++shown.done_before;
  if (pair.sender->end_ns >= pair.receiver->start_ns) ++shown.blocked;
}

}  // namespace

void FindBlockingSends(const ClockModel& clock, std::vector<JoinedInstance>& joined) {
  std::map<PairClass, Shown> classes;
  for (const JoinedInstance& j : joined) {
    if (const auto pair = PairOf(j)) AddTransfer(*pair, classes[ClassOf(j)]);
  }
  if (classes.empty()) return;
  for (auto& [kind, shown] : classes) SetTakes(shown);
  for (const JoinedInstance& j : joined) {
    if (const auto pair = PairOf(j)) AddWhatItShows(clock, *pair, classes[ClassOf(j)]);
  }
  for (JoinedInstance& j : joined) {
    if (PairOf(j)) j.send_end = EndOf(classes[ClassOf(j)]);
  }
}

}  // namespace lockstep
